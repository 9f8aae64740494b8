//! What can be set about the control API: where it listens and who may call.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use subtle::ConstantTimeEq as _;

use crate::claim::Namespace;
use crate::server::TlsFiles;

/// The shortest bearer token: 22 characters of base64 are 132 bits. Unlike a claim's token it lives for years and may be
/// tried from beyond this machine, so nothing that a person could remember is taken.
pub const MIN_BEARER_BYTES: usize = 22;
/// The longest bearer token: room for anything that a secret store makes up, and well inside one header line.
const MAX_BEARER_BYTES: usize = 512;

/// What the audit list calls whoever calls over the Unix socket; no token has this name.
pub const SOCKET: &str = "socket";
/// What it calls whoever calls on loopback without a token; no token has this name.
pub const LOOPBACK: &str = "loopback";

/// The settings of `[api]`.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// The TCP addresses; none when empty. One beyond loopback implies `tls` and at least one token.
    pub listen: Vec<SocketAddr>,
    /// The Unix socket, if there is to be one.
    pub socket: Option<PathBuf>,
    /// What TCP callers on loopback may do without a token; `None` is nothing.
    pub loopback: Option<Scope>,
    /// Who may call with `Authorization: Bearer`. No two have the same name or the same token.
    pub tokens: Vec<TokenSettings>,
    /// TLS on every TCP address.
    pub tls: Option<TlsFiles>,
}

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The verbs, and reading one claim.
    Claim,
    /// The same, and lists and forget.
    Operate,
}

/// One caller of the API.
#[derive(Debug, Clone)]
pub struct TokenSettings {
    /// Its name, where the config is spoken of and in the audit list.
    pub name: Box<str>,
    /// What it proves itself with.
    pub token: BearerToken,
    /// The namespaces that it may see and touch; `None` is all.
    pub namespaces: Option<Vec<Namespace>>,
    /// What it may do there.
    pub scope: Scope,
}

/// Why a text is no bearer token. The text itself is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be {MIN_BEARER_BYTES} to {MAX_BEARER_BYTES} visible ASCII characters")]
pub struct BearerTokenError;

/// The text after `Bearer`. Printed never, compared in constant time.
#[derive(Clone)]
pub struct BearerToken(Box<str>);

impl BearerToken {
    /// Takes a token that can stand in a header as it is.
    ///
    /// # Errors
    /// When it is too short, too long, or has a character that is no visible ASCII.
    pub fn parse(text: &str) -> Result<Self, BearerTokenError> {
        let fits = (MIN_BEARER_BYTES..=MAX_BEARER_BYTES).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err(BearerTokenError)
        }
    }

    /// Whether a caller's text is this token. Takes as long for a near miss as for any other of its length.
    #[must_use]
    pub fn is(&self, text: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(text).into()
    }
}

impl PartialEq for BearerToken {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.0.as_bytes())
    }
}

impl Eq for BearerToken {}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_has_bounds_and_an_alphabet() {
        for (text, good) in [
            ("x".repeat(21), false),
            ("x".repeat(22), true),
            ("x".repeat(512), true),
            ("x".repeat(513), false),
            (" ".repeat(22), false),
            ("é".repeat(22), false),
        ] {
            assert_eq!(BearerToken::parse(&text).is_ok(), good, "{text:?}");
        }
    }

    #[test]
    fn a_bearer_token_is_compared_and_never_printed() {
        let token = BearerToken::parse(&"s3cret".repeat(5)).expect("30 visible characters");
        assert!(token.is("s3cret".repeat(5).as_bytes()));
        assert!(!token.is("s3cret".repeat(4).as_bytes()) && !token.is(b""));
        assert!(!format!("{token:?}").contains("s3cret"));
    }
}
