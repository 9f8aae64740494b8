//! Requests as senders sign them.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::SECRET;

/// A request to a route, with its headers as they will be written.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Event {
    /// Without a header but `Host`.
    pub(crate) fn bare(target: &str, body: impl AsRef<[u8]>) -> Self {
        Self { target: target.to_owned(), headers: Vec::new(), body: body.as_ref().to_vec() }
            .with("Host", "hooks.example")
    }

    /// As GitHub signs it.
    pub(crate) fn github(id: &str, body: impl AsRef<[u8]>) -> Self {
        let digest = hex::encode(hmac(SECRET.as_bytes(), &[body.as_ref()]));
        Self::bare("/hooks/github", body)
            .with("X-GitHub-Delivery", id)
            .with("X-Hub-Signature-256", format!("sha256={digest}"))
    }

    /// As Stripe signs it.
    pub(crate) fn stripe(at: i64, body: impl AsRef<[u8]>) -> Self {
        let digest = stripe_digest(SECRET, at, body.as_ref());
        Self::bare("/hooks/stripe", body).with("Stripe-Signature", format!("t={at},v1={digest}"))
    }

    /// As senders of Standard Webhooks sign it.
    pub(crate) fn standard(id: &str, at: i64, body: impl AsRef<[u8]>) -> Self {
        let digest = standard_digest(id, at, body.as_ref());
        Self::bare("/hooks/standard-webhooks", body)
            .with("webhook-id", id)
            .with("webhook-timestamp", at.to_string())
            .with("webhook-signature", format!("v1,{digest}"))
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Takes a header off.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    /// Puts another value in the place of a header's.
    pub(crate) fn altered(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn at(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// With its length announced.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head(&format!("Content-Length: {}\r\n", self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// In chunks that end at these places of the body.
    pub(crate) fn chunked(&self, cuts: &[usize]) -> Vec<u8> {
        let mut bytes = self.head("Transfer-Encoding: chunked\r\n");
        let ends = cuts.iter().copied().chain([self.body.len()]);
        let mut from = 0;
        for end in ends {
            bytes.extend_from_slice(format!("{:x}\r\n", end - from).as_bytes());
            bytes.extend_from_slice(&self.body[from..end]);
            bytes.extend_from_slice(b"\r\n");
            from = end;
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// The head, with these lines at its end.
    pub(crate) fn head(&self, framing: &str) -> Vec<u8> {
        let mut start = String::new();
        write!(start, "POST {} HTTP/1.1\r\n", self.target).unwrap();
        let mut bytes = start.into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(framing.as_bytes());
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

pub(crate) fn stripe_digest(secret: &str, at: i64, body: &[u8]) -> String {
    let at = at.to_string();
    hex::encode(hmac(secret.as_bytes(), &[at.as_bytes(), b".", body]))
}

pub(crate) fn standard_digest(id: &str, at: i64, body: &[u8]) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let key = engine.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let at = at.to_string();
    engine.encode(hmac(&key, &[id.as_bytes(), b".", at.as_bytes(), b".", body]))
}

pub(crate) fn hmac(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}
