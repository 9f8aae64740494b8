//! The event that senders send: 2 KiB, signed as GitHub signs, each with an id of its own.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::measure::{
    keys::{Key, PLACEHOLDER, Template},
    load::{Dialect, Malformed, Step},
};

/// What the sender and onced share.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// The body of a webhook of ordinary size.
const BODY_BYTES: usize = 2048;

/// Requests of one sender. The signature covers the body alone, which is the same each time: the generator signs once, and
/// whoever verifies has the whole work with every request.
pub(crate) struct Events(Template);

impl Events {
    pub(crate) fn new(host: &str) -> Self {
        let filler = "x".repeat(BODY_BYTES - r#"{"text":""}"#.len());
        let body = format!(r#"{{"text":"{filler}"}}"#);
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(body.as_bytes());
        let signature = hex::encode(mac.finalize().into_bytes());
        Self(Template::new(&format!(
            "POST /hooks/github HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             User-Agent: GitHub-Hookshot/044aadd\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: {PLACEHOLDER}\r\n\
             X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        )))
    }
}

impl Dialect for Events {
    fn claim(&self, keys: &[Key], out: &mut Vec<u8>) {
        self.0.fill(keys, out);
    }

    fn confirm(&self, _: &Key, _: &[u8], _: &mut Vec<u8>) -> Result<(), Malformed> {
        Err(Malformed("an event is sent once"))
    }

    /// The app's answer, which all proxies relay.
    fn granted(&self, _: Step, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let status =
            input.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3)).ok_or(Malformed("no status line"))?;
        let whole = input[end + 4..].ends_with(b"ok") || status != b"200";
        Ok(whole.then_some(usize::from(status == b"200")))
    }
}
