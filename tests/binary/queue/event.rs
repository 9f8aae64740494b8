//! What senders send, and what may be known of a body without keeping it.

use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::client::{Answer, Client};

pub(crate) const SECRET: &str = "It's a Secret to Everybody";

/// A body's length and checksum: enough to tell a byte that is not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) bytes: usize,
    sum: u32,
}

impl Print {
    pub(crate) fn of(body: &[u8]) -> Self {
        Self { bytes: body.len(), sum: crc32fast::hash(body) }
    }
}

/// An event as GitHub sends it; no two bodies of one length are the same, but for those of no length.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
}

impl Event {
    pub(crate) fn new(id: impl Into<String>, bytes: usize) -> Self {
        let id = id.into();
        let body = format!("{id} ").into_bytes().into_iter().cycle().take(bytes).collect();
        Self { id, body }
    }

    pub(crate) fn print(&self) -> Print {
        Print::of(&self.body)
    }

    /// Sends it to the route of this name.
    pub(crate) fn send(&self, to: &mut Client, route: &str) -> io::Result<Answer> {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(&self.body);
        let signature = hex::encode(mac.finalize().into_bytes());
        let mut request = format!(
            "POST /hooks/{route} HTTP/1.1\r\nHost: hooks.example\r\nContent-Type: application/json\r\n\
             X-GitHub-Event: push\r\nX-GitHub-Delivery: {}\r\nX-Hub-Signature-256: sha256={signature}\r\n\
             Content-Length: {}\r\n\r\n",
            self.id,
            self.body.len()
        )
        .into_bytes();
        request.extend_from_slice(&self.body);
        to.exchange(&request)
    }
}
