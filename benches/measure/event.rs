//! The event that senders send: 2 KiB, signed as GitHub signs, each with an id of its own.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{
    keys::{Key, PLACEHOLDER, Template},
    load::{Dialect, Malformed, Step},
};

/// What the sender and onced share.
pub(crate) const SECRET: &str = "It's a Secret to Everybody";
/// The body of a webhook of ordinary size.
const BODY_BYTES: usize = 2048;

/// What tells a sender that all is well with its event.
#[derive(Clone, Copy)]
pub(crate) enum Grant {
    /// The app's 200, which all proxies relay.
    Handled,
    /// The acknowledgement of a queue, for an event that it has not had before.
    Accepted,
}

/// Requests of one sender. The signature covers the body alone, which is the same each time: the generator signs once, and
/// whoever verifies has the whole work with every request.
pub(crate) struct Events {
    template: Template,
    grant: Grant,
}

impl Events {
    pub(crate) fn new(host: &str, grant: Grant) -> Self {
        let filler = "x".repeat(BODY_BYTES - r#"{"text":""}"#.len());
        let body = format!(r#"{{"text":"{filler}"}}"#);
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(body.as_bytes());
        let signature = hex::encode(mac.finalize().into_bytes());
        let template = Template::new(&format!(
            "POST /hooks/github HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             User-Agent: GitHub-Hookshot/044aadd\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: {PLACEHOLDER}\r\n\
             X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        ));
        Self { template, grant }
    }
}

impl Dialect for Events {
    fn claim(&self, keys: &[Key], out: &mut Vec<u8>) {
        self.template.fill(keys, out);
    }

    fn confirm(&self, _: &Key, _: &[u8], _: &mut Vec<u8>) -> Result<(), Malformed> {
        Err(Malformed("an event is sent once"))
    }

    fn granted(&self, _: Step, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let (status, outcome): (&[u8], &[u8]) = match self.grant {
            Grant::Handled => (b"HTTP/1.1 200 ", b""),
            Grant::Accepted => (b"HTTP/1.1 202 ", b"accepted"),
        };
        let (mut length, mut as_wanted) = (0, outcome.is_empty());
        for line in input[..end].split(|byte| *byte == b'\n') {
            if let Some(value) = value(line, b"content-length:") {
                let text = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                length = text.ok_or(Malformed("a length that is none"))?;
            } else if !as_wanted {
                as_wanted = value(line, b"onced-outcome:") == Some(outcome);
            }
        }
        let whole = input.len() >= end + 4 + length;
        Ok(whole.then_some(usize::from(as_wanted && input.starts_with(status))))
    }
}

/// The value of a line of a head that has this name.
pub(super) fn value<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}
