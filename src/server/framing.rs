//! Refuses requests whose end, whose host or whose target two parsers could see differently, and what nobody here serves.
//!
//! hyper refuses by itself, with an empty 400: header values with NUL, folded headers, blanks before a colon, a
//! Content-Length that is no number or comes twice with different values, a Transfer-Encoding that does not end in
//! `chunked` or comes with HTTP/1.0. It reads a request with both lengths by Transfer-Encoding alone, takes
//! Content-Length out and closes after the answer, as RFC 9112 section 6.3 allows. What it lets pass is refused here.

use http::header::{EXPECT, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};

use super::response::{Response, close};

/// Why a request is not handed to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A transfer coding besides `chunked`, which hyper would leave in the body: RFC 9112 section 6.1 asks for 501.
    TransferCoding,
    /// No `Host`, several, or one that is none: RFC 9112 section 3.2 asks for 400.
    Host,
    /// The target names another host than `Host`: two hops could take it for two places.
    Authority,
    /// The target is of no form that a request may have, or has bytes that none may have.
    Target,
    /// A tunnel is asked for.
    Connect,
    /// An expectation besides `100-continue`: RFC 9110 section 10.1.1 allows 417.
    Expectation,
}

/// Checks a head that hyper took. A fragment has been cut off its target by then, hence the word of whoever saw it.
pub(super) fn check(head: &Parts, has_fragment: bool) -> Result<(), Refusal> {
    if !is_chunked_alone(&head.headers) {
        return Err(Refusal::TransferCoding);
    }
    let host = host(head)?;
    if head.method == Method::CONNECT {
        return Err(Refusal::Connect);
    }
    if has_fragment || !is_sound(&head.uri) {
        return Err(Refusal::Target);
    }
    if let (Some(host), Some(_)) = (host, head.uri.authority())
        && !names(&head.uri, host)
    {
        return Err(Refusal::Authority);
    }
    // HTTP/1.0 knows no expectations, so what looks like one is ignored.
    let met = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if head.version >= Version::HTTP_11 && !head.headers.get_all(EXPECT).iter().all(met) {
        return Err(Refusal::Expectation);
    }
    Ok(())
}

/// True without a Transfer-Encoding, or with exactly one that says exactly `chunked`.
pub(super) fn is_chunked_alone(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return true };
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") && codings.next().is_none()
}

/// The one `Host`, which HTTP/1.0 may leave out.
fn host(head: &Parts) -> Result<Option<&[u8]>, Refusal> {
    let mut hosts = head.headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host) => Ok(Some(host)),
        (None, None) if head.version < Version::HTTP_11 => Ok(None),
        (Some(_) | None, _) => Err(Refusal::Host),
    }
}

/// `uri-host [ ":" port ]` as in RFC 9110 section 7.2; it may be empty.
fn is_host(value: &[u8]) -> bool {
    let (name, port) = match value.iter().rposition(|byte| *byte == b']') {
        Some(end) => (&value[..=end], &value[end + 1..]),
        None => value.split_at(value.iter().position(|byte| *byte == b':').unwrap_or(value.len())),
    };
    let is_name = match name {
        [b'[', address @ .., b']'] => {
            !address.is_empty() && address.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        }
        name => name.iter().all(|byte| byte.is_ascii_graphic() && !b"\"/\\<>?#@[]^`{|}".contains(byte)),
    };
    is_name && is_port(port)
}

/// Nothing, or a colon with up to five digits.
fn is_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        [_, ..] => false,
    }
}

/// Whether a target is a path, `*`, or an http or https URI, all in ASCII.
fn is_sound(uri: &Uri) -> bool {
    let is_absolute = matches!(uri.scheme(), Some(scheme) if [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
    let form = is_absolute || (uri.scheme().is_none() && uri.authority().is_none());
    let text = uri.path_and_query().map_or("", |target| target.as_str());
    form && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether an absolute target and a `Host` name one place: letters in either case, and the scheme's port may be left out.
fn names(uri: &Uri, host: &[u8]) -> bool {
    let Some(authority) = uri.authority() else { return true };
    let port: &[u8] = if uri.scheme() == Some(&Scheme::HTTPS) { b":443" } else { b":80" };
    let plain = |text: &[u8]| {
        let text = text.to_ascii_lowercase();
        text.strip_suffix(port).or_else(|| text.strip_suffix(b":")).map_or_else(|| text.clone(), <[u8]>::to_vec)
    };
    plain(authority.as_str().as_bytes()) == plain(host)
}

impl Refusal {
    /// The answer; the connection ends with it, since what follows on it cannot be trusted.
    pub(super) fn answer(self, stamp: Option<&(HeaderName, HeaderValue)>) -> Response {
        let (status, text) = match self {
            Self::TransferCoding => {
                (StatusCode::NOT_IMPLEMENTED, "transfer codings other than chunked are not taken\n")
            }
            Self::Host => (StatusCode::BAD_REQUEST, "exactly one Host header is needed, with a host\n"),
            Self::Authority => (StatusCode::BAD_REQUEST, "the target and the Host header name different hosts\n"),
            Self::Target => (StatusCode::BAD_REQUEST, "the request target is malformed\n"),
            Self::Connect => (StatusCode::NOT_IMPLEMENTED, "tunnels are not made here\n"),
            Self::Expectation => (StatusCode::EXPECTATION_FAILED, "nothing but 100-continue can be expected\n"),
        };
        let mut response = Response::new(text.into());
        *response.status_mut() = status;
        if let Some((name, value)) = stamp {
            response.headers_mut().insert(name, value.clone());
        }
        close(&mut response);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port_or_without() {
        for (host, sound) in [
            ("a", true),
            ("", true),
            ("hooks.example:8600", true),
            ("hooks.example:", true),
            ("127.0.0.1", true),
            ("[::1]", true),
            ("[::1]:80", true),
            ("a_b~c!$&'()*+,;=%20", true),
            ("a:b:c", false),
            ("a:1:2", false),
            ("a:b", false),
            ("a:123456", false),
            ("::1", false),
            ("[::1", false),
            ("::1]", false),
            ("[]", false),
            ("[::1]x", false),
            ("me@a", false),
            ("a/b", false),
            ("a b", false),
            ("a\u{e9}", false),
        ] {
            assert_eq!(is_host(host.as_bytes()), sound, "{host:?}");
        }
    }

    #[test]
    fn an_absolute_target_names_the_host_in_any_case_and_with_its_port_or_without() {
        for (target, host, same) in [
            ("http://hooks.example/a", "hooks.example", true),
            ("http://Hooks.Example/a", "hooks.example", true),
            ("http://hooks.example:80/a", "hooks.example", true),
            ("http://hooks.example/a", "hooks.example:80", true),
            ("https://hooks.example/a", "hooks.example:443", true),
            ("http://hooks.example:8600", "hooks.example:8600", true),
            ("http://hooks.example/a", "hooks.example:443", false),
            ("http://hooks.example/a", "other.example", false),
            ("http://hooks.example:8600/a", "hooks.example", false),
            ("http://me@hooks.example/a", "hooks.example", false),
            ("http://hooks.example/a", "", false),
        ] {
            let target: Uri = target.parse().expect("a good target");
            assert_eq!(names(&target, host.as_bytes()), same, "{target} {host}");
        }
    }
}
