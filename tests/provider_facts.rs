//! The built-in profiles against a table of the facts that they were written from, so that a slip of the pen shows.
//!
//! The table (`data/facts.json`) holds what decides: where ids and signatures stand, algorithms, windows, time-outs, codes. A
//! profile that says something else on purpose is listed here, with what it says and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use onced::provider::{
    Confidence, Encoding, Format, Profile, Profiles, Redelivery, Signature, StatusRange, TimestampPlace, TimestampUnit,
};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// What is known of one sender. `None` is "not published" or "there is none".
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    id: String,
    event_id: Option<String>,
    /// `None` where nobody says, or where there is no id.
    signed: Option<bool>,
    stable: String,
    scheme: String,
    /// The headers of the signature, or the places in the body; ours must be one of them.
    headers: Vec<String>,
    encoding: Option<String>,
    prefix: String,
    timestamp: Option<Stamp>,
    window_seconds: Option<u64>,
    manual_seconds: Option<u64>,
    timeout_seconds: Option<u64>,
    success: Vec<String>,
    stop: Vec<String>,
    handshake: bool,
    /// For how long the id should be remembered, without a margin; 0 where it should not be.
    remembered_seconds: u64,
    /// How well founded event id, signature, retries and time-out are.
    grounds: [String; 4],
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stamp {
    place: String,
    unit: String,
    tolerance_seconds: Option<u64>,
}

/// Where a profile says another thing than the table, and why.
const ON_PURPOSE: [(&str, &str, &str); 11] = [
    // Two authorisations that differ in success are two events; the source names it as the field to add.
    (
        "adyen",
        "event_id",
        "JSON /NotificationRequestItem/pspReference + JSON /NotificationRequestItem/eventCode + JSON \
         /NotificationRequestItem/success of every item of JSON /notificationItems",
    ),
    // It names a payment, not an event: not to be gone by at all.
    ("mollie-classic", "event_id", "none"),
    // Two events within a second share it.
    ("woocommerce", "event_id", "none"),
    // Inside the signed body, and preferred by the source.
    ("pagerduty", "event_id", "JSON /event/id"),
    ("pagerduty", "signed", "true"),
    // Bound by a CRC alone.
    ("paypal", "signed", "false"),
    // A family of numbered headers.
    ("docusign", "header", "every header x-docusign-signature-*"),
    // Outside of the signature, by which anybody could renew it.
    ("sentry", "timestamp", "none"),
    // When the event happened; says nothing about the attempt.
    ("vercel", "timestamp", "none"),
    // With the token alone nothing is stamped; the profile gitlab-signed is the other half.
    ("gitlab", "timestamp", "none"),
    // With the hourly retries of a setting that cannot be seen from here.
    ("slack", "window", "within 1446m"),
];

fn facts() -> Vec<Facts> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/facts.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What a profile says, in the words of the table, beside what the table says.
fn compared(facts: &Facts, profile: &Profile) -> Vec<(&'static str, String, String)> {
    let id = profile.event_id.as_ref();
    let signature = &profile.signature;
    let none = || "none".to_owned();
    let mut rows = vec![
        ("event_id", id.map_or_else(none, |id| id.source.to_string()), facts.event_id.clone().unwrap_or_else(none)),
        ("scheme", signature.scheme().to_owned(), facts.scheme.clone()),
        ("timestamp", format!("{:?}", stamp(profile)), format!("{:?}", facts.timestamp.as_ref())),
        ("window", profile.retry.automatic.to_string(), window(facts.window_seconds).to_string()),
        ("manual", profile.retry.manual.to_string(), manual(facts.manual_seconds).to_string()),
        ("timeout", format!("{:?}", profile.timeout_seconds), format!("{:?}", facts.timeout_seconds)),
        ("success", list(&profile.success), success(&facts.success)),
        ("stop", list(&profile.stop_statuses), facts.stop.join(" ")),
        ("handshake", (!profile.handshake.is_empty()).to_string(), facts.handshake.to_string()),
        ("grounds", grounds(profile).join(" "), facts.grounds.join(" ")),
    ];
    if let (Some(id), Some(signed)) = (id, facts.signed) {
        let ours = profile.event_id_is_signed() == Some(true);
        rows.push(("signed", ours.to_string(), signed.to_string()));
        rows.push(("stable", id.stable.as_str().to_owned(), facts.stable.clone()));
    }
    rows.extend(layout(facts, profile));
    rows
}

/// Where the signature stands and how it is written, for the schemes that have a say in it.
fn layout(facts: &Facts, profile: &Profile) -> Vec<(&'static str, String, String)> {
    let one_of = |place: String| match facts.headers.iter().any(|header| place.ends_with(&**header)) {
        true => ("header", place.clone(), place),
        false => ("header", place, facts.headers.join(" ")),
    };
    match (&profile.signature, profile.signature.described()) {
        (_, Some((carrier, _))) => {
            let encoding = match carrier.encoding {
                Encoding::Hex => "hex",
                Encoding::Base64 => "base64",
            };
            let prefix = match &carrier.format {
                Format::Plain(plain) => plain.prefix.clone(),
                // The table has the name as a prefix, or none where it describes the whole list.
                Format::List(_) if facts.prefix.is_empty() => String::new(),
                Format::List(list) => format!("{}{}", list.name, list.after_name),
            };
            vec![
                one_of(carrier.place.to_string()),
                ("encoding", encoding.to_owned(), facts.encoding.clone().unwrap_or_default()),
                ("prefix", prefix, facts.prefix.clone()),
            ]
        }
        (Signature::Jwt(jwt), None) => vec![one_of(jwt.header.to_string())],
        (Signature::Token(token), None) => vec![one_of(token.header.to_string())],
        (_, None) => Vec::new(),
    }
}

fn stamp(profile: &Profile) -> Option<Stamp> {
    let timestamp = profile.signature.timestamp()?;
    let place = match &timestamp.place {
        TimestampPlace::Text(place) => place.to_string(),
        TimestampPlace::Field(name) => format!("entry {name}"),
        TimestampPlace::Claim(name) => format!("claim {name}"),
    };
    let unit = match timestamp.unit {
        TimestampUnit::Seconds => "seconds",
        TimestampUnit::Milliseconds => "milliseconds",
        TimestampUnit::Rfc3339 => "rfc3339",
    };
    Some(Stamp { place, unit: unit.to_owned(), tolerance_seconds: timestamp.tolerance_seconds })
}

fn window(seconds: Option<u64>) -> Redelivery {
    match seconds {
        Some(0) => Redelivery::Never,
        seconds => manual(seconds),
    }
}

fn manual(seconds: Option<u64>) -> Redelivery {
    seconds.map_or(Redelivery::Unpublished, Redelivery::WithinSeconds)
}

fn list(ranges: &[StatusRange]) -> String {
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Any 2xx is what a profile leaves unsaid.
fn success(codes: &[String]) -> String {
    if codes == ["200-299"] { String::new() } else { codes.join(" ") }
}

fn grounds(profile: &Profile) -> [&'static str; 4] {
    let grounds = profile.grounds.as_ref().unwrap();
    [grounds.event_id, grounds.signature, grounds.retry, grounds.timeout].map(Confidence::as_str)
}

#[test]
fn every_profile_says_what_the_facts_say_or_otherwise_on_purpose() {
    let (profiles, facts) = (Profiles::built_in(), facts());
    assert_eq!(facts.len(), 51);
    let mut met = BTreeSet::new();
    for facts in &facts {
        let profile = profiles.find(&facts.id).unwrap_or_else(|| panic!("no profile {}", facts.id));
        for (field, ours, theirs) in compared(facts, profile) {
            let purpose = ON_PURPOSE.iter().find(|(id, purposed, _)| *id == facts.id && *purposed == field);
            match purpose {
                None => assert_eq!(ours, theirs, "{}: {field}", facts.id),
                Some((id, _, purposed)) => {
                    let ours = ours.replace("None", "none");
                    assert_eq!(ours, *purposed, "{id}: {field}");
                    assert_ne!(ours, theirs, "{id}: {field} differs no longer");
                    met.insert((*id, field));
                }
            }
        }
    }
    assert_eq!(met.len(), ON_PURPOSE.len(), "{met:?}");
    let named: BTreeSet<_> = facts.iter().map(|facts| facts.id.as_str()).chain(["gitlab-signed"]).collect();
    assert_eq!(profiles.iter().map(|(name, _)| name).collect::<BTreeSet<_>>(), named);
}

/// What a sender can send again by itself must find its first copy remembered; and what a person can, for a week.
#[test]
fn every_event_is_remembered_for_longer_than_it_can_come_again() {
    const WEEK: u64 = 7 * 86_400;
    let profiles = Profiles::built_in();
    for facts in facts() {
        let profile = profiles.find(&facts.id).unwrap();
        let confirmed = profile.lifetimes().confirmed_ttl.span;
        let window = profile.retry.automatic.window().unwrap_or_default();
        assert!(confirmed >= window + window / 4, "{}: {confirmed:?}", facts.id);
        assert!(confirmed >= Duration::from_secs(facts.window_seconds.unwrap_or(0)), "{}", facts.id);
        let asked = Duration::from_secs(facts.remembered_seconds.min(WEEK));
        assert!(confirmed >= asked && confirmed >= Duration::from_secs(86_400), "{}: {confirmed:?}", facts.id);
    }
}

/// A sender that waits for so long has an answer before it gives up.
#[test]
fn every_sender_is_answered_within_its_patience() {
    let mut patient = 0;
    for (name, profile) in Profiles::built_in().iter() {
        let answer_within = profile.lifetimes().answer_within.span;
        assert!(answer_within > Duration::from_millis(500), "{name}");
        if let Some(timeout) = profile.timeout() {
            assert!(answer_within < timeout, "{name}");
            patient += 1;
        }
    }
    assert!(patient > 25, "{patient}");
}
