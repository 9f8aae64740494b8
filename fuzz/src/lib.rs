//! What the targets have in common: an input is a request as it is written down, a byte that chooses what it is held
//! against in front.

use http::{HeaderMap, HeaderName, HeaderValue};

/// A request that was taken apart.
pub struct Sent<'i> {
    /// Which of the things to try it on.
    pub choice: usize,
    /// Its header lines; those that are none are left out.
    pub headers: HeaderMap,
    /// What follows the empty line.
    pub body: &'i [u8],
}

impl<'i> Sent<'i> {
    /// `<choice><name: value>\n…\n\n<body>`; `None` where there is no empty line.
    pub fn read(input: &'i [u8]) -> Option<Self> {
        let (choice, rest) = input.split_first()?;
        let end = rest.windows(2).position(|two| two == b"\n\n")?;
        let lines = rest[..end].split(|byte| *byte == b'\n');
        let line = |line: &[u8]| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..colon]).ok()?;
            Some((name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?))
        };
        let mut headers = HeaderMap::new();
        headers.extend(lines.filter_map(line));
        Some(Self { choice: usize::from(*choice), headers, body: &rest[end + 2..] })
    }
}
