//! Which requests are a handshake, and what they get.

use super::{Handshake, HandshakeAnswer, HandshakeCondition, HandshakeMethod, SignedToken};
use crate::provider::{Acknowledgement, Request, Secret, Unreadable};
use http::Method;
use std::borrow::Cow;
use subtle::ConstantTimeEq as _;

/// The longest text that is echoed. Senders choose challenges of 20 to 100 characters.
pub const MAX_ECHO_BYTES: usize = 1024;

/// The longest text that is signed. Zoom's tokens have 22 characters.
pub const MAX_TOKEN_BYTES: usize = 64;

/// The largest body of a handshake that comes before there is a secret. Asana's is empty or `{}`.
pub const MAX_UNVERIFIED_BODY_BYTES: usize = 1024;

/// What a request that is a handshake gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandshakeReply<'h> {
    /// 200 with this plain text.
    Text(Vec<u8>),
    /// This.
    Fixed(&'h Acknowledgement),
    /// 200 with this token and its HMAC, under the keys of [`SignedToken`].
    Sign {
        /// How to write it.
        form: &'h SignedToken,
        /// The text, checked.
        token: String,
    },
    /// The app's answer.
    Pass,
    /// It does not know the route's token.
    Refused,
}

/// The reply to a GET or HEAD.
pub fn reply_unsigned<'h>(
    handshakes: &'h [Handshake],
    request: &Request<'_>,
    token: Option<&Secret>,
) -> Option<HandshakeReply<'h>> {
    let wanted = match *request.method() {
        Method::GET => HandshakeMethod::Get,
        Method::HEAD => HandshakeMethod::Head,
        _ => return None,
    };
    let asked = handshakes.iter().filter(|handshake| handshake.method == wanted);
    asked.filter_map(|handshake| handshake.reply(request, token)).next()
}

/// The reply to a POST that has not been verified, if it is a handshake that comes before there is a secret.
pub fn reply_unverified<'h>(handshakes: &'h [Handshake], request: &Request<'_>) -> Option<HandshakeReply<'h>> {
    if request.body.len() > MAX_UNVERIFIED_BODY_BYTES {
        return None;
    }
    posts(handshakes, false).filter_map(|handshake| handshake.reply(request, None)).next()
}

/// The reply to a POST that has been verified, or need not be.
pub fn reply_verified<'h>(handshakes: &'h [Handshake], request: &Request<'_>) -> Option<HandshakeReply<'h>> {
    posts(handshakes, true).filter_map(|handshake| handshake.reply(request, None)).next()
}

impl Handshake {
    /// What this request gets, if it is this handshake; `token` is the route's. A request without the text that would be
    /// echoed or signed, or with one that is not of its form, is no handshake.
    fn reply(&self, request: &Request<'_>, token: Option<&Secret>) -> Option<HandshakeReply<'_>> {
        if !self.when.iter().all(|condition| condition.holds(&request.find(&condition.place))) {
            return None;
        }
        if let Some(place) = &self.token {
            let Some(token) = token else {
                return Some(HandshakeReply::Pass);
            };
            let given = request.find(place).ok().flatten().unwrap_or_default();
            if !bool::from(token.text().as_bytes().ct_eq(&given)) {
                return Some(HandshakeReply::Refused);
            }
        }
        match &self.answer {
            HandshakeAnswer::Text(place) => echo(request.find(place)).map(HandshakeReply::Text),
            HandshakeAnswer::Fixed(answer) => Some(HandshakeReply::Fixed(answer)),
            HandshakeAnswer::Sign(form) => {
                signable(request.find(&form.text)).map(|token| HandshakeReply::Sign { form, token })
            }
            HandshakeAnswer::Pass => Some(HandshakeReply::Pass),
        }
    }
}

fn posts(handshakes: &[Handshake], verified: bool) -> impl Iterator<Item = &Handshake> {
    handshakes.iter().filter(move |one| one.method == HandshakeMethod::Post && one.verified == verified)
}

/// What was found in a place; `None` where there is nothing.
type Found<'r> = Result<Option<Cow<'r, [u8]>>, Unreadable>;

impl HandshakeCondition {
    fn holds(&self, found: &Found<'_>) -> bool {
        match (found, &self.equals) {
            (Ok(None), _) => self.absent,
            (Ok(Some(text)), Some(wanted)) => !self.absent && **text == *wanted.as_bytes(),
            (Ok(Some(text)), None) => !self.absent && !text.trim_ascii().is_empty(),
            (Err(_), _) => false,
        }
    }
}

fn echo(found: Found<'_>) -> Option<Vec<u8>> {
    let text = found.ok()??;
    (!text.is_empty() && text.len() <= MAX_ECHO_BYTES).then(|| text.into_owned())
}

/// A text that may be signed: letters, digits, `-` and `_`. No signed string of an event consists of these alone.
fn signable(found: Found<'_>) -> Option<String> {
    let text = found.ok()??;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_token = (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.iter().all(plain);
    is_token.then(|| String::from_utf8_lossy(&text).into_owned())
}
