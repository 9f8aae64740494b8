//! The two addresses that make up where an event goes: the path that its sender called, and the app behind it.

use std::fmt;

use http::Uri;

use crate::server::Target;

/// Why a text is no path of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RoutePathError {
    /// Requests are held against the path as they arrive, byte by byte.
    #[error("must begin with '/' and be visible ASCII without '?' and '#' (percent-encode the rest)")]
    Shape,
    /// No patterns.
    #[error("may have a '*' only as the last of a closing \"/*\"")]
    Star,
}

/// What a request's path is held against, byte by byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutePath {
    /// This path alone.
    Exact(Box<str>),
    /// Every path that begins like this; ends with `/`.
    Prefix(Box<str>),
}

impl RoutePath {
    /// Reads `/hooks/stripe` or `/hooks/*`.
    ///
    /// # Errors
    /// When it could match no request, or asks for a pattern.
    pub fn parse(text: &str) -> Result<Self, RoutePathError> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#');
        if !text.starts_with('/') || !text.bytes().all(plain) {
            return Err(RoutePathError::Shape);
        }
        let (path, is_prefix) = match text.strip_suffix('*') {
            Some(path) => (path, true),
            None => (text, false),
        };
        if path.contains('*') || (is_prefix && !path.ends_with('/')) {
            return Err(RoutePathError::Star);
        }
        Ok(if is_prefix { Self::Prefix(path.into()) } else { Self::Exact(path.into()) })
    }

    /// What goes on to the app of the path by which an event came to this route, which may have been called otherwise then:
    /// what follows a prefix, and nothing of an exact path. `None` where that cannot be told any more.
    #[must_use]
    pub fn suffix<'p>(&self, path: &'p str) -> Option<&'p str> {
        match self {
            Self::Exact(_) => Some(""),
            Self::Prefix(prefix) => path.strip_prefix(&**prefix),
        }
    }
}

/// As it is written in the config.
impl fmt::Display for RoutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(path) => f.write_str(path),
            Self::Prefix(path) => write!(f, "{path}*"),
        }
    }
}

/// Why a text is no address of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForwardToError {
    /// Nothing that could be connected to.
    #[error("must be an http or https URL, such as http://127.0.0.1:3000/webhooks")]
    Shape,
    /// The sender's query is appended as it came, and a password has no place in a config.
    #[error("must have no user, query or fragment")]
    Parts,
}

/// The address of an app: an absolute `http` or `https` URI with a host and a path, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardTo(Uri);

impl ForwardTo {
    /// Reads `http://127.0.0.1:3000/webhooks`.
    ///
    /// # Errors
    /// When it is no such URL.
    pub fn parse(text: &str) -> Result<Self, ForwardToError> {
        let uri: Uri = text.parse().map_err(|_| ForwardToError::Shape)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(ForwardToError::Shape);
        }
        if !is_bare(text, &uri) {
            return Err(ForwardToError::Parts);
        }
        match uri.host() {
            Some(host) if !host.is_empty() && has_sound_port(&uri) => Ok(Self(uri)),
            _ => Err(ForwardToError::Shape),
        }
    }

    /// The whole URI.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.0
    }

    /// The app's name: its host, and its port where that is not the scheme's own.
    #[must_use]
    pub fn app(&self) -> String {
        Target::from_uri(&self.0).map(|target| target.to_string()).unwrap_or_default()
    }

    /// Whether the app is reached through TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The app's own path, what follows the route's prefix, and the query, byte by byte; `None` where they make no URI.
    #[must_use]
    pub fn extended(&self, suffix: &str, query: Option<&str>) -> Option<Uri> {
        let (scheme, authority) = (self.0.scheme_str()?, self.0.authority()?);
        let mut text = format!("{scheme}://{authority}{}{suffix}", self.path());
        if let Some(query) = query {
            text.push('?');
            text.push_str(query);
        }
        text.parse().ok()
    }

    /// The path, at least `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.path()
    }
}

/// A port of 1 to 65535, or none. `Uri` takes any digits behind the colon and then says that there is no port.
fn has_sound_port(uri: &Uri) -> bool {
    match uri.port_u16() {
        Some(port) => port != 0,
        None => uri.authority().is_some_and(|authority| authority.as_str() == authority.host()),
    }
}

/// No user, query or fragment. `Uri` drops a fragment without a word, hence the look at the text.
pub(crate) fn is_bare(text: &str, uri: &Uri) -> bool {
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    !has_user && uri.query().is_none() && !text.contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_exact_or_a_prefix() {
        let exact = |path: &str| Ok(RoutePath::Exact(path.into()));
        let prefix = |path: &str| Ok(RoutePath::Prefix(path.into()));
        for (text, expected) in [
            ("/hooks/stripe", exact("/hooks/stripe")),
            ("/", exact("/")),
            ("/a%20b/", exact("/a%20b/")),
            ("/hooks/*", prefix("/hooks/")),
            ("/*", prefix("/")),
            ("", Err(RoutePathError::Shape)),
            ("hooks", Err(RoutePathError::Shape)),
            ("/a b", Err(RoutePathError::Shape)),
            ("/a?b", Err(RoutePathError::Shape)),
            ("/é", Err(RoutePathError::Shape)),
            ("/hooks*", Err(RoutePathError::Star)),
            ("/*/a", Err(RoutePathError::Star)),
            ("/*/*", Err(RoutePathError::Star)),
        ] {
            let path = RoutePath::parse(text);
            assert_eq!(path, expected, "{text:?}");
            assert!(path.is_err() || path.is_ok_and(|path| path.to_string() == text));
        }
    }

    #[test]
    fn what_follows_a_prefix_goes_on_to_the_app() {
        for (route, path, suffix) in [
            ("/hooks/a", "/hooks/a", Some("")),
            ("/hooks/a", "/hooks/b", Some("")),
            ("/hooks/*", "/hooks/a%2Fb//c", Some("a%2Fb//c")),
            ("/hooks/*", "/hooks/", Some("")),
            ("/hooks/*", "/hooks", None),
        ] {
            assert_eq!(RoutePath::parse(route).expect("a path").suffix(path), suffix, "{route} {path}");
        }
    }

    #[test]
    fn an_app_is_an_http_or_https_url_and_nothing_more() {
        for (text, error) in [
            ("http://127.0.0.1:3000/webhooks/stripe", None),
            ("http://app.internal", None),
            ("http://[::1]:3000/", None),
            ("https://app.internal/", None),
            ("HTTPS://app.internal:8443/in", None),
            ("ftp://app.internal/", Some(ForwardToError::Shape)),
            ("/hook", Some(ForwardToError::Shape)),
            ("127.0.0.1:3000", Some(ForwardToError::Shape)),
            ("http://", Some(ForwardToError::Shape)),
            ("http://a:0/", Some(ForwardToError::Shape)),
            ("http://a:99999/", Some(ForwardToError::Shape)),
            ("http://a:/", Some(ForwardToError::Shape)),
            ("http://[::1]:65536/", Some(ForwardToError::Shape)),
            ("http://[::1]/", None),
            ("http://[::1]:65535/", None),
            ("http://me:pw@a/", Some(ForwardToError::Parts)),
            ("http://a/?b=c", Some(ForwardToError::Parts)),
            ("http://a/#b", Some(ForwardToError::Parts)),
        ] {
            assert_eq!(ForwardTo::parse(text).err(), error, "{text:?}");
        }
        assert_eq!(ForwardTo::parse("http://a").expect("an app").path(), "/");
    }
}
