//! The daemon's control API, as a client that keeps its connection speaks it.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use crate::{
    measure::keys::{Key, PLACEHOLDER, Template},
    measure::load::{Dialect, Malformed, Step},
};

const NAMESPACE: &str = "bench";
/// What a batch answers for each claim that was granted.
const GRANTED_IN_BATCH: &[u8] = br#""status":201"#;

/// Requests for one or, by `/v1/batch`, several keys.
pub(crate) struct Onced {
    host: String,
    claim: Template,
    batch: usize,
}

impl Onced {
    /// Asks `host` for `batch` keys a request.
    pub(crate) fn new(host: String, batch: usize) -> Self {
        let claim = if batch == 1 {
            let body = format!(r#"{{"namespace":"{NAMESPACE}","key":"{PLACEHOLDER}"}}"#);
            post(&host, "/v1/claim", &body)
        } else {
            let command = format!(r#"{{"command":"claim","namespace":"{NAMESPACE}","key":"{PLACEHOLDER}"}}"#);
            let body = format!(r#"{{"commands":[{}]}}"#, vec![command; batch].join(","));
            post(&host, "/v1/batch", &body)
        };
        Self { host, claim: Template::new(&claim), batch }
    }
}

impl Dialect for Onced {
    fn claim(&self, keys: &[Key], out: &mut Vec<u8>) {
        self.claim.fill(keys, out);
    }

    /// Confirms with the token of the claim's answer, as an app does.
    fn confirm(&self, key: &Key, claimed: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Malformed("not UTF-8"));
        let (_, rest) = text(claimed)?.split_once(r#""token":""#).ok_or(Malformed("a claim without a token"))?;
        let (token, _) = rest.split_once('"').ok_or(Malformed("an unfinished token"))?;
        let body = format!(r#"{{"namespace":"{NAMESPACE}","key":"{}","token":"{token}"}}"#, text(key)?);
        out.extend_from_slice(post(&self.host, "/v1/confirm", &body).as_bytes());
        Ok(())
    }

    fn granted(&self, step: Step, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some(answer) = Answer::parse(input)? else {
            return Ok(None);
        };
        Ok(Some(match (step, self.batch) {
            (Step::Claim, 1) => usize::from(answer.status == 201),
            (Step::Claim, _) => count(answer.body, GRANTED_IN_BATCH),
            (Step::Confirm, _) => usize::from(answer.status == 200),
        }))
    }
}

/// A whole HTTP answer that gives its length, which is all the daemon sends to the verbs.
struct Answer<'a> {
    status: u16,
    body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// `None` while more must come.
    fn parse(input: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let Some(head) = input.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let (head, body) = (&input[..head], &input[head + 4..]);
        let status = head.strip_prefix(b"HTTP/1.1 ").and_then(|rest| number(rest.get(..3)?));
        let status = status.ok_or(Malformed("no HTTP/1.1 status line"))? as u16;
        let length = head.split(|byte| *byte == b'\n').find_map(content_length);
        let length = length.ok_or(Malformed("no Content-Length"))?;
        match body.len() {
            more if more > length => Err(Malformed("more than was asked for")),
            less if less < length => Ok(None),
            _ => Ok(Some(Self { status, body })),
        }
    }
}

fn content_length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    if name.eq_ignore_ascii_case(NAME) { number(value.trim_ascii()) } else { None }
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn count(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len()).filter(|window| *window == word).count()
}

fn post(host: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Whether someone holds the key: a second claim of it is answered with 409.
pub(crate) fn is_held(address: SocketAddr, key: &Key) -> io::Result<bool> {
    let mut request = Vec::new();
    Onced::new(address.to_string(), 1).claim(&[*key], &mut request);
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&request)?;
    let mut received = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let length = stream.read(&mut chunk)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        received.extend_from_slice(&chunk[..length]);
        let answer = Answer::parse(&received).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if let Some(answer) = answer {
            return Ok(answer.status == 409);
        }
    }
}
