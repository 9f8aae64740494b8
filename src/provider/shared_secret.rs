//! The schemes in which the secret itself comes with every request: a token in a header, and HTTP Basic.
//!
//! They prove that the sender knows the secret and nothing about the body: whoever sees one request can send any other.

use super::Header;
use serde::Deserialize;

/// The parameters of the scheme, the table `[signature.token]` of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The header that carries the token.
    pub header: Header,
    /// What stands before it, such as `Bearer ` with its blank; compared byte for byte.
    #[serde(default)]
    pub prefix: String,
}

/// The scheme of RFC 7617, the table `[signature.basic]` of a profile. The secret is `user:password`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basic {}
