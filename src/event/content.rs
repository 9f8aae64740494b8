//! What was sent.

use bytes::Bytes;

/// A header as it was written: the name with its letters, the value with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderLine {
    /// The name.
    pub name: Box<[u8]>,
    /// The value, without the white space around it.
    pub value: Box<[u8]>,
}

/// What was sent, as it would go to the app again: without what belongs to one connection, and without what only we may
/// say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The path and the query, as they arrived.
    pub target: Box<str>,
    /// The sender's id, where it has one.
    pub sender_id: Option<Box<[u8]>>,
    /// The provider that it was shown to come from, when it arrived; `None` where nothing verified it.
    pub verified_by: Option<Box<str>>,
    /// The headers; those of one name in their order.
    pub headers: Vec<HeaderLine>,
    /// The body.
    pub body: Bytes,
}

impl Content {
    /// Bytes of all of it, for limits.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        let lines = self.headers.iter().map(|line| line.name.len() + line.value.len());
        let head = self.target.len()
            + self.sender_id.as_ref().map_or(0, |id| id.len())
            + self.verified_by.as_ref().map_or(0, |name| name.len())
            + lines.sum::<usize>();
        head as u64 + self.body.len() as u64
    }
}
