//! Which headers go on to the app, and which of ours come with them.
//!
//! What arrived goes on as it arrived: values byte for byte, names with their letters, the values of one name in their
//! order (that of different names means nothing: RFC 9110, section 5.3). What belongs to one connection stays here
//! (section 7.6.1), and so do the names that only we may say. Ours are added after that, so nothing that a sender writes
//! can remove them.

use std::net::IpAddr;

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use super::settings::Network;
use crate::server::{Peer, Request};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
/// What proxies say about where a request came from begins like this, `-for`, `-port`, `-user` and the rest.
const X_FORWARDED: &str = "x-forwarded-";
/// Whatever begins like this is ours to say.
const OURS: &str = "onced-";

/// Where a request came from, as far as the way it came can be believed.
#[derive(Debug)]
pub(super) struct Origin {
    peer: Option<IpAddr>,
    /// Whether the peer's own word on the sender counts.
    trusted: bool,
    /// How the peer came: `http` or `https`.
    proto: HeaderValue,
}

impl Origin {
    pub(super) fn of(request: &Request, trusted_proxies: &[Network], over_tls: bool) -> Self {
        let proto = HeaderValue::from_static(if over_tls { "https" } else { "http" });
        match request.peer {
            Peer::Unix => Self { peer: None, trusted: true, proto },
            Peer::Tcp(address) => {
                let peer = address.ip();
                let trusted = trusted_proxies.iter().any(|network| network.contains(peer));
                Self { peer: Some(peer), trusted, proto }
            }
        }
    }
}

/// Takes off what belongs to one connection.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        // It says whom the request is for, and no connection owns that.
        .filter(|name| *name != HOST)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        CONTENT_LENGTH,
    ] {
        headers.remove(name);
    }
}

/// Whether an app may take the name for one of ours. Many make variables of header names, in which `_` and `-` are the same:
/// what begins like ours goes, and so does what spells a header with `_` by which apps learn where a request came from.
fn reads_as_ours(name: &HeaderName) -> bool {
    let folded = name.as_str().replace('_', "-");
    let spells = |header: HeaderName| folded != name.as_str() && folded == header.as_str();
    let told_by_proxies = folded != name.as_str() && folded.starts_with(X_FORWARDED);
    folded.starts_with(OURS) || told_by_proxies || [FORWARDED, X_REAL_IP].into_iter().any(spells)
}

/// Turns a sender's headers into those for the app; what is ours to say is then added by whoever knows it.
pub(super) fn towards_app(headers: &mut HeaderMap, origin: &Origin) {
    strip_hop_by_hop(headers);
    headers.remove(EXPECT);
    let ours: Vec<HeaderName> = headers.keys().filter(|name| reads_as_ours(name)).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    forwarded(headers, origin);
}

/// One fresh set of `X-Forwarded-*`: a trusted proxy's, with itself added, else our own.
fn forwarded(headers: &mut HeaderMap, origin: &Origin) {
    if !origin.trusted {
        let claims =
            |name: &&HeaderName| name.as_str().starts_with(X_FORWARDED) || [FORWARDED, X_REAL_IP].contains(name);
        let claimed: Vec<HeaderName> = headers.keys().filter(claims).cloned().collect();
        for name in claimed {
            headers.remove(name);
        }
    }
    let way: Vec<u8> = headers
        .get_all(X_FORWARDED_FOR)
        .iter()
        .map(|value| value.as_bytes().to_vec())
        .chain(origin.peer.map(|peer| peer.to_string().into_bytes()))
        .collect::<Vec<_>>()
        .join(&b", "[..]);
    if let Ok(way) = HeaderValue::from_bytes(&way)
        && !way.is_empty()
    {
        headers.insert(X_FORWARDED_FOR, way);
    }
    if !headers.contains_key(X_FORWARDED_HOST)
        && let Some(host) = headers.get(HOST).cloned()
    {
        headers.insert(X_FORWARDED_HOST, host);
    }
    if !headers.contains_key(X_FORWARDED_PROTO) {
        headers.insert(X_FORWARDED_PROTO, origin.proto.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().expect("a name"), value.parse::<HeaderValue>().expect("a value"))
        };
        lines.iter().map(parse).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_belongs_to_one_connection_and_what_only_we_may_say_stays_here() {
        let mut headers = map(&[
            ("host", "hooks.example"),
            ("connection", "close, X-Foo, Host"),
            ("connection", "x-bar"),
            ("x-foo", "1"),
            ("x-bar", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("proxy-authorization", "Basic eA=="),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("transfer-encoding", "chunked"),
            ("onced-attempt", "9"),
            ("onced-verified", "stripe"),
            ("onced_attempt", "9"),
            ("x_forwarded_for", "1.2.3.4"),
            ("x_kept", "1"),
            ("forwarded", "for=1.2.3.4"),
            ("x-real-ip", "1.2.3.4"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-user", "admin"),
            ("x_forwarded_user", "admin"),
            ("x-hub-signature-256", "sha256=00"),
            ("x-kept", "a"),
            ("x-kept", "b"),
        ]);
        let untrusted =
            Origin { peer: Some(IpAddr::from([10, 0, 0, 1])), trusted: false, proto: HeaderValue::from_static("http") };
        towards_app(&mut headers, &untrusted);
        let kept = [
            "host",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-hub-signature-256",
            "x-kept",
            "x-kept",
            "x_kept",
        ];
        assert_eq!(names(&headers), kept);
        assert_eq!(
            (&headers[X_FORWARDED_FOR], &headers[X_FORWARDED_PROTO]),
            (&"10.0.0.1".parse().expect("a value"), &"http".parse().expect("a value"))
        );
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_added() {
        let lines = [
            ("host", "inner"),
            ("forwarded", "for=1.2.3.4"),
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "hooks.example"),
        ];
        let mut headers = map(&lines);
        towards_app(
            &mut headers,
            &Origin {
                peer: Some(IpAddr::from([127, 0, 0, 1])),
                trusted: true,
                proto: HeaderValue::from_static("http"),
            },
        );
        assert_eq!(headers[X_FORWARDED_FOR], "1.2.3.4, 127.0.0.1");
        assert_eq!(
            (&headers[X_FORWARDED_PROTO], &headers[X_FORWARDED_HOST]),
            (&"https".parse().expect("a value"), &"hooks.example".parse().expect("a value"))
        );
        assert!(headers.contains_key(FORWARDED));
    }
}
