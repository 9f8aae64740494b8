//! Which texts are timestamps, and how far from our clock one may be.

use super::*;
use crate::provider::{Timestamp, TimestampPlace, TimestampUnit};

/// A check on the past alone lets a stamp of the year 2286 pass for ever; one without slack for the future refuses a
/// sender whose clock is a second ahead.
#[test]
fn the_tolerance_holds_in_both_directions_and_includes_its_bound() {
    let verifier = verifier("stripe", None);
    let offsets =
        [(-301, false), (-300, true), (-299, true), (0, true), (1, true), (299, true), (300, true), (301, false)];
    for (offset, fresh) in offsets.into_iter().chain([(1_000_000_000, false), (i64::MAX - NOW, false)]) {
        let stamp = (NOW + offset).to_string();
        let header = format!("t={stamp},v1={}", stripe_digest(SECRET, &stamp));
        let expected = if fresh { Ok(()) } else { Err(format!("stale by {}", -offset)) };
        assert_eq!(judge_stripe(&verifier, header), expected, "{offset}");
    }
}

/// Every digest is right for the text that stands there, so that nothing but the timestamp's form can refuse it.
#[test]
fn only_plain_digits_are_a_timestamp() {
    let verifier = verifier("stripe", Some(Tolerance::Off));
    let malformed = "the timestamp is malformed";
    let texts = [
        "",
        "abc",
        "1700000000junk",
        "-1",
        "+1",
        "1e9",
        " 1700000000",
        "1700000000 ",
        "1700000000.0",
        "0x10",
        "1_000",
        "9999999999999999999999",
        "9223372036854775808",
        "\u{0661}",
    ];
    for text in texts {
        let header = format!("t={text},v1={}", stripe_digest(SECRET, text));
        assert_eq!(judge_stripe(&verifier, header), Err(malformed.to_owned()), "{text:?}");
    }
    for text in ["0", "1700000000", "0001700000000", "9223372036854775807"] {
        let header = format!("t={text},v1={}", stripe_digest(SECRET, text));
        assert_eq!(judge_stripe(&verifier, header), Ok(()), "{text:?}");
    }
}

#[test]
fn a_list_without_a_timestamp_or_with_two_is_rejected() {
    let verifier = verifier("stripe", Some(Tolerance::Off));
    let digest = stripe_digest(SECRET, "1700000000");
    let none = stripe_digest(SECRET, "");
    let rows = [
        (format!("v1={none}"), "the timestamp is missing"),
        (format!("t,v1={none}"), "the timestamp is missing"),
        (format!("T=1700000000,v1={digest}"), "the timestamp is missing"),
        (format!("t=1700000000,t=1700000000,v1={digest}"), "the timestamp came more than once"),
        (format!("t=1700000000,v1={digest},t=1"), "the timestamp came more than once"),
        ("t".to_owned(), "no signature of the expected scheme"),
        ("=".to_owned(), "no signature of the expected scheme"),
        (",".repeat(10_000), "more than 32 entries in the signature header"),
    ];
    for (header, reason) in rows {
        assert_eq!(judge_stripe(&verifier, &header), Err(reason.to_owned()), "{}", &header[..header.len().min(80)]);
    }
}

/// A server that stood weeks in the past once refused everything as "invalid signature", and nobody looked at its clock.
#[test]
fn a_right_signature_under_a_wrong_clock_is_stale_and_names_the_skew() {
    let verifier = verifier("standard-webhooks", None);
    let stamp = (NOW + 600).to_string();
    let signed = [b"msg_1.", stamp.as_bytes(), b".", BODY].concat();
    let digest = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, mac(b"sixteen-bytes-or-so", &signed));
    let headers = |signature: &str| {
        lines(&[("webhook-id", "msg_1"), ("webhook-timestamp", &stamp), ("webhook-signature", signature)])
    };
    assert_eq!(verdict(&verifier, &headers(&format!("v1,{digest}"))), Err("stale by -600".to_owned()));
    let wrong = format!("v1,A{}", &digest[1..]);
    assert_eq!(verdict(&verifier, &headers(&wrong)), Err("no secret made this signature".to_owned()));
}

#[test]
fn a_derived_tolerance_is_at_least_five_minutes_and_needs_fresh_stamps() {
    let timestamp = |tolerance_seconds, restamped_on_retry| Timestamp {
        place: TimestampPlace::Field("t".to_owned()),
        unit: TimestampUnit::Seconds,
        tolerance_seconds,
        restamped_on_retry,
    };
    let rows = [
        (Some(5), true, Tolerance::Seconds(300)),
        (Some(300), true, Tolerance::Seconds(300)),
        (Some(600), true, Tolerance::Seconds(600)),
        (Some(300), false, Tolerance::Off),
        (None, true, Tolerance::Seconds(300)),
        (None, false, Tolerance::Off),
    ];
    for (published, restamped, expected) in rows {
        assert_eq!(timestamp(published, restamped).default_tolerance(), expected, "{published:?} {restamped}");
    }
    assert_eq!(verifier("stripe", Some(Tolerance::Seconds(5))).tolerance(), Tolerance::Seconds(5));
    assert_eq!(verifier("github", None).tolerance(), Tolerance::Off);
}

#[test]
fn milliseconds_are_cut_to_seconds() {
    let timestamp = Timestamp {
        place: TimestampPlace::Field("t".to_owned()),
        unit: TimestampUnit::Milliseconds,
        tolerance_seconds: None,
        restamped_on_retry: true,
    };
    assert_eq!(timestamp.read(b"1700000000999"), Some(UnixSeconds(NOW)));
    assert_eq!(timestamp.read(b"999"), Some(UnixSeconds(0)));
}

/// Senders that write a date: in UTC or not, with a fraction of any length or none.
#[test]
fn a_written_date_is_read_to_the_second() {
    let timestamp = Timestamp {
        place: TimestampPlace::Field("t".to_owned()),
        unit: TimestampUnit::Rfc3339,
        tolerance_seconds: None,
        restamped_on_retry: true,
    };
    let rows = [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("2023-11-14T22:13:20Z", Some(NOW)),
        ("2023-11-14t22:13:20z", Some(NOW)),
        ("2021-02-19T23:47:00.8091512Z", Some(1_613_778_420)),
        ("2023-11-14T22:13:20.000000000000000001+00:00", Some(NOW)),
        ("2023-11-15T00:13:20+02:00", Some(NOW)),
        ("2023-11-14T17:43:20-04:30", Some(NOW)),
        ("2024-02-29T00:00:00Z", Some(1_709_164_800)),
        ("2000-02-29T00:00:00Z", Some(951_782_400)),
        ("1969-12-31T23:59:59Z", Some(-1)),
        ("0000-03-01T00:00:00Z", Some(-62_162_035_200)),
        ("9999-12-31T23:59:59Z", Some(253_402_300_799)),
        ("2016-12-31T23:59:60Z", Some(1_483_228_800)),
        ("2023-02-29T00:00:00Z", None),
        ("1900-02-29T00:00:00Z", None),
        ("2023-04-31T00:00:00Z", None),
        ("2023-13-01T00:00:00Z", None),
        ("2023-00-01T00:00:00Z", None),
        ("2023-01-00T00:00:00Z", None),
        ("2023-01-01T24:00:00Z", None),
        ("2023-01-01T00:60:00Z", None),
        ("2023-01-01T00:00:61Z", None),
        ("2023-01-01T00:00:00", None),
        ("2023-01-01T00:00:00.Z", None),
        ("2023-01-01T00:00:00+0000", None),
        ("2023-01-01T00:00:00+24:00", None),
        ("2023-01-01T00:00:00Zjunk", None),
        ("2023-01-01 00:00:00Z", None),
        ("+023-01-01T00:00:00Z", None),
        ("1700000000", None),
        ("", None),
    ];
    for (text, expected) in rows {
        assert_eq!(timestamp.read(text.as_bytes()), expected.map(UnixSeconds), "{text}");
    }
}

/// The same in the other places where a timestamp may stand: each signature is right for the text that is there.
#[test]
fn a_timestamp_outside_the_signature_header_is_as_strict() {
    let hex_mac = |signed: &[u8]| hex::encode(mac(SECRET.as_bytes(), signed));
    let zoom = |stamps: &[&str]| {
        let stamp = stamps.first().copied().unwrap_or_default();
        let signed = [format!("v0:{stamp}:").as_bytes(), BODY].concat();
        let mut headers = lines(&[("x-zm-signature", format!("v0={}", hex_mac(&signed)))]);
        stamps.iter().for_each(|stamp| _ = headers.append("x-zm-request-timestamp", stamp.parse().unwrap()));
        verdict(&verifier("zoom", None), &headers)
    };
    let linear = |body: &str| {
        let headers = lines(&[("linear-signature", hex_mac(body.as_bytes()))]);
        match verifier("linear", None).verify(&Request::new(&headers, body.as_bytes()), UnixSeconds(NOW)) {
            Verification::Rejected(rejection) => Err(rejection.to_string()),
            Verification::Verified { .. } | Verification::Stale { .. } => Ok(()),
        }
    };
    let malformed = "the timestamp is malformed";
    let rows = [
        (zoom(&["1700000000"]), Ok(())),
        (zoom(&["1700000000junk"]), Err(malformed)),
        (zoom(&[""]), Err(malformed)),
        (zoom(&["-1"]), Err(malformed)),
        (zoom(&[]), Err("header x-zm-request-timestamp is missing")),
        (zoom(&["1700000000", "1700000000"]), Err("header x-zm-request-timestamp came more than once")),
        (linear(r#"{"webhookTimestamp":1700000000000}"#), Ok(())),
        (linear(r#"{"webhookTimestamp":"1700000000000"}"#), Ok(())),
        (linear(r#"{"webhookTimestamp":1.7e12}"#), Err(malformed)),
        (linear(r#"{"webhookTimestamp":-1}"#), Err(malformed)),
        (linear(r#"{"webhookTimestamp":true}"#), Err(malformed)),
        (linear(r#"{"webhookTimestamp":null}"#), Err("JSON /webhookTimestamp is missing")),
        (linear(r#"{"webhookTimestamp":{}}"#), Err("JSON /webhookTimestamp is no text")),
        (linear("{}"), Err("JSON /webhookTimestamp is missing")),
        (
            linear(r#"{"webhookTimestamp":1,"webhookTimestamp":1}"#),
            Err("JSON /webhookTimestamp is there more than once"),
        ),
    ];
    for (row, (outcome, expected)) in rows.into_iter().enumerate() {
        assert_eq!(outcome, expected.map_err(str::to_owned), "row {row}");
    }
}
