//! The profiles as data: that they read, agree with themselves, and that a wrong one is refused with a reason.

use super::*;
use crate::provider::{DefineError, Redelivery};
use http::StatusCode;

const GITHUB: &str = include_str!("../profiles/github.toml");
const STRIPE: &str = include_str!("../profiles/stripe.toml");

#[test]
fn every_built_in_profile_reads_and_says_where_its_facts_are_from() {
    let profiles = Profiles::built_in();
    assert!(profiles.iter().count() > 50);
    for (name, profile) in profiles.iter() {
        assert!(profile.grounds.is_some() && !profile.sources.is_empty(), "{name}");
        assert!(profile.sources.iter().all(|source| source.starts_with("https://")), "{name}");
        let Some(facts) = &profile.event_id else {
            assert_eq!(profile.event_id_is_signed(), None);
            continue;
        };
        assert!(facts.scope.is_some(), "{name}");
        let warned = facts.pitfalls.iter().any(|pitfall| pitfall.contains("not signed"));
        assert_eq!(profile.event_id_is_signed(), Some(!warned), "{name}: an unsigned id must be warned of");
    }
}

#[test]
fn every_file_of_the_folder_is_in_the_table() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/provider/profiles");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, Profiles::built_in().iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
}

#[test]
fn the_facts_that_decide_are_as_documented() {
    let (github, stripe, standard) = (built_in("github"), built_in("stripe"), built_in("standard-webhooks"));
    assert!(!github.retries_automatically() && stripe.retries_automatically() && standard.retries_automatically());
    assert_eq!(github.retry.manual, Redelivery::WithinSeconds(259_200));
    let unreliable = Profiles::built_in();
    let unreliable: Vec<_> = (unreliable.iter())
        .filter(|(_, profile)| !profile.retries_automatically() && profile.retry.automatic.window().is_some())
        .map(|(name, _)| name)
        .collect();
    let expected = ["aws-sns", "bitbucket-cloud", "contentful", "discord-webhook-events", "dropbox", "jira-cloud"];
    assert_eq!(unreliable, expected.iter().chain(&["lemon-squeezy", "slack"]).copied().collect::<Vec<_>>());
    assert_eq!(github.max_body_bytes, Some(25 << 20));
    assert!(standard.stops_at(StatusCode::GONE) && !standard.stops_at(StatusCode::NOT_FOUND));
    assert!(!stripe.stops_at(StatusCode::GONE));
}

/// A sound profile, a part of it, what takes that part's place, and what the refusal must speak of.
const WRONG: [(&str, &str, &str, &str); 32] = [
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nsuccess = [\"200\"]", "success leaves 202 out"),
    (
        STRIPE,
        r#"title = "Stripe""#,
        "title = \"S\"\nsuccess = [\"204\"]\nacknowledgement = { status = 200 }",
        "200 is not among success",
    ),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nsuccess = [\"ok\"]", "neither a status"),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nsigns_body = false", "this one covers it"),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nsigns_body = true", "this one covers it"),
    (STRIPE, "{timestamp}.{body}", "{timestamp}", "signs_body = false must say"),
    (STRIPE, r#"stable = "yes""#, r#"stable = "no""#, "unknown variant `no`"),
    (GITHUB, r#"title = "GitHub""#, "", "title"),
    (GITHUB, "timeout_seconds = 10", "timeout_seconds = 0", "timeout_seconds is 0"),
    (GITHUB, "timeout_seconds = 10", "timeout_second = 10", "timeout_second"),
    (GITHUB, r#""{body}""#, r#""{timestamp}.{body}""#, "no timestamp is described"),
    (GITHUB, r#""{body}""#, r#""constant""#, "nothing of the request is signed"),
    (GITHUB, r#""{body}""#, r#""{body}{body}""#, "the body must not occur twice"),
    (GITHUB, r#""{body}""#, r#""{body}{uri}""#, "{uri} is unknown"),
    (GITHUB, r#""{body}""#, r#""{body""#, "a brace is not closed"),
    (GITHUB, r#""{body}""#, r#""}{body}""#, "a brace is not closed"),
    (GITHUB, r#""{body}""#, r#""{header:a b}{body}""#, "the header of a placeholder"),
    (GITHUB, r#"algorithm = "sha256""#, r#"algorithm = "md5""#, "md5"),
    (GITHUB, "[signature.hmac]", "[signature.mystery]", "mystery"),
    (GITHUB, r#"automatic = "never""#, "automatic = { within_seconds = 6_220_801 }", "longer than 72 days"),
    (GITHUB, r#"automatic = "never""#, r#"automatic = "unlimited""#, "longer than 72 days"),
    (GITHUB, r#"automatic = "never""#, r#"automatic = "always""#, "always"),
    (STRIPE, r#""{timestamp}.{body}""#, r#""{body}""#, "anybody could renew it"),
    (STRIPE, r#"field = "t""#, r#"field = "v1""#, "has the name of the signature's"),
    (STRIPE, r#"between = ",""#, r#"between = "é""#, "not an ASCII character"),
    (STRIPE, "{ list = {", "{ plain = {", "unknown field"),
    (STRIPE, r#"after_name = "=""#, r#"after_name = ",""#, "same separator"),
    (
        STRIPE,
        r#"title = "Stripe""#,
        "title = \"S\"\nacknowledgement = { status = 200, content_type = \"a\\nb\" }",
        "content_type",
    ),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nstop_statuses = [\"4xx\"]", "neither a status"),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nstop_statuses = [\"410-400\"]", "neither a status"),
    (STRIPE, r#"title = "Stripe""#, "title = \"S\"\nacknowledgement = { status = 302 }", "not a success"),
    (
        STRIPE,
        r#"title = "Stripe""#,
        "title = \"S\"\nacknowledgement = { status = 200, body = \"ok\" }",
        "needs a content_type",
    ),
];

#[test]
fn a_wrong_profile_is_refused_with_the_reason() {
    for (sound, old, new, reason) in WRONG {
        assert!(sound.contains(old), "{old}");
        let error = toml::from_str::<Profile>(&sound.replacen(old, new, 1)).unwrap_err().to_string();
        assert!(error.contains(reason), "{new}: {error}");
    }
}

#[test]
fn all_contradictions_are_reported_at_once() {
    let wrong = STRIPE.replace("{timestamp}.{body}", "{body}").replace("259_200", "9_999_999");
    let error = toml::from_str::<Profile>(&wrong).unwrap_err().to_string();
    assert!(error.contains("anybody could renew it") && error.contains("longer than 72 days"), "{error}");
}

#[test]
fn statuses_are_single_or_spans() {
    let text = GITHUB.replacen("timeout_seconds", "stop_statuses = [\"400-428\", \"430-499\"]\ntimeout_seconds", 1);
    let profile: Profile = toml::from_str(&text).unwrap();
    for (status, stops) in
        [(399, false), (400, true), (428, true), (429, false), (430, true), (499, true), (500, false)]
    {
        assert_eq!(profile.stops_at(StatusCode::from_u16(status).unwrap()), stops, "{status}");
    }
    assert_eq!(profile.stop_statuses[0].to_string(), "400-428");
}

#[test]
fn an_acknowledgement_is_taken_as_written() {
    let text = GITHUB.replacen(
        "timeout_seconds",
        "acknowledgement = { status = 200, content_type = \"text/plain\", body = \"[accepted]\" }\ntimeout_seconds",
        1,
    );
    let acknowledgement = toml::from_str::<Profile>(&text).unwrap().acknowledgement.unwrap();
    assert_eq!((acknowledgement.status, acknowledgement.body.as_str()), (200, "[accepted]"));
}

#[test]
fn own_profiles_stand_beside_the_built_in_ones_and_never_in_their_place() {
    let mut profiles = Profiles::built_in();
    let partner: Profile = toml::from_str(GITHUB).unwrap();
    profiles.define("my-partner", partner.clone()).unwrap();
    assert_eq!(profiles.find("my-partner"), Some(&partner));
    for name in ["stripe", "my-partner"] {
        assert!(matches!(profiles.define(name, partner.clone()), Err(DefineError::Taken(taken)) if taken == name));
    }
    for name in ["", "-a", "A", "a b", "a_b", "é", &"a".repeat(65)] {
        assert!(matches!(profiles.define(name, partner.clone()), Err(DefineError::Name(_))), "{name}");
    }
}

#[test]
fn success_is_any_2xx_unless_a_sender_wants_something_else() {
    let statuses = [(199, false), (200, true), (202, true), (299, true), (302, false), (404, false)];
    for (status, succeeds) in statuses {
        assert_eq!(built_in("stripe").succeeds_with(StatusCode::from_u16(status).unwrap()), succeeds, "{status}");
    }
    let (discord, shop) = (built_in("discord-webhook-events"), built_in("woocommerce"));
    assert!(discord.succeeds_with(StatusCode::NO_CONTENT) && !discord.succeeds_with(StatusCode::OK));
    assert!(shop.succeeds_with(StatusCode::FOUND) && shop.succeeds_with(StatusCode::ACCEPTED));
}
