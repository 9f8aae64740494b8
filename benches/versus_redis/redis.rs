//! Redis as a rival: the claim people write by hand, `SET key value NX EX ttl`, in RESP.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use crate::{
    CLAIM_TTL_S, CONFIRMED_TTL_S,
    measure::keys::{Key, PLACEHOLDER, Template},
    measure::load::{Dialect, Malformed, Step},
};

const OK: &[u8] = b"+OK\r\n";

/// Requests for one or, pipelined, several keys.
pub(crate) struct Redis {
    claim: Template,
    confirm: Template,
    batch: usize,
}

impl Redis {
    /// Asks for `batch` keys a request.
    pub(crate) fn new(batch: usize) -> Self {
        let key = format!("onced:{PLACEHOLDER}");
        let claim = command(&["SET", &key, "1", "NX", "EX", &CLAIM_TTL_S.to_string()]);
        let confirm = command(&["SET", &key, "2", "EX", &CONFIRMED_TTL_S.to_string()]);
        Self { claim: Template::new(&claim.repeat(batch)), confirm: Template::new(&confirm), batch }
    }
}

impl Dialect for Redis {
    fn claim(&self, keys: &[Key], out: &mut Vec<u8>) {
        self.claim.fill(keys, out);
    }

    fn confirm(&self, key: &Key, _claimed: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        self.confirm.fill(&[*key], out);
        Ok(())
    }

    /// Every answer to `SET` is one line: `+OK`, `$-1` for a key that was there, or an error.
    fn granted(&self, step: Step, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let expected = match step {
            Step::Claim => self.batch,
            Step::Confirm => 1,
        };
        let mut lines = input.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\r\n"));
        let (mut whole, mut granted, mut length) = (0, 0, 0);
        for line in lines.by_ref().take(expected) {
            whole += 1;
            granted += usize::from(line == OK);
            length += line.len();
        }
        if whole < expected {
            return Ok(None);
        }
        if length < input.len() { Err(Malformed("more than was asked for")) } else { Ok(Some(granted)) }
    }
}

/// A command as an array of bulk strings.
fn command(words: &[&str]) -> String {
    let strings: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{strings}", words.len())
}

/// How many keys were ever written: those present and those expired since. A repeated key would be missing here.
pub(crate) fn keys_written(address: SocketAddr) -> io::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"DBSIZE\r\nINFO stats\r\nQUIT\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let number = |prefix: &str| answer.lines().find_map(|line| line.strip_prefix(prefix)?.parse::<u64>().ok());
    match (number(":"), number("expired_keys:")) {
        (Some(present), Some(expired)) => Ok(present + expired),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "redis told no DBSIZE or no expired_keys")),
    }
}
