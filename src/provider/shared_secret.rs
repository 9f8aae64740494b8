//! The schemes in which the secret itself comes with every request: a token in a header, and HTTP Basic.
//!
//! They prove that the sender knows the secret and nothing about the body: whoever sees one request can send any other.

use super::described::{Proof, Validity};
use super::pieces::one;
use super::{Encoding, Header, Rejection, Request, Secret, SecretError, SecretFault};
use http::header::AUTHORIZATION;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq as _;

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

/// One of the two schemes with what is expected.
#[derive(Debug, Clone)]
pub(super) struct SharedSecretVerifier {
    way: Way,
    expected: Vec<Expected>,
}

#[derive(Debug, Clone)]
enum Way {
    Token(Token),
    Basic,
}

/// The hash of a secret: comparing hashes tells nothing of the secret's length, and no copy of it is kept.
#[derive(Clone)]
struct Expected {
    label: String,
    hash: [u8; 32],
}

impl SharedSecretVerifier {
    pub(super) fn token(token: &Token, secrets: &[Secret]) -> Self {
        Self { way: Way::Token(token.clone()), expected: secrets.iter().map(Expected::new).collect() }
    }

    pub(super) fn basic(secrets: &[Secret]) -> Result<Self, SecretError> {
        match secrets.iter().find(|secret| !secret.text().contains(':')) {
            Some(secret) => Err(SecretError { label: secret.label().to_owned(), fault: SecretFault::NoUser }),
            None => Ok(Self { way: Way::Basic, expected: secrets.iter().map(Expected::new).collect() }),
        }
    }

    pub(super) fn prove(&self, request: &Request<'_>) -> Result<Proof<'_>, Rejection> {
        let presented: [u8; 32] = match &self.way {
            Way::Token(token) => {
                let value = one(request.headers, &token.header)?;
                Sha256::digest(value.strip_prefix(token.prefix.as_bytes()).ok_or(Rejection::NoMatch)?).into()
            }
            Way::Basic => Sha256::digest(credentials(request)?).into(),
        };
        let found = self.expected.iter().enumerate().find(|(_, expected)| expected.hash.ct_eq(&presented).into());
        let (index, Expected { label, .. }) = found.ok_or(Rejection::NoMatch)?;
        Ok(Proof { secret: label, index, stamp: None, validity: Validity::default() })
    }
}

/// `user:password` (RFC 7617, section 2). The scheme's name is compared without regard to case, as RFC 9110 wants it.
fn credentials(request: &Request<'_>) -> Result<Vec<u8>, Rejection> {
    const SCHEME: &[u8] = b"Basic ";
    let value = one(request.headers, &Header::from(AUTHORIZATION))?;
    let (scheme, rest) = value.split_at_checked(SCHEME.len()).ok_or(Rejection::MalformedCredentials)?;
    match scheme.eq_ignore_ascii_case(SCHEME) {
        true => Encoding::Base64.decode(rest.trim_ascii()).ok_or(Rejection::MalformedCredentials),
        false => Err(Rejection::MalformedCredentials),
    }
}

impl Expected {
    fn new(secret: &Secret) -> Self {
        Self { label: secret.label().to_owned(), hash: Sha256::digest(secret.text()).into() }
    }
}

/// The label alone: a password can be guessed from its hash.
impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("label", &self.label).finish_non_exhaustive()
    }
}
