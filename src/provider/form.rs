//! The fields of an `application/x-www-form-urlencoded` body.
//!
//! The content type is not asked: the profile knows its sender better than a label does. Decoding is the URL standard's:
//! `+` is a blank, `%XX` a byte, a `%` that begins nothing stands for itself. The result is bytes, since a field need not
//! be text.

use super::Rejection;
use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Fields that are sorted. Twilio's largest messages have fewer than a hundred; a stranger's could have millions.
pub const MAX_FORM_FIELDS: usize = 4_096;

/// How often a field occurs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'b> {
    Absent,
    /// Once, with this decoded value.
    Once(Cow<'b, [u8]>),
    /// More than once; readers differ in which one they take.
    Repeated,
}

/// Looks for a field by its decoded name. One pass over the body.
pub(super) fn field<'b>(body: &'b [u8], name: &str) -> Field<'b> {
    let mut matching =
        body.split(|byte| *byte == b'&').map(split_pair).filter(|(key, _)| *decode(key) == *name.as_bytes());
    match (matching.next(), matching.next()) {
        (None, _) => Field::Absent,
        (Some((_, value)), None) => Field::Once(decode(value)),
        (Some(_), Some(_)) => Field::Repeated,
    }
}

/// A pair without `=` is a name with an empty value.
fn split_pair(pair: &[u8]) -> (&[u8], &[u8]) {
    match pair.iter().position(|byte| *byte == b'=') {
        Some(end) => (&pair[..end], &pair[end + 1..]),
        None => (pair, &[]),
    }
}

fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'+') {
        return percent_decode(text).into();
    }
    let blanks: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&blanks).collect())
}

/// Every distinct field in byte order, its key and its value decoded and joined without a mark between them: what Twilio
/// signs of a form. A key with several values stands before each of them.
///
/// Where a key ends and its value begins is not in that text, so the signature does not fix it either; the scheme is
/// Twilio's, and no reader can mend it.
pub(super) fn sorted(body: &[u8]) -> Result<Vec<u8>, Rejection> {
    let mut fields = BTreeSet::new();
    let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    for (count, pair) in pairs.enumerate() {
        if count == MAX_FORM_FIELDS {
            return Err(Rejection::TooManyFields);
        }
        let (key, value) = split_pair(pair);
        fields.insert((decode(key), decode(value)));
    }
    let mut text = Vec::with_capacity(body.len());
    for (key, value) in &fields {
        text.extend_from_slice(key);
        text.extend_from_slice(value);
    }
    Ok(text)
}
