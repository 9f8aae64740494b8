//! What is known of a key where the database may not be asked, or does not answer.

use crate::claim::Record;

/// What is known of a key. A record that cannot be read is not an absent one: whoever took it for absent would write over
/// what is there, a finished key too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Its record, or that it has none.
    Record(Option<Record>),
    /// Nothing.
    Nothing,
}

impl From<Option<Record>> for Known {
    fn from(record: Option<Record>) -> Self {
        Self::Record(record)
    }
}

impl<E> From<Result<Option<Record>, E>> for Known {
    /// Why it cannot be read was told where it failed; here it counts only that nobody knows.
    fn from(read: Result<Option<Record>, E>) -> Self {
        read.map_or(Self::Nothing, Self::Record)
    }
}
