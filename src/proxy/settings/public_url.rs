//! The URL that providers know us by.

use http::Uri;

use crate::app::is_bare;

/// Why a text is no public URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an http or https URL without user, query and fragment, such as https://hooks.example.com")]
pub struct PublicUrlError;

/// The URL that providers know us by, without a closing `/`: path and query of a request are appended to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(Box<str>);

impl PublicUrl {
    /// Takes the URL as it was registered; no letter of it is changed, since signatures cover them.
    ///
    /// # Errors
    /// When it is no absolute URL, or has parts that a path could not follow.
    pub fn parse(text: &str) -> Result<Self, PublicUrlError> {
        let uri: Uri = text.parse().map_err(|_| PublicUrlError)?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        if !web || !is_bare(text, &uri) {
            return Err(PublicUrlError);
        }
        Ok(Self(text.trim_end_matches('/').into()))
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_url_keeps_its_letters() {
        for (text, expected) in [
            ("https://hooks.example.com", Some("https://hooks.example.com")),
            ("https://Hooks.example.com/in/", Some("https://Hooks.example.com/in")),
            ("hooks.example.com", None),
            ("https://hooks.example.com/?a", None),
            ("https://hooks.example.com/#a", None),
        ] {
            let url = PublicUrl::parse(text).ok();
            assert_eq!(url.as_ref().map(PublicUrl::as_str), expected, "{text:?}");
        }
    }
}
