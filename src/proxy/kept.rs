//! An app's answer as it is kept beside a finished key, for routes with `duplicate_response = "replay"`.
//!
//! Status, type and body are kept and nothing else: other headers speak of the moment at which they were sent. It is
//! the claim's result, so it is synced with the confirm, lives as long as the key is remembered, and can be read
//! through the API. An answer too long to be kept is no fault, nor is one in a content coding, which a sender of a
//! duplicate may not have offered to read: their duplicates get the plain 200.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde::{Deserialize, Serialize};

use crate::claim::WorkResult;

/// The longest body that is kept. Senders that read an answer at all want a challenge, a short document, a fixed text.
const MAX_BODY_BYTES: usize = 2048;
/// The longest media type that is kept; with its quotation marks escaped it is twice as long.
const MAX_TYPE_BYTES: usize = 128;

/// What is kept of an answer, in the form in which it is kept. The body is base64: it need not be text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptAnswer {
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    body_base64: String,
}

impl KeptAnswer {
    /// What is kept of a successful answer; `None` where it cannot be kept.
    pub(super) fn of(answer: &Response<Bytes>) -> Option<WorkResult> {
        let content_type = answer.headers().get(CONTENT_TYPE).map(HeaderValue::to_str).transpose().ok()?;
        let fits =
            answer.body().len() <= MAX_BODY_BYTES && content_type.is_none_or(|text| text.len() <= MAX_TYPE_BYTES);
        let fits = fits && !answer.headers().contains_key(CONTENT_ENCODING);
        let kept = fits.then(|| Self {
            status: answer.status().as_u16(),
            content_type: content_type.map(str::to_owned),
            body_base64: STANDARD.encode(answer.body()),
        })?;
        WorkResult::of_answer(&serde_json::to_string(&kept).ok()?).ok()
    }

    /// The answer again. `None` for a result that is something else, as one of a route that was set otherwise before.
    pub(super) fn answer(result: &WorkResult) -> Option<Response<Bytes>> {
        let kept: Self = serde_json::from_str(result.as_json()).ok()?;
        let status = StatusCode::from_u16(kept.status).ok().filter(StatusCode::is_success)?;
        let mut answer = Response::new(Bytes::from(STANDARD.decode(kept.body_base64).ok()?));
        *answer.status_mut() = status;
        if let Some(content_type) = kept.content_type {
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::try_from(content_type).ok()?);
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, content_type: Option<&str>, body: Vec<u8>) -> Response<Bytes> {
        let mut answer = Response::new(Bytes::from(body));
        *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
        if let Some(text) = content_type {
            answer.headers_mut().insert(CONTENT_TYPE, text.parse().expect("a value"));
        }
        answer
    }

    #[test]
    fn what_is_kept_comes_back_whole_or_not_at_all() {
        let quoted = format!("text/plain; x=\"{}\"", "\\\"".repeat(56));
        assert_eq!(quoted.len(), MAX_TYPE_BYTES);
        let mut coded = answer(200, Some("text/plain"), vec![0x1F, 0x8B]);
        coded.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        for (answer, kept) in [
            (answer(200, Some("text/plain"), b"[accepted]".to_vec()), true),
            (answer(204, None, Vec::new()), true),
            (answer(202, Some(&quoted), vec![0xFF; MAX_BODY_BYTES]), true),
            (answer(200, None, vec![0; MAX_BODY_BYTES + 1]), false),
            (answer(200, Some(&"x".repeat(MAX_TYPE_BYTES + 1)), Vec::new()), false),
            (coded, false),
        ] {
            let again = KeptAnswer::of(&answer).and_then(|result| KeptAnswer::answer(&result));
            assert_eq!(again.is_some(), kept, "{answer:?}");
            if let Some(again) = again {
                assert_eq!((again.status(), again.body()), (answer.status(), answer.body()));
                assert_eq!(again.headers(), answer.headers());
            }
        }
    }

    #[test]
    fn a_result_that_is_no_kept_answer_is_not_replayed() {
        for text in ["null", "{}", r#"{"status":500,"body_base64":""}"#, r#"{"status":200,"body_base64":"%"}"#] {
            assert!(KeptAnswer::answer(&WorkResult::from_json(text).expect("short")).is_none(), "{text}");
        }
    }
}
