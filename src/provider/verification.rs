//! The answer to "is this request the sender's?", and the one type that gives it.

use super::hmac::{HmacVerifier, Proof};
use super::{Header, MAX_LIST_ENTRIES, Profile, Request, Secret, SecretError, Signature, Tolerance, UnixSeconds};
use std::fmt;

/// Secrets that one route may accept at a time. Every one costs a hash of the whole body for a forged request; a
/// rotation needs two, an endpoint shared by test and live mode four.
pub const MAX_SECRETS: usize = 16;

/// A profile's signature with its secrets decoded and its tolerance settled. Made at load, where it may fail; after that
/// a request only has answers.
#[derive(Debug, Clone)]
pub struct Verifier {
    scheme: Scheme,
    tolerance: Tolerance,
}

#[derive(Debug, Clone)]
enum Scheme {
    Hmac(HmacVerifier),
}

/// What a request proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification<'v> {
    /// It is the sender's.
    Verified {
        /// The label of the secret that matched.
        secret: &'v str,
        /// Our clock minus the sender's stamp, for senders that have one.
        skew_seconds: Option<i64>,
    },
    /// It is the sender's, but its stamp is too far from our clock, in either direction. That is no forgery: either it
    /// was held back (perhaps by someone who recorded it) or a clock is wrong, perhaps ours.
    Stale {
        /// The label of the secret that matched.
        secret: &'v str,
        /// Our clock minus the sender's stamp: negative where the stamp is ahead of us.
        skew_seconds: i64,
    },
    /// It is not shown to be the sender's.
    Rejected(Rejection),
}

/// Which check failed. For logs: the sender is told the same in every case, or it could feel its way along the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// A header that the scheme needs is absent.
    MissingHeader(Header),
    /// Such a header came more than once.
    DuplicateHeader(Header),
    /// The signature header holds nothing that could be a digest.
    MalformedSignature,
    /// The header's list has no entry with the name that the profile asks for; a forger's own choice of scheme.
    NoSignatureOfScheme,
    /// More than [`MAX_LIST_ENTRIES`] entries.
    TooManySignatures,
    /// The header's list has no timestamp.
    MissingTimestamp,
    /// The header's list has two timestamps.
    RepeatedTimestamp,
    /// The timestamp is not made of digits alone, or is beyond 64 bits.
    MalformedTimestamp,
    /// All is well formed, and no secret made any of the digests.
    NoMatch,
}

/// A verifier cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    /// No secret at all: everything would be refused, and that is never meant.
    #[error("no secret is given")]
    NoSecret,
    /// More than [`MAX_SECRETS`].
    #[error("{0} secrets are given; the limit is {MAX_SECRETS}")]
    TooManySecrets(usize),
    /// A secret is not of the form that the profile asks for.
    #[error("a secret does not suit the provider")]
    Secret(#[from] SecretError),
    /// A tolerance for a sender without timestamps: it would promise a check that cannot be made.
    #[error("a tolerance is set, but this provider signs no timestamp")]
    NoTimestamp,
    /// A sender that signs nothing.
    #[error("this provider signs nothing: verify = \"none\" must say that anyone is believed")]
    NoSignature,
}

impl Verifier {
    /// Brings a profile and its secrets together. `tolerance` is the operator's, if one is set; else the profile's holds
    /// ([`Timestamp::default_tolerance`](super::Timestamp::default_tolerance)).
    pub fn new(profile: &Profile, secrets: &[Secret], tolerance: Option<Tolerance>) -> Result<Self, VerifierError> {
        match secrets.len() {
            0 => return Err(VerifierError::NoSecret),
            1..=MAX_SECRETS => {}
            many => return Err(VerifierError::TooManySecrets(many)),
        }
        let timestamp = profile.signature.timestamp();
        let tolerance = match (timestamp, tolerance) {
            (None, Some(Tolerance::Seconds(_))) => return Err(VerifierError::NoTimestamp),
            (None, None | Some(Tolerance::Off)) => Tolerance::Off,
            (Some(_), Some(set)) => set,
            (Some(timestamp), None) => timestamp.default_tolerance(),
        };
        Ok(Self { scheme: Scheme::new(&profile.signature, secrets)?, tolerance })
    }

    /// The tolerance in force.
    pub fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    /// Judges a request at the time `now`. Linear in the size of headers and body, whatever they contain.
    pub fn verify(&self, request: &Request<'_>, now: UnixSeconds) -> Verification<'_> {
        let proof = match &self.scheme {
            Scheme::Hmac(hmac) => hmac.prove(request),
        };
        let Proof { secret, stamp } = match proof {
            Ok(proof) => proof,
            Err(rejection) => return Verification::Rejected(rejection),
        };
        match stamp.map(|stamp| now.skew_seconds(stamp)) {
            Some(skew_seconds) if !self.tolerance.admits(skew_seconds) => Verification::Stale { secret, skew_seconds },
            skew_seconds => Verification::Verified { secret, skew_seconds },
        }
    }
}

impl Scheme {
    fn new(signature: &Signature, secrets: &[Secret]) -> Result<Self, VerifierError> {
        match signature {
            Signature::Hmac(recipe) => {
                let mut verifier = HmacVerifier::new(recipe.clone());
                for secret in secrets {
                    let refused = |fault| SecretError { label: secret.label().to_owned(), fault };
                    verifier.accept(secret).map_err(refused)?;
                }
                Ok(Self::Hmac(verifier))
            }
            _ => Err(VerifierError::NoSignature),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingHeader(header) => write!(f, "header {header} is missing"),
            Self::DuplicateHeader(header) => write!(f, "header {header} came more than once"),
            Self::MalformedSignature => f.write_str("the signature is malformed"),
            Self::NoSignatureOfScheme => f.write_str("no signature of the expected scheme"),
            Self::TooManySignatures => write!(f, "more than {MAX_LIST_ENTRIES} entries in the signature header"),
            Self::MissingTimestamp => f.write_str("the timestamp is missing"),
            Self::RepeatedTimestamp => f.write_str("the timestamp came more than once"),
            Self::MalformedTimestamp => f.write_str("the timestamp is malformed"),
            Self::NoMatch => f.write_str("no secret made this signature"),
        }
    }
}
