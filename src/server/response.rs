//! An answer: a body whose length is always known, and optionally a receipt.
//!
//! Bodies that stream were not taken. What onced answers is small, and a known length means that Content-Length is
//! always right and that an answer costs one write.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::body::{Body, Frame, SizeHint};

use super::seat::Seat;

/// An answer as a handler gives it.
pub type Response = http::Response<ResponseBody>;

/// Makes this answer the connection's last.
pub fn close(response: &mut Response) {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}

/// The body of an answer.
#[derive(Default)]
pub struct ResponseBody {
    bytes: Bytes,
    receipt: Option<Receipt>,
    /// The connection that it goes out on, which is idle once this is dropped.
    seat: Option<Arc<Seat>>,
}

type Receipt = Box<dyn FnOnce() + Send>;

impl ResponseBody {
    /// No body: `Content-Length: 0`.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A body that reports its own loss: `on_unwritten` runs if the answer is dropped before the connection has taken
    /// all of it, because the sender had gone or the drain cut it. It runs wherever the drop happens, so it must not
    /// block. A body that never goes out (an empty one, or one to a HEAD) counts as not taken. What the connection took
    /// may still be lost on the way: a receipt saves the common case and is no proof of arrival.
    pub fn with_receipt(bytes: impl Into<Bytes>, on_unwritten: impl FnOnce() + Send + 'static) -> Self {
        Self { bytes: bytes.into(), receipt: Some(Box::new(on_unwritten)), seat: None }
    }

    /// Lets the connection rest when the answer has been taken.
    pub(super) fn goes_out_on(&mut self, seat: Arc<Seat>) {
        self.seat = Some(seat);
    }
}

impl From<Bytes> for ResponseBody {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, receipt: None, seat: None }
    }
}

impl From<Vec<u8>> for ResponseBody {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<&'static str> for ResponseBody {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let Some(on_unwritten) = self.receipt.take() {
            on_unwritten();
        }
        if let Some(seat) = &self.seat {
            seat.rests();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receipt = None;
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
