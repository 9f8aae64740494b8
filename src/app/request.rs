//! The request for an app: what was sent, and what we say of it.

use std::time::SystemTime;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Uri, Version};

use super::marks::Marks;
use super::signing::SigningKey;

/// Marks what was sent, and signs it where the app asks for it. The headers are those for the app already: nothing of one
/// connection is among them, and nothing that only we may say.
#[must_use]
pub fn request(
    mut head: Parts,
    body: Bytes,
    uri: Uri,
    marks: &Marks<'_>,
    signing: Option<(&SigningKey, SystemTime)>,
) -> Request<Bytes> {
    marks.put(&mut head.headers);
    if let Some((key, now)) = signing {
        key.sign(&mut head.headers, marks.name(), now, &body);
    }
    (head.uri, head.version) = (uri, Version::HTTP_11);
    Request::from_parts(head, body)
}
