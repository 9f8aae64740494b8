//! Bodies that came with `Content-Encoding: gzip`.
//!
//! Decoding happens before anybody is authenticated, where a profile's signature is over the decoded bytes. So it ends at
//! a limit, and takes one member only: a file of a million empty members would cost the set-up of a decoder each.

use flate2::bufread::GzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::Read as _;

/// What a body went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// Nothing.
    Identity,
    /// gzip.
    Gzip,
    /// Something that is not undone here, or several things.
    Other,
}

/// A body cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// It is not what the header says, or is cut short, or goes on after its end.
    #[error("the body is not one whole gzip member")]
    NotGzip,
    /// It would become larger than what a route takes.
    #[error("the decoded body is larger than the route takes")]
    TooLarge,
    /// `br`, `zstd`, several codings.
    #[error("the body has a content coding other than gzip")]
    OtherCoding,
}

pub(super) fn coding(headers: &HeaderMap) -> Coding {
    let mut lines = headers.get_all(CONTENT_ENCODING).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Coding::Identity,
        (Some(line), None) => match line.as_bytes().trim_ascii() {
            name if name.eq_ignore_ascii_case(b"identity") => Coding::Identity,
            // RFC 9110, section 8.4.1.3: x-gzip is the same.
            name if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => Coding::Gzip,
            _ => Coding::Other,
        },
        (Some(_), Some(_)) => Coding::Other,
    }
}

pub(super) fn decode(body: &[u8], max_bytes: usize) -> Result<Vec<u8>, Undecodable> {
    let mut decoder = GzDecoder::new(body);
    let mut decoded = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    decoder.by_ref().take(limit).read_to_end(&mut decoded).map_err(|_| Undecodable::NotGzip)?;
    if decoded.len() > max_bytes {
        return Err(Undecodable::TooLarge);
    }
    match decoder.into_inner().is_empty() {
        true => Ok(decoded),
        false => Err(Undecodable::NotGzip),
    }
}
