//! Which signatures hold. Hostile input is the normal case on a public port: all of it ends in a value.

use super::*;
use crate::provider::{MAX_LIST_ENTRIES, MAX_SECRETS};
use std::collections::HashMap;

const MALFORMED: &str = "the signature is malformed";
const NO_SCHEME: &str = "no signature of the expected scheme";
const NO_MATCH: &str = "no secret made this signature";

fn judge_github(header: impl AsRef<[u8]>) -> Result<(), String> {
    verdict(&verifier("github", None), &lines(&[("x-hub-signature-256", header)]))
}

fn standard_digest() -> String {
    let signed = [b"msg_1.1700000000.", BODY].concat();
    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, mac(b"sixteen-bytes-or-so", &signed))
}

fn judge_standard(signature: impl AsRef<[u8]>) -> Result<(), String> {
    let rest = [("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000")];
    let mut headers = lines(&rest);
    headers.insert("webhook-signature", HeaderValue::from_bytes(signature.as_ref()).unwrap());
    verdict(&verifier("standard-webhooks", None), &headers)
}

#[test]
fn a_malformed_digest_is_rejected_and_never_an_error() {
    let right = hex::encode(mac(SECRET.as_bytes(), BODY));
    let rows: [(Vec<u8>, Result<(), &str>); 16] = [
        (format!("sha256={right}").into(), Ok(())),
        (format!("sha256={}", right.to_uppercase()).into(), Ok(())),
        ("".into(), Err(MALFORMED)),
        (" ".into(), Err(MALFORMED)),
        ("sha256=".into(), Err(MALFORMED)),
        (format!("sha256={}", &right[..63]).into(), Err(MALFORMED)),
        (format!("sha256={right}0").into(), Err(MALFORMED)),
        (format!("sha256={}", &right[..62]).into(), Err(NO_MATCH)),
        (format!("sha256={right}00").into(), Err(NO_MATCH)),
        (format!("sha256={}zz", &right[..62]).into(), Err(MALFORMED)),
        ("a".repeat(8192).into(), Err(MALFORMED)),
        (format!("sha256={}", "a".repeat(8192)).into(), Err(NO_MATCH)),
        (b"sha256=\xff\xfe\x80".into(), Err(MALFORMED)),
        (right.clone().into(), Err(MALFORMED)),
        (format!("sha1={right}").into(), Err(MALFORMED)),
        (format!("SHA256={right}").into(), Err(MALFORMED)),
    ];
    for (header, expected) in rows {
        assert_eq!(judge_github(&header), expected.map_err(str::to_owned), "{}", header.escape_ascii());
    }
}

#[test]
fn the_same_holds_in_lists() {
    let (hex, base64) = (stripe_digest(SECRET, "1700000000"), standard_digest());
    let bare = base64.trim_end_matches('=');
    let rows = [
        (judge_stripe(&verifier("stripe", None), ""), Err(NO_SCHEME)),
        (judge_stripe(&verifier("stripe", None), "t=1700000000,v1="), Err(MALFORMED)),
        (judge_stripe(&verifier("stripe", None), format!("t=1700000000,v1={}", hex.to_uppercase())), Ok(())),
        (judge_stripe(&verifier("stripe", None), format!("t=1700000000,v0={hex}")), Err(NO_SCHEME)),
        (judge_stripe(&verifier("stripe", None), format!("t=1700000000,V1={hex}")), Err(NO_SCHEME)),
        (judge_stripe(&verifier("stripe", None), format!("t=1700000000,v1={hex}0")), Err(MALFORMED)),
        (judge_stripe(&verifier("stripe", None), b"t=1700000000,v1=\xff"), Err(MALFORMED)),
        (judge_stripe(&verifier("stripe", None), format!("t=1700000001,v1={hex}")), Err(NO_MATCH)),
        (judge_standard(format!("v1,{base64}")), Ok(())),
        (judge_standard(format!("v1,{bare}")), Ok(())),
        (judge_standard(format!("v1,{base64}=")), Err(MALFORMED)),
        (judge_standard(format!("v1,{bare}A")), Err(NO_MATCH)),
        (judge_standard("v1,"), Err(MALFORMED)),
        (judge_standard(format!("v1a,{base64}")), Err(NO_SCHEME)),
        (judge_standard(b"v1,\xff\xfe"), Err(MALFORMED)),
    ];
    for (row, (outcome, expected)) in rows.into_iter().enumerate() {
        assert_eq!(outcome, expected.map_err(str::to_owned), "row {row}");
    }
}

/// During a rotation senders list old and new signatures; receivers that read one of them fail half of the time.
#[test]
fn any_entry_of_the_right_name_may_match() {
    let (good, base64) = (stripe_digest(SECRET, "1700000000"), standard_digest());
    let stripe = |header: String| judge_stripe(&verifier("stripe", None), header);
    let filler = |count: usize| vec![format!("v1={}", "00".repeat(32)); count].join(",");
    let rows = [
        (stripe(format!("t=1700000000,v1=bad,v1={good}")), Ok(())),
        (stripe(format!("t=1700000000,v0=x,v1={good}")), Ok(())),
        (stripe(format!("v1={good},t=1700000000")), Ok(())),
        (stripe(format!("t=1700000000, v1={good}")), Ok(())),
        (stripe(format!("t=1700000000,v1={good},{}", filler(2))), Ok(())),
        (stripe(format!("t=1700000000,,junk,v1={good}")), Ok(())),
        (stripe(format!("t=1700000000,{},v1={good}", filler(MAX_LIST_ENTRIES - 2))), Ok(())),
        (stripe(format!("t=1700000000,{},v1={good}", filler(MAX_LIST_ENTRIES - 1))), Err("more than 32 entries")),
        (stripe(format!("t=1700000000,{},v1={good}", filler(5_000))), Err("more than 32 entries")),
        (judge_standard(format!("v1,bad v1,{base64}")), Ok(())),
        (judge_standard(format!("v1a,zzz v1,{base64}")), Ok(())),
        (judge_standard(format!("v2,{base64}")), Err(NO_SCHEME)),
    ];
    for (row, (outcome, expected)) in rows.into_iter().enumerate() {
        match (outcome, expected) {
            (Ok(()), Ok(())) => {}
            (Err(reason), Err(beginning)) => assert!(reason.starts_with(beginning), "row {row}: {reason}"),
            (outcome, expected) => panic!("row {row}: {outcome:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn no_neighbour_of_a_right_digest_is_accepted() {
    let right = mac(SECRET.as_bytes(), BODY);
    let verifier = verifier("github", None);
    for position in 0..right.len() {
        for bit in 0..8 {
            let mut digest = right.clone();
            digest[position] ^= 1 << bit;
            let headers = lines(&[("x-hub-signature-256", format!("sha256={}", hex::encode(digest)))]);
            assert_eq!(verdict(&verifier, &headers), Err(NO_MATCH.to_owned()), "byte {position}, bit {bit}");
        }
    }
}

#[test]
fn a_header_that_authentication_needs_must_come_exactly_once() {
    let signature = format!("v1,{}", standard_digest());
    let all = [("webhook-id", "msg_1"), ("webhook-timestamp", "1700000000"), ("webhook-signature", &signature)];
    let verifier = verifier("standard-webhooks", None);
    assert_eq!(verdict(&verifier, &lines(&all)), Ok(()));
    for (position, (name, _)) in all.iter().enumerate() {
        let mut without = all.to_vec();
        without.remove(position);
        assert_eq!(verdict(&verifier, &lines(&without)), Err(format!("header {name} is missing")));
        let mut twice = all.to_vec();
        twice.push(all[position]);
        assert_eq!(verdict(&verifier, &lines(&twice)), Err(format!("header {name} came more than once")));
    }
}

/// Test and live mode behind one URL, or an old secret beside the new one.
#[test]
fn any_of_several_secrets_matches_and_is_named() {
    let secrets = [secret("one"), secret("two")];
    let verifier = with_secrets(&built_in("github"), &secrets, None).unwrap();
    for (key, expected) in [("one", Some("secret one")), ("two", Some("secret two")), ("three", None)] {
        let value = format!("sha256={}", hex::encode(mac(key.as_bytes(), BODY)));
        let headers = lines(&[("x-hub-signature-256", value)]);
        let matched = match verifier.verify(&Request::new(&headers, BODY), UnixSeconds(NOW)) {
            Verification::Verified { secret, skew_seconds: None, .. } => Some(secret),
            Verification::Verified { .. } | Verification::Stale { .. } | Verification::Rejected(_) => None,
        };
        assert_eq!(matched, expected, "{key}");
    }
}

#[test]
fn a_verifier_wants_one_to_sixteen_secrets_and_a_timestamp_for_its_tolerance() {
    let github = built_in("github");
    let make = |secrets: &[Secret], tolerance| with_secrets(&github, secrets, tolerance);
    assert!(matches!(make(&[], None), Err(VerifierError::NoSecret)));
    let many = vec![secret("x"); MAX_SECRETS + 1];
    assert!(matches!(make(&many, None), Err(VerifierError::TooManySecrets(17))));
    assert!(make(&many[1..], Some(Tolerance::Off)).is_ok());
    assert!(matches!(make(&many[1..], Some(Tolerance::Seconds(300))), Err(VerifierError::NoTimestamp)));
}

#[test]
fn random_headers_and_bodies_come_to_a_verdict() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let alphabet = b"tv01=,. sha256=;aF\xff\t\"{}[]:9-";
    let profiles = Profiles::built_in();
    // Those whose secrets are keys of another form are left out.
    let (secrets, off) = ([secret(SECRET)], Some(Tolerance::Off));
    let terms =
        Terms { secrets: &secrets, tolerance: off, public_url: Some("https://hooks.example"), ..Terms::default() };
    let made = |profile: &Profile| Verifier::new(profile, &terms).ok();
    let verifiers: HashMap<&str, Verifier> =
        profiles.iter().filter_map(|(name, profile)| Some((name, made(profile)?))).collect();
    assert!(verifiers.len() > 30);
    for _ in 0..3_000 {
        let mut noise =
            || (0..random.usize(..60)).map(|_| alphabet[random.usize(..alphabet.len())]).collect::<Vec<u8>>();
        let names = ["stripe-signature", "x-hub-signature-256", "webhook-signature", "webhook-id", "webhook-timestamp"];
        let headers = lines(&names.map(|name| (name, noise())));
        let body = noise();
        for (name, profile) in profiles.iter() {
            let request = Request::new(&headers, &body);
            let verdict = verifiers.get(name).map(|verifier| verifier.verify(&request, UnixSeconds(NOW)));
            assert!(matches!(verdict, None | Some(Verification::Rejected(_))), "{name}");
            if let Some(facts) = &profile.event_id {
                facts.source.find(&request);
            }
        }
    }
}
