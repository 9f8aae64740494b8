//! Where a request of ours goes: parsed once, so that a target in hand can be connected to.

use std::fmt;

use http::Uri;
use http::uri::Scheme as UriScheme;

/// How a target is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain HTTP/1.1.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
}

/// Why a URI names no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// It is no absolute http or https URI.
    #[error("the scheme must be http or https")]
    Scheme,
    /// There is no host in it.
    #[error("a host is needed")]
    Host,
    /// A name and password before the host, which would be sent nowhere.
    #[error("a user name or password has no place here")]
    UserInfo,
}

/// Scheme, host and port. Targets that are equal share pooled connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    scheme: Scheme,
    /// As for connecting: lower case, an IPv6 address without its brackets.
    host: String,
    port: u16,
}

impl Target {
    /// The target of an absolute URI; its path is not looked at.
    pub fn from_uri(uri: &Uri) -> Result<Self, TargetError> {
        let (scheme, default_port) = match uri.scheme() {
            Some(scheme) if *scheme == UriScheme::HTTP => (Scheme::Http, 80),
            Some(scheme) if *scheme == UriScheme::HTTPS => (Scheme::Https, 443),
            Some(_) | None => return Err(TargetError::Scheme),
        };
        let authority = uri.authority().ok_or(TargetError::Host)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::UserInfo);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() {
            return Err(TargetError::Host);
        }
        Ok(Self { scheme, host, port: authority.port_u16().unwrap_or(default_port) })
    }

    /// How it is spoken to.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(super) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }
}

/// As in a `Host` header: without the scheme's own port.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        match (self.scheme, self.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => Ok(()),
            (_, port) => write!(f, ":{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that panics has failed

    use super::*;

    #[test]
    fn a_target_is_what_the_uri_says_before_its_path() {
        let cases = [
            ("http://127.0.0.1:3000/hooks?x=1", Ok("127.0.0.1:3000")),
            ("http://App.internal/", Ok("app.internal")),
            ("http://app.internal:80/", Ok("app.internal")),
            ("https://app.internal/", Ok("app.internal")),
            ("https://app.internal:80/", Ok("app.internal:80")),
            ("http://[::1]:3000/", Ok("[::1]:3000")),
            ("ftp://app.internal/", Err(TargetError::Scheme)),
            ("/hooks", Err(TargetError::Scheme)),
            ("http://me:secret@app.internal/", Err(TargetError::UserInfo)),
        ];
        for (uri, expected) in cases {
            let found = Target::from_uri(&uri.parse().unwrap()).map(|target| target.to_string());
            assert_eq!(found, expected.map(String::from), "{uri}");
        }
    }
}
