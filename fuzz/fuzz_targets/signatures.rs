//! Headers, targets and bodies against every scheme: nothing that a stranger sends ends the process, and no body passes
//! under the signature of another one.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use onced::provider::{Profiles, Request, Secret, Terms, Tolerance, UnixSeconds, Verification, Verifier};
use onced_fuzz::Sent;
use serde::Deserialize;

/// The part of a published vector that decides how it is verified.
#[derive(Deserialize)]
struct Vector {
    profile: String,
    secret: String,
    #[serde(default = "root")]
    target: String,
    public_url: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    now: i64,
}

fn root() -> String {
    "/".to_owned()
}

struct Case {
    vector: Vector,
    verifier: Verifier,
    signs_body: bool,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let profiles = Profiles::built_in();
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../../tests/data/vectors.json")).expect("vectors");
    let case = |vector: Vector| {
        let profile = profiles.find(&vector.profile)?;
        let secrets = &[Secret::from_bytes("the secret", vector.secret.as_bytes()).ok()?];
        let (public_url, parameters) = (vector.public_url.as_deref(), vector.parameters.clone());
        let terms = Terms { secrets, tolerance: Some(Tolerance::Off), public_url, parameters };
        let verifier = Verifier::new(profile, &terms).ok()?;
        Some(Case { signs_body: profile.signature.covers_body(), vector, verifier })
    };
    vectors.into_iter().filter_map(case).collect()
});

fuzz_target!(|input: &[u8]| {
    let Some(sent) = Sent::read(input) else { return };
    let case = &CASES[sent.choice % CASES.len()];
    let method = http::Method::POST;
    let passes = |body: &[u8]| {
        let request = Request::new(&sent.headers, body).at(&method, &case.vector.target);
        matches!(case.verifier.verify(&request, UnixSeconds(case.vector.now)), Verification::Verified { .. })
    };
    if passes(sent.body) && case.signs_body {
        let mut other = sent.body.to_vec();
        other.push(b'!');
        assert!(!passes(&other), "a longer body passes under the same signature");
    }
});
