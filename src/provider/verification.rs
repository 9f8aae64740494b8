//! The answer to "is this request the sender's?", and the one type that gives it.

use super::described::{DescribedVerifier, Proof};
use super::hmac::Mac;
use super::jwt::JwtVerifier;
use super::keys::{Check, Key};
use super::public_key::{Kind, PublicKey};
use super::shared_secret::SharedSecretVerifier;
use super::{Basic, Profile, Rejection, Request, Secret, SecretError, Signature, Tolerance, UnixSeconds};
use std::collections::BTreeMap;
use std::slice;

/// Secrets that one route may accept at a time. Every one costs a hash of the whole body for a forged request; a
/// rotation needs two, an endpoint shared by test and live mode four.
pub const MAX_SECRETS: usize = 16;

/// How long after its end, and before its beginning, a token still counts, whatever the tolerance: that one is about retries,
/// which may carry the stamp of the first attempt, while this one is for clocks alone.
const MAX_LEEWAY_SECONDS: u64 = 300;

/// A profile's signature with its secrets decoded and its tolerance settled. Made at load, where it may fail; after that
/// a request only has answers.
#[derive(Debug, Clone)]
pub struct Verifier {
    scheme: Scheme,
    tolerance: Tolerance,
}

/// What a route brings to its profile.
#[derive(Debug, Clone, Default)]
pub struct Terms<'t> {
    /// The secrets, of which any may match.
    pub secrets: &'t [Secret],
    /// The operator's tolerance, if one is set; else the profile's holds
    /// ([`Timestamp::default_tolerance`](super::Timestamp::default_tolerance)).
    pub tolerance: Option<Tolerance>,
    /// The URL that the sender knows us by, without a closing `/`: the target is appended to it.
    pub public_url: Option<&'t str>,
    /// Texts that some senders sign and nobody sends, such as the id of the hook.
    pub parameters: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "the large one is the common one, and there is one per route")]
enum Scheme {
    Described(DescribedVerifier),
    Jwt(JwtVerifier),
    SharedSecret(SharedSecretVerifier),
}

/// What a request proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification<'v> {
    /// It is the sender's.
    Verified {
        /// The label of the secret that matched.
        secret: &'v str,
        /// Which of the secrets that is, for [`Verifier::mac`]: labels need not differ.
        index: usize,
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
    /// A sender that proves nothing.
    #[error("this provider signs nothing: verify = \"none\" must say that anyone is believed")]
    NoSignature,
    /// The sender signs the URL, and it is not known.
    #[error("this provider signs the URL, and public_url is not set")]
    NoPublicUrl,
    /// The sender signs a text that was not given.
    #[error("this provider signs the parameter {0}, and it is not set")]
    MissingParameter(String),
    /// A text was given that the sender does not sign: it would look like a part of the check.
    #[error("the parameter {0} is not one of this provider")]
    UnknownParameter(String),
}

impl Verifier {
    /// Brings a profile and what a route says together.
    pub fn new(profile: &Profile, terms: &Terms<'_>) -> Result<Self, VerifierError> {
        let signature = &profile.signature;
        match terms.secrets.len() {
            _ if *signature == Signature::None => return Err(VerifierError::NoSignature),
            0 => return Err(VerifierError::NoSecret),
            1..=MAX_SECRETS => {}
            many => return Err(VerifierError::TooManySecrets(many)),
        }
        terms.check(signature)?;
        let tolerance = match (signature.timestamp(), terms.tolerance) {
            (None, Some(Tolerance::Seconds(_))) => return Err(VerifierError::NoTimestamp),
            (None, None | Some(Tolerance::Off)) => Tolerance::Off,
            (Some(_), Some(set)) => set,
            (Some(timestamp), None) => timestamp.default_tolerance(),
        };
        let scheme = Scheme::new(signature, terms)?.ok_or(VerifierError::NoSignature)?;
        Ok(Self { scheme, tolerance })
    }

    /// Whether a secret suits a profile, apart from all else that a route says: so that a fault can be told where the
    /// secret was named.
    pub fn try_secret(profile: &Profile, secret: &Secret) -> Result<(), SecretError> {
        let terms = Terms { secrets: slice::from_ref(secret), ..Terms::default() };
        Scheme::new(&profile.signature, &terms).map(|_| ())
    }

    /// The tolerance in force.
    pub fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    /// Judges a request at the time `now`. Linear in the size of headers and body, whatever they contain.
    pub fn verify(&self, request: &Request<'_>, now: UnixSeconds) -> Verification<'_> {
        let proof = match &self.scheme {
            Scheme::Described(described) => described.prove(request),
            Scheme::Jwt(jwt) => jwt.prove(request),
            Scheme::SharedSecret(shared) => shared.prove(request),
        };
        let Proof { secret, index, stamp, validity } = match proof {
            Ok(proof) => proof,
            Err(rejection) => return Verification::Rejected(rejection),
        };
        let leeway_seconds = match self.tolerance {
            Tolerance::Off => MAX_LEEWAY_SECONDS,
            Tolerance::Seconds(bound) => bound.min(MAX_LEEWAY_SECONDS),
        };
        let skew = stamp.map(|stamp| now.skew_seconds(stamp));
        match (skew.filter(|skew| !self.tolerance.admits(*skew)), validity.outside(now, leeway_seconds)) {
            (Some(skew_seconds), _) | (None, Some(skew_seconds)) => Verification::Stale { secret, skew_seconds },
            (None, None) => Verification::Verified { secret, index, skew_seconds: skew },
        }
    }

    /// The HMAC of a text with the secret of this index, under the scheme's hash function: what a sender asks for to see
    /// that we have it. `None` where the scheme has no such key.
    pub fn mac(&self, index: usize, text: &[u8]) -> Option<Vec<u8>> {
        match &self.scheme {
            Scheme::Described(described) => match &described.keys.get(index)?.check {
                Check::Mac(mac) => Some(mac.digest(&[text])),
                Check::Hash { .. } | Check::Public(_) => None,
            },
            Scheme::Jwt(_) | Scheme::SharedSecret(_) => None,
        }
    }
}

impl Terms<'_> {
    /// Whether the URL and the parameters are those that the signature needs.
    fn check(&self, signature: &Signature) -> Result<(), VerifierError> {
        if signature.needs_public_url() && self.public_url.is_none() {
            return Err(VerifierError::NoPublicUrl);
        }
        if let Some(missing) = signature.parameters().find(|name| !self.parameters.contains_key(*name)) {
            return Err(VerifierError::MissingParameter(missing.to_owned()));
        }
        match self.parameters.keys().find(|name| !signature.parameters().any(|signed| signed == *name)) {
            Some(unknown) => Err(VerifierError::UnknownParameter(unknown.clone())),
            None => Ok(()),
        }
    }
}

impl Scheme {
    /// `None` for a sender that proves nothing.
    fn new(signature: &Signature, terms: &Terms<'_>) -> Result<Option<Self>, SecretError> {
        let secrets = terms.secrets;
        let public = |kind| Key::all(secrets, |secret| PublicKey::read(secret, kind).map(Check::Public));
        let described = match signature {
            Signature::Hmac(hmac) => {
                let mac = |secret: &Secret| Ok(Check::Mac(Mac::new(hmac.algorithm, &hmac.key.decode(secret)?)));
                let described = DescribedVerifier::new(&hmac.carrier, &hmac.message, Key::all(secrets, mac)?, terms);
                DescribedVerifier { items: hmac.items.clone(), ..described }
            }
            Signature::Hash(hash) => {
                let algorithm = hash.algorithm;
                let check = |secret: &Secret| Ok(Check::Hash { algorithm, secret: secret.text().to_owned() });
                DescribedVerifier::new(&hash.carrier, &hash.message, Key::all(secrets, check)?, terms)
            }
            Signature::Ed25519(it) => DescribedVerifier::new(&it.carrier, &it.message, public(Kind::Ed25519)?, terms),
            Signature::EcdsaP256(it) => {
                let kind = Kind::EcdsaP256 { fixed: it.fixed };
                DescribedVerifier::new(&it.carrier, &it.message, public(kind)?, terms)
            }
            Signature::Rsa(rsa) => {
                let described = DescribedVerifier::new(&rsa.carrier, &rsa.message, public(Kind::Rsa)?, terms);
                DescribedVerifier { rsa: rsa.hash.clone(), ..described }
            }
            Signature::Jwt(jwt) => {
                let keys = Key::all(secrets, |secret| jwt.algorithm.key(secret))?;
                return Ok(Some(Self::Jwt(JwtVerifier { jwt: jwt.clone(), keys })));
            }
            Signature::Token(token) => {
                return Ok(Some(Self::SharedSecret(SharedSecretVerifier::token(token, secrets))));
            }
            Signature::Basic(Basic {}) => return Ok(Some(Self::SharedSecret(SharedSecretVerifier::basic(secrets)?))),
            Signature::None => return Ok(None),
        };
        Ok(Some(Self::Described(described)))
    }
}
