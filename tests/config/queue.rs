//! Queue routes: what is taken, what is refused, and what `onced check` says of it.

use std::time::Duration;

use onced::config::explain;
use onced::delivery::HistorySettings;
use onced::event::RetryPolicy;
use onced::proxy::Mode;

use super::faulty::{around, assert_only};
use super::good::MINIMAL_ROUTE;
use super::rows::ROUTE;
use super::{environment, faults, parse};

/// Also a sync one: a dead letter of it can be redriven.
#[test]
fn every_route_has_a_lane_and_the_defaults_of_a_queue() {
    let queue = format!("{MINIMAL_ROUTE}mode = \"queue\"\n");
    for (text, expected) in [(MINIMAL_ROUTE, false), (&queue, true)] {
        let config = parse(text, &environment(&[("WHSEC", "whsec_1")])).unwrap();
        let ([route], [lane]) = (config.routes.as_slice(), config.lanes.as_slice()) else { panic!("one of each") };
        assert_eq!(matches!(route.mode, Mode::Queue { .. }), expected);
        let seconds = Duration::from_secs;
        let policy = RetryPolicy {
            backoff_base: seconds(5),
            backoff_cap: seconds(3_600),
            retry_after_cap: seconds(3_600),
            give_up_after: seconds(3 * 86_400),
            max_attempts: None,
        };
        assert_eq!((&lane.route, lane.policy, lane.concurrency, lane.rate), (&route.name, policy, 8, None));
        assert_eq!((lane.breaker_failures, lane.breaker_probe), (10, seconds(30)));
        assert_eq!(lane.max_duration, seconds(30));
        assert_eq!(config.history, HistorySettings { keep: seconds(7 * 86_400), max_bytes: 1 << 30 });
    }
}

/// The route's, else the profile's, else 202: of a sender that takes 202 for a failure, an event came until it gave up.
#[test]
fn an_accepted_event_is_acknowledged_as_its_sender_wants_it() {
    let json = "202 application/json \"{}\"";
    for (provider, acknowledge, expected, cause) in [
        ("github", "", json, "default"),
        ("asana", "", "200 without a body", "what Asana wants"),
        ("discord-webhook-events", "", "204 without a body", "what Discord webhook events wants"),
        ("github", "{}", "202 without a body", "[route.delivery]"),
        ("asana", "{ content_type = \"text/plain\", body = \"ok\" }", "200 text/plain \"ok\"", "[route.delivery]"),
        ("asana", "{ status = 204 }", "204 without a body", "[route.delivery]"),
        ("github", "{ status = 299 }", "299 without a body", "[route.delivery]"),
    ] {
        let delivery =
            if acknowledge.is_empty() { String::new() } else { format!("delivery.acknowledge = {acknowledge}\n") };
        let route = MINIMAL_ROUTE.replace("provider = \"stripe\"", &format!("provider = {provider:?}"));
        let key = "ab".repeat(32);
        let config = parse(&format!("{route}mode = \"queue\"\n{delivery}"), &environment(&[("WHSEC", &key)])).unwrap();
        let Mode::Queue { acknowledge } = &config.routes[0].mode else { panic!("a queue") };
        let found = (acknowledge.to_string(), config.causes.by_route["stripe"].delivery.acknowledge.to_string());
        assert_eq!(found, (expected.to_owned(), cause.to_owned()), "{provider} {acknowledge}");
    }
}

/// What is kept of an event that went well: while its sender waited, and out of the queue.
#[test]
fn what_is_kept_of_events_that_went_well_follows_from_record() {
    for (record, passed, delivered) in
        [("", false, true), ("failures", false, true), ("all", true, true), ("off", false, false)]
    {
        let line = if record.is_empty() { String::new() } else { format!("record = {record:?}\n") };
        let text = MINIMAL_ROUTE.to_owned() + &line;
        let config = parse(&text, &environment(&[("WHSEC", "whsec_1")])).unwrap();
        assert_eq!((config.routes[0].keep_passed, config.lanes[0].keep_delivered), (passed, delivered), "{record}");
        let cause = if record.is_empty() { "failures (default)".to_owned() } else { format!("{record} ([[route]])") };
        assert!(explain(&config).contains(&format!("route stripe: record {cause}")), "{record}");
    }
}

/// `record failures` was all that `check` said of a queue route, which keeps its delivered events too; and of one attempt it
/// said "1 attempts".
#[test]
fn check_says_what_a_queue_keeps_and_counts_one_attempt_as_one() {
    let around = environment(&[("WHSEC", "whsec_1")]);
    let shown = |lines: &str| explain(&parse(&format!("{MINIMAL_ROUTE}mode = \"queue\"\n{lines}"), &around).unwrap());
    let says =
        |lines: &[String], said: &str| assert!(lines.iter().any(|line| line.ends_with(said)), "{said}: {lines:?}");
    says(&shown(""), ": record failures (default): dead letters stay, and delivered events for [history]");
    let once = shown("record = \"off\"\n[route.delivery]\nmax_attempts = 1\n");
    says(&once, ": record off ([[route]]): dead letters stay, a delivered event goes at once");
    says(&once, ": a dead letter after 1 attempt");
}

/// How its dead letters go when they are redriven: of no interest to most, and so shown only where something is set.
#[test]
fn check_prints_the_delivery_of_a_sync_route_that_says_something_of_it() {
    let around = environment(&[("WHSEC", "whsec_1")]);
    let shown = |text: &str| explain(&parse(text, &around).unwrap()).join("\n");
    assert!(!shown(MINIMAL_ROUTE).contains("attempts"));
    let set = shown(&format!("{MINIMAL_ROUTE}[route.delivery]\nbreaker_probe = \"1m\"\n"));
    let attempts = "route stripe: attempts: at once, then after 5s, 10s, 20s, 40s, 80s, … and up to a quarter more (backoff_base \
                    5s (default), doubled up to backoff_cap 1h (default)); Retry-After puts one off by up to retry_after_cap \
                    1h (default)\nroute stripe: give_up_after 3d (default), max_attempts off (default): a dead letter after \
                    82 attempts at most\n";
    assert!(set.contains(attempts) && !set.contains("acknowledge"), "{set}");
}

/// Of a sender that takes 200 and 204 alone for success.
fn queue_route() -> String {
    format!("{}mode = \"queue\"\n", ROUTE.replace("github", "asana"))
}

#[test]
fn a_fault_of_the_delivery_has_its_line_key_and_reason() {
    let queue = queue_route();
    parse(&queue, &around()).unwrap();
    for (lines, expected) in IN_DELIVERY {
        assert_only(&format!("{queue}[route.delivery]\n{lines}\n"), expected);
    }
    assert_only(
        &format!("{ROUTE}delivery = {{ acknowledge = {{ status = 202 }} }}\n"),
        "7: route[0].delivery.acknowledge: is of no use without mode = \"queue\": the sender gets the app's answer",
    );
    let long = format!("delivery.acknowledge = {{ content_type = \"text/plain\", body = {:?} }}\n", "x".repeat(4_097));
    assert_only(&(queue + &long), "8: route[0].delivery.acknowledge.body: must be at most 4096 bytes");
}

/// They would promise what does not happen.
#[test]
fn a_key_of_sync_routes_is_refused_on_a_queue_route() {
    for (line, expected) in ONLY_SYNC {
        assert_only(&format!("{}{line}\n", queue_route()), expected);
        parse(&format!("{ROUTE}{line}\n"), &around()).unwrap();
    }
    // Of a mode that is no mode nothing follows.
    assert_only(&format!("{ROUTE}mode = \"Queue\"\nin_flight = \"busy\"\n"), "7: route[0].mode: must be \"sync\" or");
}

#[test]
fn every_fault_of_a_queue_route_is_reported_in_one_run() {
    let text = format!(
        "{}in_flight = \"busy\"\n[route.delivery]\nconcurrency = 0\nbackoff_base = \"0s\"\nbackoff_cap = \"1s\"\n\
         acknowledge = {{ status = 404, body = 1 }}\nrat = \"1/s\"\n[history]\nkeep = \"forever\"\nmax_bytes = \"1\"\n",
        queue_route()
    );
    let keys: Vec<_> =
        faults(&text, &around()).iter().map(|fault| fault.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    let at = |line: usize, key: &str| format!("onced.toml:{line} {key}");
    assert_eq!(
        keys,
        [
            at(8, "route[0].in_flight"),
            at(10, "route[0].delivery.concurrency"),
            at(11, "route[0].delivery.backoff_base"),
            at(13, "route[0].delivery.acknowledge.body"),
            at(13, "route[0].delivery.acknowledge.status"),
            at(14, "route[0].delivery.rat"),
            at(16, "history.keep"),
            at(17, "history.max_bytes"),
        ]
    );
}

/// What stands on line 8 and behind, in the `[route.delivery]` of a queue route whose provider takes 200 and 204 for success,
/// and the one fault of it.
const IN_DELIVERY: &[(&str, &str)] = &[
    ("concurency = 8", "9: route[0].delivery.concurency: is unknown; known here: concurrency, rate, backoff_base"),
    ("concurrency = 0", "9: route[0].delivery.concurrency: must be a whole number from 1 to 1000"),
    ("concurrency = 1001", "9: route[0].delivery.concurrency: must be a whole number from 1 to 1000"),
    ("concurrency = -1", "9: route[0].delivery.concurrency: must be a whole number from 1 to 1000"),
    ("concurrency = 65_544", "9: route[0].delivery.concurrency: must be a whole number from 1 to 1000"),
    (
        "concurrency = 99999999999999999999999",
        "9: route[0].delivery.concurrency: must be a whole number from 1 to 1000",
    ),
    ("concurrency = \"8\"", "9: route[0].delivery.concurrency: must be a whole number, not a text"),
    ("concurrency = 8.5", "9: route[0].delivery.concurrency: must be a whole number, not a number with a fraction"),
    ("rate = 100", "9: route[0].delivery.rate: must be a text in quotes, not a number without quotes"),
    (
        "rate = \"100\"",
        "9: route[0].delivery.rate: must be a whole number from 1 to 1000000 and a unit, one of /s, /m, /h",
    ),
    ("rate = \"0/s\"", "9: route[0].delivery.rate: must be a whole number from 1"),
    ("backoff_base = \"0s\"", "9: route[0].delivery.backoff_base: must be longer than 0 and at most 1d"),
    (
        "backoff_base = \"2h\"",
        "9: route[0].delivery.backoff_base: is 2h, above the 1h of backoff_cap: gaps between attempts only grow",
    ),
    (
        "backoff_base = \"3s\"\nbackoff_cap = \"2s\"",
        "9: route[0].delivery.backoff_base: is 3s, above the 2s of backoff_cap",
    ),
    ("backoff_cap = \"2s\"", "9: route[0].delivery.backoff_cap: is 2s, below the 5s of backoff_base"),
    ("backoff_cap = \"25h\"", "9: route[0].delivery.backoff_cap: must be longer than 0 and at most 1d"),
    ("retry_after_cap = \"0s\"", "9: route[0].delivery.retry_after_cap: must be longer than 0 and at most 1d"),
    ("give_up_after = \"0d\"", "9: route[0].delivery.give_up_after: must be longer than 0 and at most 90d"),
    ("give_up_after = \"91d\"", "9: route[0].delivery.give_up_after: must be longer than 0 and at most 90d"),
    ("max_attempts = 0", "9: route[0].delivery.max_attempts: must be a whole number from 1 to 100000"),
    ("max_attempts = \"off\"", "9: route[0].delivery.max_attempts: must be a whole number, not a text"),
    ("breaker_failures = 0", "9: route[0].delivery.breaker_failures: must be a whole number from 1 to 1000"),
    ("breaker_probe = \"0s\"", "9: route[0].delivery.breaker_probe: must be longer than 0 and at most 1h"),
    ("breaker_probe = \"2h\"", "9: route[0].delivery.breaker_probe: must be longer than 0 and at most 1h"),
    ("acknowledge = 200", "9: route[0].delivery.acknowledge: must be a table, not a number without quotes"),
    (
        "acknowledge = { code = 200 }",
        "9: route[0].delivery.acknowledge.code: is unknown; known here: status, content_type",
    ),
    (
        "acknowledge = { status = 500 }",
        "9: route[0].delivery.acknowledge.status: must be a whole number from 200 to 299",
    ),
    (
        "acknowledge = { status = 302 }",
        "9: route[0].delivery.acknowledge.status: must be a whole number from 200 to 299",
    ),
    (
        "acknowledge = { status = 202 }",
        "9: route[0].delivery.acknowledge.status: is a failure to Asana, which takes 200, 204 for success",
    ),
    (
        "acknowledge = { content_type = \"\" }",
        "9: route[0].delivery.acknowledge.content_type: must be the type of a body, such as text/plain",
    ),
    (
        "acknowledge = { content_type = \"text/plain\\r\\nX: y\" }",
        "9: route[0].delivery.acknowledge.content_type: must be the type of a body",
    ),
    ("acknowledge = { body = \"ok\" }", "9: route[0].delivery.acknowledge.content_type: is required with a body"),
    (
        "acknowledge = { status = 204, content_type = \"text/plain\", body = \"ok\" }",
        "9: route[0].delivery.acknowledge.body: must be empty with status 204",
    ),
];

/// What stands on line 8 of a queue route, and the one fault of it: keys by which only a sync route goes.
const ONLY_SYNC: &[(&str, &str)] = &[
    (
        "in_flight = \"wait\"",
        "8: route[0].in_flight: is of no use with mode = \"queue\": an event is acknowledged once it is stored, and so is a \
         repeat",
    ),
    (
        "duplicate_response = \"replay\"",
        "8: route[0].duplicate_response: is of no use with mode = \"queue\": a repeat gets the acknowledgement again",
    ),
    (
        "on_unknown_outcome = \"hold\"",
        "8: route[0].on_unknown_outcome: is of no use with mode = \"queue\": an event is handed over until the app has \
         answered",
    ),
    (
        "relay_dangerous_status = false",
        "8: route[0].relay_dangerous_status: is of no use with mode = \"queue\": the sender does not get the app's answers",
    ),
];
