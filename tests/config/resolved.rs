//! What a route's table leaves open, and what fills it.

use std::time::Duration;

use onced::config::{Cause, Config};
use onced::provider::{Profiles, Tolerance};

use super::{environment, parse};

const DAY: u64 = 86_400;

/// A route of this provider with these keys besides.
fn config(provider: &str, more: &str) -> Config {
    let text = format!(
        "[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = {provider:?}\nsecrets = [{{ env = \"S\" }}]\n\
         forward_to = \"http://a\"\n{more}\n"
    );
    parse(&text, &environment(&[("S", "whsec_c2l4dGVlbi1ieXRlcw==")])).unwrap()
}

/// What follows from a provider.
struct Resolved {
    provider: &'static str,
    confirmed_seconds: u64,
    confirmed_cause: &'static str,
    answer_cause: &'static str,
    body_cause: &'static str,
    event_id: &'static str,
    tolerance: Tolerance,
    dangerous: &'static [&'static str],
}

const RESOLVED: [Resolved; 3] = [
    Resolved {
        provider: "github",
        confirmed_seconds: 3 * DAY + 3 * DAY / 4,
        confirmed_cause: "5/4 of the 3d of manual redelivery at GitHub",
        answer_cause: "4/5 of the 10s that GitHub waits",
        body_cause: "the largest body of GitHub",
        event_id: "header x-github-delivery",
        tolerance: Tolerance::Off,
        dangerous: &[],
    },
    Resolved {
        provider: "stripe",
        confirmed_seconds: 7 * DAY + 7 * DAY / 4,
        confirmed_cause: "5/4 of the 7d of manual redelivery (counted up to 7 days) at Stripe",
        answer_cause: "Stripe does not publish how long it waits",
        body_cause: "default",
        event_id: "JSON /id",
        tolerance: Tolerance::Seconds(300),
        dangerous: &[],
    },
    Resolved {
        provider: "standard-webhooks",
        confirmed_seconds: 340_140,
        confirmed_cause: "5/4 of the 272105s of automatic retries at Standard Webhooks",
        answer_cause: "Standard Webhooks does not publish how long it waits",
        body_cause: "default",
        event_id: "header webhook-id",
        tolerance: Tolerance::Seconds(300),
        dangerous: &["410"],
    },
];

#[test]
fn what_is_not_set_follows_from_the_provider() {
    for expected in RESOLVED {
        let provider = expected.provider;
        let config = config(provider, "");
        let (route, causes) = (&config.routes[0], &config.causes.by_route["a"]);
        assert_eq!(route.sender.provider.as_deref(), Some(provider));
        assert_eq!(route.processing_ttl.as_duration(), Duration::from_secs(120), "{provider}");
        assert_eq!(causes.processing_ttl.to_string(), "4 x max_duration (30s)");
        let confirmed_seconds = route.confirmed_ttl.as_duration().as_secs();
        assert_eq!(confirmed_seconds, expected.confirmed_seconds, "{provider}");
        assert_eq!(causes.confirmed_ttl.to_string(), expected.confirmed_cause);
        assert_eq!(route.answer_within, Duration::from_secs(8), "{provider}");
        assert_eq!(causes.answer_within.to_string(), expected.answer_cause);
        assert_eq!(route.max_body_bytes, 25 << 20, "{provider}");
        assert_eq!(causes.max_body.to_string(), expected.body_cause);
        let event_id = route.sender.event_id.as_ref().unwrap();
        assert_eq!(event_id.to_string(), expected.event_id);
        let verifier = route.sender.verifier.as_ref().unwrap();
        assert_eq!(verifier.tolerance(), expected.tolerance, "{provider}");
        let dangerous: Vec<_> = route.dangerous_statuses.iter().map(ToString::to_string).collect();
        assert_eq!(dangerous, expected.dangerous, "{provider}");
    }
}

#[test]
fn what_is_set_comes_before_the_provider() {
    let more = "answer_within = \"3s\"\nmax_body = \"2KiB\"\nevent_id = { pointer = \"/x\" }\ntolerance = \"10s\"\n\
                relay_dangerous_status = true\n[namespace.\"route:a\"]\nconfirmed_ttl = \"30d\"\n";
    let config = config("standard-webhooks", more);
    let (route, causes) = (&config.routes[0], &config.causes.by_route["a"]);
    let lengths = (route.answer_within.as_secs(), route.confirmed_ttl.as_duration().as_secs());
    assert_eq!(lengths, (3, 30 * DAY));
    assert_eq!(causes.confirmed_ttl, Cause::Namespace(route.namespace.clone()));
    assert_eq!((&causes.answer_within, &causes.max_body), (&Cause::Route, &Cause::Route));
    assert_eq!(route.max_body_bytes, 2 << 10);
    assert_eq!(route.sender.event_id.as_ref().unwrap().to_string(), "JSON /x");
    let verifier = route.sender.verifier.as_ref().unwrap();
    assert_eq!(verifier.tolerance(), Tolerance::Seconds(10));
    assert!(route.dangerous_statuses.is_empty());
}

/// Lifetimes and dangerous answers are facts about the sender, whether it is verified or not.
#[test]
fn an_unverified_route_may_name_its_provider_for_the_other_facts() {
    let text = "[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = \"standard-webhooks\"\nverify = \"none\"\n\
                event_id = { header = \"Id\" }\nforward_to = \"http://a\"\n";
    let config = parse(text, &environment(&[])).unwrap();
    let route = &config.routes[0];
    assert_eq!(route.sender.provider.as_deref(), Some("standard-webhooks"));
    assert!(route.sender.verifier.is_none());
    assert_eq!(route.sender.event_id.as_ref().unwrap().to_string(), "header id");
    assert_eq!(route.confirmed_ttl.as_duration().as_secs(), 340_140);
    assert_eq!(route.dangerous_statuses.len(), 1);
}

#[test]
fn a_config_knows_the_providers_that_it_is_given() {
    let mut profiles = Profiles::built_in();
    let github = profiles.find("github").unwrap().clone();
    profiles.define("forge", github).unwrap();
    let around = environment(&[("S", "s")]).with_profiles(profiles);
    let text = "[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = \"forge\"\nsecrets = [{ env = \"S\" }]\n\
                forward_to = \"http://a\"\n";
    assert_eq!(parse(text, &around).unwrap().routes.len(), 1);
    assert!(parse(text, &environment(&[("S", "s")])).is_err());
}

/// What the table of a route says of its ids, and what a handshake needs.
#[test]
fn an_id_of_several_parts_or_of_a_batch_can_be_the_routes_own() {
    let rows = [
        ("{ query = \"id\" }", "query parameter id"),
        (
            "{ parts = [{ header = \"X-Kind\" }, { form = \"p\", pointer = \"/id\" }] }",
            "header x-kind + JSON /id in form field p",
        ),
        ("{ batch = \"\", item = [{ pointer = \"/id\" }] }", "JSON /id of every item of the body"),
        (
            "{ batch = \"/items\", item = [{ pointer = \"/a\" }, { pointer = \"/b\" }] }",
            "JSON /a + JSON /b of every item of JSON /items",
        ),
    ];
    for (event_id, expected) in rows {
        let text = format!(
            "[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = \"whatsapp\"\nsecrets = [{{ env = \"S\" }}]\n\
             verify_token = {{ env = \"T\" }}\nforward_to = \"http://a\"\nevent_id = {event_id}\n"
        );
        let config = parse(&text, &environment(&[("S", "one"), ("T", "two\n")])).unwrap();
        let [route] = config.routes.as_slice() else { panic!("one route") };
        assert_eq!(route.sender.event_id.as_ref().unwrap().to_string(), expected);
        assert!(route.handshakes.token.is_some());
        assert_eq!(route.handshakes.known.len(), 1);
    }
}
