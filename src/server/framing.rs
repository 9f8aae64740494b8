//! Refuses requests whose end, or whose host, two parsers could see differently.
//!
//! hyper refuses by itself, with an empty 400: header values with NUL, folded headers, blanks before a colon, a
//! Content-Length that is no number or comes twice with different values, a Transfer-Encoding that does not end in
//! `chunked` or comes with HTTP/1.0. It reads a request with both lengths by Transfer-Encoding alone, takes
//! Content-Length out and closes after the answer, as RFC 9112 section 6.3 allows. What it lets pass is refused here.

use http::header::{HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, StatusCode, Version};

use super::response::{Response, close};

/// Why a request is not handed to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A transfer coding besides `chunked`, which hyper would leave in the body: RFC 9112 section 6.1 asks for 501.
    TransferCoding,
    /// No `Host`, or several: RFC 9112 section 3.2 asks for 400.
    Host,
}

/// Checks a head that hyper took.
pub(super) fn check(head: &Parts) -> Result<(), Refusal> {
    if !is_chunked_alone(&head.headers) {
        return Err(Refusal::TransferCoding);
    }
    match head.headers.get_all(HOST).iter().count() {
        1 => Ok(()),
        0 if head.version < Version::HTTP_11 => Ok(()),
        _ => Err(Refusal::Host),
    }
}

/// True without a Transfer-Encoding, or with exactly one that says exactly `chunked`.
fn is_chunked_alone(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return true };
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") && codings.next().is_none()
}

impl Refusal {
    /// The answer; the connection ends with it, since what follows on it cannot be trusted.
    pub(super) fn answer(self) -> Response {
        let (status, text) = match self {
            Self::TransferCoding => {
                (StatusCode::NOT_IMPLEMENTED, "transfer codings other than chunked are not taken\n")
            }
            Self::Host => (StatusCode::BAD_REQUEST, "exactly one Host header is needed\n"),
        };
        let mut response = Response::new(text.into());
        *response.status_mut() = status;
        close(&mut response);
        response
    }
}
