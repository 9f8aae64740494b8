//! The tables. One file per question that the module answers.

#![allow(clippy::unwrap_used, reason = "a test whose set-up fails has failed")]

mod handshakes;
mod hostile;
mod identity;
mod keys;
mod lifetimes;
mod profiles;
mod public_keys;
mod schema;
mod secrets;
mod signatures;
mod terms;
mod timestamps;

use super::{Profile, Profiles, Request, Secret, Terms, Tolerance, UnixSeconds, Verification, Verifier, VerifierError};
use hmac::{KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;

/// The moment at which tests happen.
const NOW: i64 = 1_700_000_000;
const BODY: &[u8] = br#"{"id":"evt_1"}"#;
const SECRET: &str = "whsec_c2l4dGVlbi1ieXRlcy1vci1zbw==";

fn built_in(name: &str) -> Profile {
    Profiles::built_in().find(name).unwrap().clone()
}

/// A sender with this signature, which says of it what it must: `signs_body = false` where that is so.
fn signing_with(signature: &str) -> Profile {
    let read = |signs_body: &str| {
        let rest = "title = \"P\"\nretry = { automatic = \"never\", manual = \"never\" }";
        toml::from_str(&format!("{rest}\n{signs_body}\nsignature = {signature}"))
    };
    match read("") {
        Err(error) if error.to_string().contains("signs_body = false") => read("signs_body = false"),
        profile => profile,
    }
    .unwrap_or_else(|error| panic!("{signature}: {error}"))
}

fn secret(text: &str) -> Secret {
    Secret::from_bytes(format!("secret {text}"), text.as_bytes()).unwrap()
}

fn verifier(provider: &str, tolerance: Option<Tolerance>) -> Verifier {
    with_secrets(&built_in(provider), &[secret(SECRET)], tolerance).unwrap()
}

fn with_secrets(
    profile: &Profile,
    secrets: &[Secret],
    tolerance: Option<Tolerance>,
) -> Result<Verifier, VerifierError> {
    Verifier::new(profile, &Terms { secrets, tolerance, ..Terms::default() })
}

fn lines<V: AsRef<[u8]>>(lines: &[(&str, V)]) -> HeaderMap {
    let line = |(name, value): &(&str, V)| {
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_ref()).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(line) {
        headers.append(name, value);
    }
    headers
}

/// HMAC-SHA256, computed apart from the code under test.
fn mac(key: &[u8], signed: &[u8]) -> Vec<u8> {
    let mut mac = hmac::Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(signed);
    mac.finalize().into_bytes().to_vec()
}

/// Stripe's digest over a timestamp's literal text.
fn stripe_digest(secret: &str, stamp: &str) -> String {
    hex::encode(mac(secret.as_bytes(), &[stamp.as_bytes(), b".", BODY].concat()))
}

/// What a Stripe request with this header comes to at [`NOW`]; `Err` holds the reason in words.
fn judge_stripe(verifier: &Verifier, header: impl AsRef<[u8]>) -> Result<(), String> {
    verdict(verifier, &lines(&[("stripe-signature", header)]))
}

fn verdict(verifier: &Verifier, headers: &HeaderMap) -> Result<(), String> {
    match verifier.verify(&Request::new(headers, BODY), UnixSeconds(NOW)) {
        Verification::Verified { .. } => Ok(()),
        Verification::Stale { skew_seconds, .. } => Err(format!("stale by {skew_seconds}")),
        Verification::Rejected(rejection) => Err(rejection.to_string()),
    }
}
