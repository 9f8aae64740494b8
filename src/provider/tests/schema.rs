//! The tables of the schemes: that each reads as it is documented, and that a wrong one is refused with the reason.

use super::*;
use crate::provider::{Place, Pointer};

/// A scheme's table, and whether it covers the body.
const SCHEMES: [(&str, bool); 16] = [
    (
        r#"hmac = { algorithm = "sha1", header = "X", signed_string = "{url}{form-sorted}", encoding = "base64", key = "text", body_hash = { query = "bodySHA256", required_unless_form = true }, url_ports = "either" }"#,
        true,
    ),
    (
        r#"hmac = { algorithm = "sha1", header = "X", signed_string = "{url}", encoding = "base64", key = "text", body_hash = { query = "bodySHA256" } }"#,
        true,
    ),
    (
        r#"hmac = { algorithm = "sha256", signature = { pointer = "/signature/signature" }, signed_string = "{timestamp}{pointer:/signature/token}", encoding = "hex", key = "text", timestamp = { place = { pointer = "/signature/timestamp" }, unit = "seconds", restamped_on_retry = false } }"#,
        false,
    ),
    (
        r#"hmac = { algorithm = "sha256", signature = { pointer = "/a/sig" }, items = "/items", signed_string = "{pointer:/a/id}:{pointer:/a/original?}", encoding = "base64", key = "hex" }"#,
        false,
    ),
    (
        r#"hmac = { algorithm = "sha256", header = "X-Sig-*", signed_string = "{body}", encoding = "base64", key = "text" }"#,
        true,
    ),
    (
        r#"hmac = { algorithm = "sha256", header = "X", repeatable = true, signed_string = "{decoded-body}", encoding = "hex", key = "text" }"#,
        true,
    ),
    (
        r#"hmac = { algorithm = "sha256", header = "X", signed_string = "{method}\n{target}\n{listed-headers:X-Signed}\n{body}", encoding = "hex", key = "text", timestamp = { place = { header = "X-Time" }, unit = "milliseconds", tolerance_seconds = 30, restamped_on_retry = true } }"#,
        true,
    ),
    (
        r#"hash = { algorithm = "sha256", header = "X", signed_string = "{secret}{method}{url}{body}", encoding = "hex" }"#,
        true,
    ),
    (
        r#"ed25519 = { header = "X", signed_string = "{timestamp}{body}", encoding = "hex", timestamp = { place = { header = "T" }, unit = "seconds", restamped_on_retry = true } }"#,
        true,
    ),
    (r#"ecdsa-p256 = { header = "X", signed_string = "{body}", encoding = "base64", fixed = true }"#, true),
    (
        r#"rsa = { hash = "sha256", header = "X", signed_string = "{header:ID}|{parameter:webhook_id}|{body-crc32}", encoding = "base64" }"#,
        false,
    ),
    (
        r#"rsa = { hash = { chosen_by = { pointer = "/SignatureVersion" }, 1 = "sha1", 2 = "sha256" }, signature = { pointer = "/Signature" }, signed_string = "{lines:Message,Subject?,TopicArn=topic_arn}", encoding = "base64" }"#,
        false,
    ),
    (
        r#"jwt = { header = "X", algorithm = "es256", body_claim = "request_body_sha256", timestamp = { place = { claim = "iat" }, unit = "seconds", tolerance_seconds = 300, restamped_on_retry = true } }"#,
        true,
    ),
    (r#"jwt = { header = "Authorization", prefix = "Bearer ", algorithm = "hs256" }"#, false),
    (r#"token = { header = "X-Token" }"#, false),
    ("basic = {}", false),
];

fn read(signature: &str, covers_body: bool) -> Result<Profile, String> {
    let known = if covers_body { "" } else { "signs_body = false\n" };
    let text = format!(
        "title = \"P\"\n{known}retry = {{ automatic = \"never\", manual = \"never\" }}\nsignature = {signature}"
    );
    toml::from_str(&text).map_err(|error| error.to_string())
}

#[test]
fn every_scheme_reads_and_knows_whether_it_covers_the_body() {
    for (scheme, covers_body) in SCHEMES {
        let profile = read(&format!("{{ {scheme} }}"), covers_body);
        let profile = profile.unwrap_or_else(|error| panic!("{scheme}: {error}"));
        assert_eq!(profile.signature.covers_body(), covers_body, "{scheme}");
        let error = read(&format!("{{ {scheme} }}"), !covers_body).unwrap_err();
        assert!(error.contains("signs_body"), "{scheme}: {error}");
    }
    assert!(!read("\"none\"", false).unwrap().signature.covers_body());
}

/// A scheme of [`SCHEMES`], a part of it, what takes that part's place, and what the refusal must speak of.
const WRONG: [(usize, &str, &str, &str); 24] = [
    (0, r#"header = "X""#, r#"header = "X", colour = "red""#, "colour"),
    (0, r#"header = "X", "#, "", "exactly one of them"),
    (0, r#"header = "X""#, r#"header = "X", signature = { form = "s" }"#, "exactly one of them"),
    (0, r#"header = "X""#, r#"header = "*""#, "not a header name"),
    (0, r#"header = "X""#, r#"header = "X-*", repeatable = true"#, "repeatable"),
    (0, r#"algorithm = "sha1""#, r#"algorithm = "md5""#, "md5"),
    (0, "{url}{form-sorted}", "{form-sorted}", "url_ports is set"),
    (0, "{url}{form-sorted}", "{form-sorted}", "body_hash is in the query"),
    (0, "{url}", "{uri}", "{uri} is unknown"),
    (0, "{url}", "{header:}", "needs a name"),
    (0, "{url}", "{pointer:a}", "not a JSON pointer"),
    (0, "{url}", "{lines:A,}", "needs a name"),
    (0, "{url}", "{lines:A,B=}", "needs a name"),
    (0, "{url}", "{lines:A,=b}", "needs a name"),
    (0, "{url}", "{secret}{url}", "plain hash alone"),
    (2, "{timestamp}", "{body-crc32}", "anybody could renew it"),
    (2, r#"{ pointer = "/signature/timestamp" }"#, r#"{ claim = "iat" }"#, "no jwt"),
    (3, r#"signature = { pointer = "/a/sig" }"#, r#"header = "X""#, "inside each element"),
    (6, r#"{ header = "X-Time" }"#, r#"{ field = "t" }"#, "not a list"),
    (7, "{secret}", "", "needs {secret}"),
    (10, "sha256", "md5", "hash function"),
    (12, r#"{ claim = "iat" }"#, r#"{ header = "T" }"#, "anybody could renew it"),
    (12, "es256", "none", "none"),
    (15, "basic = {}", "basic = { realm = \"x\" }", "realm"),
];

#[test]
fn a_wrong_scheme_is_refused_with_the_reason() {
    for (scheme, old, new, reason) in WRONG {
        let (sound, covers_body) = SCHEMES[scheme];
        assert!(sound.contains(old), "{old}");
        let error = read(&format!("{{ {} }}", sound.replacen(old, new, 1)), covers_body).unwrap_err();
        assert!(error.contains(reason), "{new}: {error}");
    }
}

/// An id outside the signature can be replaced, and `onced providers` says so: this is what it goes by.
#[test]
fn what_is_covered_follows_from_the_signed_string() {
    let header = |name: &str| Place::Header(name.to_owned().try_into().unwrap());
    let pointer = |text: &str| Place::Pointer(Pointer::try_from(text.to_owned()).unwrap());
    let rows = [
        (0, Place::Query("a".to_owned()), true),
        (0, Place::Form("a".to_owned()), true),
        (0, header("X"), false),
        (2, pointer("/signature/token"), true),
        (2, pointer("/id"), false),
        (3, pointer("/a/original"), true),
        (4, pointer("/id"), true),
        (6, header("X-Signed"), true),
        (6, header("X-Time"), true),
        (6, header("X-Id"), false),
        (8, header("T"), true),
        (10, header("ID"), true),
        (10, pointer("/id"), false),
        (11, pointer("/Message"), true),
        (11, pointer("/UnsubscribeURL"), false),
        (12, pointer("/id"), true),
        (13, pointer("/id"), false),
        (14, header("X-Token"), false),
    ];
    for (scheme, place, covered) in rows {
        let profile = read(&format!("{{ {} }}", SCHEMES[scheme].0), SCHEMES[scheme].1).unwrap();
        assert_eq!(profile.signature.covers_place(&place), covered, "{place} of {}", SCHEMES[scheme].0);
    }
}
