//! How header names were written.
//!
//! The transport keeps a request's names with their letters for the next connection, in a form that it alone can read. What
//! is to be kept for longer is written out here as it would go to an app, into memory, and read back line by line. Nothing
//! leaves the process, and a failure leaves nothing behind.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Method, Request};
use http_body_util::Full;
use hyper::client::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A header as name and value.
pub type Spelled = (Box<[u8]>, Box<[u8]>);

/// The headers of a request as they were written, those of one name in their order; without `Content-Length`, which belongs
/// to the body.
pub async fn spelled(head: &Parts) -> Vec<Spelled> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = Method::POST;
    *request.headers_mut() = head.headers.clone();
    *request.extensions_mut() = head.extensions.clone();
    let written = write(request).await.unwrap_or_else(|error| {
        tracing::debug!(error = %error, "the letters of header names are lost");
        Vec::new()
    });
    let is_length = |name: &[u8]| name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str().as_bytes());
    let lines = written.split(|byte| *byte == b'\n').skip(1);
    let read: Vec<_> = lines.map_while(header).filter(|(name, _)| !is_length(name)).collect();
    if read.len() == head.headers.len() { read } else { lower_case(head) }
}

/// As the protocol compares them.
fn lower_case(head: &Parts) -> Vec<Spelled> {
    head.headers.iter().map(|(name, value)| (name.as_str().as_bytes().into(), value.as_bytes().into())).collect()
}

/// A line that was written here has its colon, and white space around its value only where that begins.
fn header(line: &[u8]) -> Option<Spelled> {
    let line = line.strip_suffix(b"\r")?;
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = &line[colon + 1..];
    Some((line[..colon].into(), value.strip_prefix(b" ").unwrap_or(value).into()))
}

async fn write(request: Request<Full<Bytes>>) -> Result<Vec<u8>, hyper::Error> {
    let mut paper = Paper(Vec::new());
    {
        let mut builder = Builder::new();
        let (mut sender, connection) = builder.preserve_header_case(true).handshake(TokioIo::new(&mut paper)).await?;
        let (mut reply, mut connection) = (pin!(sender.send_request(request)), pin!(connection));
        // One turn of each: the request is handed over, and written, since the paper takes all at once.
        poll_fn(|cx| {
            let _no_reply = reply.as_mut().poll(cx).is_ready();
            let _never_ends = connection.as_mut().poll(cx).is_ready();
            Poll::Ready(())
        })
        .await;
    }
    Ok(paper.0)
}

/// Takes every byte and never answers.
struct Paper(Vec<u8>);

impl AsyncRead for Paper {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Paper {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header::HOST};

    use super::*;

    #[tokio::test]
    async fn without_letters_from_a_connection_names_are_lower_case_and_values_their_bytes() {
        let (mut head, ()) = Request::new(()).into_parts();
        head.headers.insert(HOST, HeaderValue::from_static("a"));
        for value in [&b"caf\xe9"[..], b"", b"b \t c"] {
            head.headers.append("x-many", HeaderValue::from_bytes(value).expect("a value"));
        }
        let expected: Vec<(&[u8], &[u8])> =
            vec![(b"host", b"a"), (b"x-many", b"caf\xe9"), (b"x-many", b""), (b"x-many", b"b \t c")];
        let spelled = spelled(&head).await;
        let spelled: Vec<(&[u8], &[u8])> = spelled.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(spelled, expected);
    }
}
