//! What is a handshake, and what it gets.

use super::*;
use crate::provider::{
    Handshake, HandshakeReply, MAX_ECHO_BYTES, MAX_TOKEN_BYTES, MAX_UNVERIFIED_BODY_BYTES, reply_unsigned,
    reply_unverified, reply_verified,
};
use http::Method;

/// Header lines.
type Lines<'l> = &'l [(&'l str, &'l str)];

/// A reply in words.
fn told(reply: Option<HandshakeReply<'_>>) -> String {
    match reply {
        None => "none".to_owned(),
        Some(HandshakeReply::Text(text)) => format!("text {}", text.escape_ascii()),
        Some(HandshakeReply::Fixed(answer)) => format!("fixed {answer}"),
        Some(HandshakeReply::Sign { form, token }) => format!("sign {token} as {} and {}", form.text_key, form.mac_key),
        Some(HandshakeReply::Pass) => "pass".to_owned(),
        Some(HandshakeReply::Refused) => "refused".to_owned(),
    }
}

fn verified(provider: &str, headers: Lines<'_>, body: &str) -> String {
    let headers = lines(headers);
    told(reply_verified(&built_in(provider).handshake, &Request::new(&headers, body.as_bytes())))
}

fn unverified(provider: &str, headers: Lines<'_>, body: &str) -> String {
    let headers = lines(headers);
    told(reply_unverified(&built_in(provider).handshake, &Request::new(&headers, body.as_bytes())))
}

fn asked(provider: &str, method: &Method, target: &str, token: Option<&str>) -> String {
    let (headers, token) = (HeaderMap::new(), token.map(secret));
    let request = Request::new(&headers, b"").at(method, target);
    told(reply_unsigned(&built_in(provider).handshake, &request, token.as_ref()))
}

#[test]
fn a_signed_handshake_gets_what_its_sender_wants_to_see() {
    let (twitch, notification) = ("Twitch-Eventsub-Message-Type", "notification");
    let verification = "webhook_callback_verification";
    let rows: [(&str, Lines<'_>, &str, &str); 17] = [
        ("slack", &[], r#"{"type":"url_verification","challenge":"3eZb"}"#, "text 3eZb"),
        ("slack", &[], r#"{"type":"url_verification","challenge":"\u0061\n"}"#, r"text a\n"),
        ("slack", &[], r#"{"type":"url_verification"}"#, "none"),
        ("slack", &[], r#"{"type":"event_callback","challenge":"3eZb"}"#, "none"),
        ("slack", &[], r#"{"type":"url_verification","type":"x","challenge":"3eZb"}"#, "none"),
        ("slack", &[], "", "none"),
        ("twitch-eventsub", &[(twitch, verification)], r#"{"challenge":"pogchamp"}"#, "text pogchamp"),
        ("twitch-eventsub", &[(twitch, verification)], r#"{"event":{}}"#, "none"),
        ("twitch-eventsub", &[(twitch, notification)], r#"{"challenge":"pogchamp"}"#, "none"),
        ("twitch-eventsub", &[(twitch, verification), (twitch, notification)], r#"{"challenge":"a"}"#, "none"),
        ("discord-interactions", &[], r#"{"type":1}"#, "pass"),
        ("discord-interactions", &[], r#"{"type":2}"#, "none"),
        ("discord-webhook-events", &[], r#"{"type":0}"#, "fixed 204 without a body"),
        ("discord-webhook-events", &[], r#"{"type":1}"#, "none"),
        ("aws-sns", &[], r#"{"Type":"SubscriptionConfirmation"}"#, "pass"),
        ("aws-sns", &[], r#"{"Type":"Notification"}"#, "none"),
        ("stripe", &[], r#"{"type":"url_verification","challenge":"3eZb"}"#, "none"),
    ];
    for (provider, headers, body, expected) in rows {
        assert_eq!(verified(provider, headers, body), expected, "{provider} {body}");
        assert_eq!(unverified(provider, headers, body), "none", "{provider} {body}");
    }
}

/// Whoever could have any text signed could have an event signed.
#[test]
fn nothing_is_signed_but_a_token() {
    let ask = |token: &str| {
        let token = serde_json::Value::from(token);
        verified("zoom", &[], &format!(r#"{{"event":"endpoint.url_validation","payload":{{"plainToken":{token}}}}}"#))
    };
    let signed = |token: &str| format!("sign {token} as plainToken and encryptedToken");
    let longest = "a".repeat(MAX_TOKEN_BYTES);
    for token in ["qgg8vlvZRS6UYooatFL8Aw", "a", "-", "_", "0", &longest] {
        assert_eq!(ask(token), signed(token));
    }
    let long = "a".repeat(MAX_TOKEN_BYTES + 1);
    for token in ["", " ", "v0:1700000000:{}", "a.b", "a b", "a\n", "é", "a=", &long] {
        assert_eq!(ask(token), "none", "{token}");
    }
    let missing = r#"{"event":"endpoint.url_validation","payload":{}}"#;
    assert_eq!(verified("zoom", &[], missing), "none");
}

/// Before there is a secret there is no signature; with one, this way in is shut.
#[test]
fn an_unsigned_handshake_is_small_and_brings_no_signature() {
    let secret = ("X-Hook-Secret", "b537207f20cbfa02357cf448134da559");
    let large = "x".repeat(MAX_UNVERIFIED_BODY_BYTES + 1);
    let rows: [(Lines<'_>, &str, &str); 8] = [
        (&[secret], "{}", "pass"),
        (&[secret], "", "pass"),
        (&[secret], &large[1..], "pass"),
        (&[secret], &large, "none"),
        (&[secret, ("X-Hook-Signature", "00")], "{}", "none"),
        (&[secret, secret], "{}", "none"),
        (&[("X-Hook-Secret", "")], "{}", "none"),
        (&[], "{}", "none"),
    ];
    for (headers, body, expected) in rows {
        assert_eq!(unverified("asana", headers, body), expected, "{headers:?}");
        assert_eq!(verified("asana", headers, body), "none", "{headers:?}");
    }
}

#[test]
fn a_get_shows_the_token_of_the_route_or_is_for_the_app() {
    let query = "/h?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=meaty%2Fham";
    let rows = [
        (query, Some("meaty/ham"), "text 1158201444"),
        (query, Some("meaty/hamster"), "refused"),
        (query, None, "pass"),
        ("/h?hub.mode=subscribe&hub.challenge=1", Some("t"), "refused"),
        ("/h?hub.mode=subscribe&hub.challenge=1&hub.verify_token=", Some("t"), "refused"),
        ("/h?hub.mode=subscribe&hub.challenge=1&hub.verify_token=t&hub.verify_token=t", Some("t"), "refused"),
        ("/h?hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=t", Some("t"), "none"),
        ("/h?hub.mode=subscribe&hub.verify_token=t", Some("t"), "none"),
        ("/h", None, "none"),
    ];
    for (target, token, expected) in rows {
        for provider in ["meta-graph", "whatsapp"] {
            assert_eq!(asked(provider, &Method::GET, target, token), expected, "{target}");
            assert_eq!(asked(provider, &Method::HEAD, target, token), "none", "{target}");
        }
    }
    assert_eq!(asked("intercom", &Method::HEAD, "/h", None), "fixed 200 without a body");
    assert_eq!(asked("intercom", &Method::GET, "/h", None), "none");
    assert_eq!(asked("github", &Method::GET, "/h?challenge=1", None), "none");
}

#[test]
fn an_echo_has_its_limit() {
    let ask = |challenge: &str| asked("dropbox", &Method::GET, &format!("/h?challenge={challenge}"), None);
    let longest = "a".repeat(MAX_ECHO_BYTES);
    assert_eq!(ask("%3Cb%3E"), "text <b>");
    assert_eq!(ask(&longest), format!("text {longest}"));
    for challenge in [format!("{longest}a"), String::new(), "a&challenge=b".to_owned()] {
        assert_eq!(ask(&challenge), "none");
    }
}

/// Handshakes that would take every event, look where nothing is, or give away what they should guard.
#[test]
fn a_handshake_that_cannot_be_meant_is_refused() {
    let sound = "name = \"a\"\nmethod = \"POST\"\nwhen = [{ place = { header = \"X\" } }]\nanswer = \"pass\"\n";
    let rows = [
        ("", "", ""),
        ("when = [{ place = { header = \"X\" } }]\n", "", "every event would be one"),
        ("\"POST\"", "\"GET\"", ""),
        ("{ header = \"X\" }", "{ header = \"X\" }, equals = \"a\", absent = true", "both equals and absent"),
        ("answer = \"pass\"", "answer = \"pass\"\nverified = false", "that the signature is absent"),
        ("answer = \"pass\"", "answer = \"pass\"\ntoken = { query = \"t\" }", "a token is for GET"),
        ("answer = \"pass\"", "answer = { fixed = { status = 302 } }", "not a success"),
        ("answer = \"pass\"", "answer = { fixed = { status = 200, body = \"a\" } }", "needs a content_type"),
        ("answer = \"pass\"", "answer = \"swallow\"", "swallow"),
        ("} }]", "}, absent = true }]\nverified = false", "that the signature is absent"),
        ("{ header = \"X\" } }]", "{ header = \"X-Hub-Signature-256\" }, absent = true }]\nverified = false", ""),
        (
            "} }]\nanswer = \"pass\"",
            "}, absent = true }]\nverified = false\nanswer = { text = { header = \"Y\" } }",
            "can be passed or get a fixed answer",
        ),
        (
            "} }]\nanswer = \"pass\"",
            "}, absent = true }]\nverified = false\nanswer = { sign = { text = { header = \"Y\" }, text_key = \"a\", mac_key = \"b\" } }",
            "sign is for a verified POST",
        ),
    ];
    let get = [
        ("{ header = \"X\" }", "{ pointer = \"/a\" }", "looks into the body"),
        ("answer = \"pass\"", "answer = { text = { form = \"a\" } }", "looks into the body"),
        ("answer = \"pass\"", "answer = \"pass\"\nverified = false", "verified is for POST"),
        ("\"GET\"", "\"HEAD\"", ""),
        ("\"GET\"", "\"PUT\"", "PUT"),
    ];
    let as_get = sound.replace("POST", "GET");
    let as_head =
        (sound.replace("POST", "HEAD"), "answer = \"pass\"", "answer = { text = { query = \"a\" } }", "a HEAD gets");
    let posts = rows.iter().map(|(old, new, reason)| (sound, *old, *new, *reason));
    let gets = get.iter().map(|(old, new, reason)| (as_get.as_str(), *old, *new, *reason));
    for (sound, old, new, reason) in posts.chain(gets).chain([(as_head.0.as_str(), as_head.1, as_head.2, as_head.3)]) {
        assert!(sound.contains(old), "{old}");
        let handshake = sound.replacen(old, new, 1);
        let profile = format!("{}\n[[handshake]]\n{handshake}", include_str!("../profiles/github.toml"));
        match toml::from_str::<Profile>(&profile) {
            Ok(_) => assert_eq!(reason, "", "{handshake}"),
            Err(error) => assert!(!reason.is_empty() && error.to_string().contains(reason), "{handshake}: {error}"),
        }
    }
    let sign = "[[handshake]]\nname = \"a\"\nmethod = \"POST\"\nwhen = [{ place = { header = \"X\" } }]\n\
                answer = { sign = { text = { header = \"Y\" }, text_key = \"a\", mac_key = \"b\" } }\n";
    let profile = format!("{}\n{sign}", include_str!("../profiles/telegram.toml"));
    assert!(
        toml::from_str::<Profile>(&profile).unwrap_err().to_string().contains("signature.hmac, which there is not")
    );
}

#[test]
fn an_unknown_key_of_a_handshake_is_refused() {
    let bad = "name = \"a\"\nmethod = \"POST\"\nanswer = \"pass\"\ncolour = 1\n";
    assert!(toml::from_str::<Handshake>(bad).unwrap_err().to_string().contains("colour"));
}
