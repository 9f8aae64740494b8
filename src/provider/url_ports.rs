//! The spellings of our URL that a sender may have signed.

use serde::Deserialize;

/// Which spellings of our URL the sender may have signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UrlPorts {
    /// The URL as it is configured.
    #[default]
    Exact,
    /// An https URL with its port and without it, said or not: Twilio writes either, by product and date. Over plain http
    /// the port has always been part of what is signed.
    Either,
}

const HTTPS: &str = "https://";
const HTTPS_PORT: &str = "443";

impl UrlPorts {
    /// The spellings, the configured one first.
    pub(super) fn spellings(self, public_url: &str) -> Vec<String> {
        let mut spellings = vec![public_url.to_owned()];
        let after_scheme = public_url.get(..HTTPS.len()).filter(|scheme| scheme.eq_ignore_ascii_case(HTTPS));
        if let (Self::Either, Some(scheme)) = (self, after_scheme) {
            let rest = &public_url[scheme.len()..];
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (host, port) = split_port(authority);
            let port = port.unwrap_or(HTTPS_PORT);
            for spelling in [format!("{scheme}{host}{path}"), format!("{scheme}{host}:{port}{path}")] {
                if !spellings.contains(&spelling) {
                    spellings.push(spelling);
                }
            }
        }
        spellings
    }
}

/// Host and port. A colon inside the brackets of an IPv6 address is no mark of a port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::UrlPorts;

    #[test]
    fn an_https_url_is_tried_with_and_without_its_port() {
        let rows = [
            ("https://a.example", &["https://a.example", "https://a.example:443"][..]),
            ("https://a.example/base", &["https://a.example/base", "https://a.example:443/base"]),
            ("https://a.example:443", &["https://a.example:443", "https://a.example"]),
            ("https://a.example:8443/b", &["https://a.example:8443/b", "https://a.example/b"]),
            ("https://[::1]", &["https://[::1]", "https://[::1]:443"]),
            ("https://[::1]:8443", &["https://[::1]:8443", "https://[::1]"]),
            ("http://a.example", &["http://a.example"]),
            ("http://a.example:1234", &["http://a.example:1234"]),
        ];
        for (url, expected) in rows {
            assert_eq!(UrlPorts::Either.spellings(url), expected, "{url}");
            assert_eq!(UrlPorts::Exact.spellings(url), [url]);
        }
    }
}
