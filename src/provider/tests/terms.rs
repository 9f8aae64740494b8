//! What a route must bring to its profile, and what it gets from the verifier beside verdicts.

use super::*;
use std::collections::BTreeMap;

const HMAC: &str = r#"algorithm = "sha256", header = "X", encoding = "hex", key = "text""#;

fn signing(signed_string: &str) -> Profile {
    signing_with(&format!(r#"{{ hmac = {{ {HMAC}, signed_string = "{signed_string}" }} }}"#))
}

fn parameters(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect()
}

#[test]
fn what_is_signed_and_not_sent_must_be_given_and_nothing_else() {
    let secrets = [secret("a")];
    let make = |profile: &Profile, public_url, names: &[&str]| {
        let terms = Terms { secrets: &secrets, public_url, parameters: parameters(names), ..Terms::default() };
        Verifier::new(profile, &terms).map(|_| ())
    };
    let url = Some("https://a.example");
    assert!(make(&signing("{url}{body}"), url, &[]).is_ok());
    assert!(make(&signing("{body}"), url, &[]).is_ok());
    assert!(make(&signing("{body}{parameter:hook}"), None, &["hook"]).is_ok());
    assert!(matches!(make(&signing("{url}{body}"), None, &[]), Err(VerifierError::NoPublicUrl)));
    let missing = make(&signing("{body}{parameter:hook}{parameter:x}"), None, &["hook"]);
    assert!(matches!(missing, Err(VerifierError::MissingParameter(name)) if name == "x"));
    assert!(make(&signing("{lines:A,B=hook}"), None, &["hook"]).is_ok());
    let missing = make(&signing("{lines:A,B=hook}"), None, &[]);
    assert!(matches!(missing, Err(VerifierError::MissingParameter(name)) if name == "hook"));
    let unknown = make(&signing("{body}"), None, &["hook"]);
    assert!(matches!(unknown, Err(VerifierError::UnknownParameter(name)) if name == "hook"));
    assert!(matches!(make(&signing_with("\"none\""), None, &[]), Err(VerifierError::NoSignature)));
}

#[test]
fn a_url_and_parameters_are_signed_as_they_are_given() {
    let secrets = [secret("a")];
    let (public_url, parameters) = (Some("https://a.example/base"), parameters(&["hook"]));
    let terms = Terms { secrets: &secrets, public_url, parameters, ..Terms::default() };
    let verifier = Verifier::new(&signing("{parameter:hook} {url}"), &terms).unwrap();
    let headers = lines(&[("x", hex::encode(mac(b"a", b"1 https://a.example/base/in?x=%2f")))]);
    for (target, right) in [("/in?x=%2f", true), ("/in?x=%2F", false), ("/in", false)] {
        let request = Request::new(&headers, b"").at(&http::Method::POST, target);
        let outcome = verifier.verify(&request, UnixSeconds(NOW));
        assert_eq!(matches!(outcome, Verification::Verified { .. }), right, "{target}");
    }
}

/// Zoom asks for the HMAC of a text of its own, under the secret that it signs with.
#[test]
fn a_text_is_signed_with_the_secret_that_matched() {
    let secrets = [secret("one"), Secret::from_bytes("secret one", b"two").unwrap()];
    let verifier = with_secrets(&built_in("github"), &secrets, None).unwrap();
    for (key, expected) in [("one", 0), ("two", 1)] {
        let headers = lines(&[("x-hub-signature-256", format!("sha256={}", hex::encode(mac(key.as_bytes(), BODY))))]);
        let Verification::Verified { index, .. } = verifier.verify(&Request::new(&headers, BODY), UnixSeconds(NOW))
        else {
            panic!("{key}")
        };
        assert_eq!(index, expected);
        assert_eq!(verifier.mac(index, b"text"), Some(mac(key.as_bytes(), b"text")), "{key}");
    }
    assert_eq!(verifier.mac(2, b"text"), None);
    let token = with_secrets(&signing_with(r#"{ token = { header = "X" } }"#), &secrets, None).unwrap();
    assert_eq!(token.mac(0, b"text"), None);
}
