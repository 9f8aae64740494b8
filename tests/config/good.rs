//! Configs that are taken, and what becomes of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onced::api::Scope;
use onced::app::RoutePath;
use onced::claim::Namespace;
use onced::config::{self, Cause, Config, explain};
use onced::delivery::{HistorySettings, LaneSettings};
use onced::event::RetryPolicy;
use onced::ledger::OnStoreFailure;
use onced::provider::{Acknowledgement, Tolerance};
use onced::proxy::{InFlight, KeepFailures, Mode, OnMissingId, OnUnknownOutcome, RouteSettings};
use onced::store::SyncMode;

use super::{environment, label_of, parse};

pub(super) const MINIMAL_ROUTE: &str = r#"
[[route]]
name = "stripe"
path = "/hooks/stripe"
provider = "stripe"
secrets = [{ env = "WHSEC" }]
forward_to = "http://127.0.0.1:3000/webhooks/stripe"
"#;

const FULL: &str = r#"
[api]
listen = ["127.0.0.1:9001", "[::1]:9001"]
socket = "/tmp/api.sock"
loopback = "none"
[[api.token]]
name = "billing"
env = "TOKEN"
namespaces = ["stripe", "route:shop"]
scopes = ["claim", "operate"]
[hooks]
listen = "0.0.0.0:9000"
public_url = "https://hooks.example.com/"
trusted_proxies = ["10.0.0.0/8", "::1/128"]
[store]
dir = "/data"
sync = "interval"
cache = "16MiB"
min_free = "0B"
max_event_bytes = "5GiB"
commit_deadline = "2s"
[defaults]
processing_ttl = "60s"
on_store_failure = "closed"
[namespace.stripe]
confirmed_ttl = "4d"
[namespace."route:shop"]
processing_ttl = "90s"
confirmed_ttl = "10d"
on_store_failure = "closed"
[[route]]
name = "shop-a"
path = "/shop/*"
provider = "github"
secrets = [{ env = "WHSEC" }, { env = "TOKEN" }]
forward_to = "http://app.internal/"
mode = "sync"
max_duration = "10s"
namespace = "shop"
confirmed_ttl = "5d"
tolerance = "off"
answer_within = "7s"
in_flight = "busy"
on_unknown_outcome = "hold"
on_missing_id = "hash"
max_body = "1MiB"
relay_dangerous_status = true
record = "off"
event_id = { form = "payload", pointer = "/id" }
[[route]]
name = "intranet"
path = "/intranet"
verify = "none"
event_id = { header = "X-Id" }
forward_to = "http://127.0.0.1:3001"
max_duration = "60s"
[[route]]
name = "jobs"
path = "/jobs"
provider = "github"
secrets = [{ env = "WHSEC" }]
forward_to = "http://127.0.0.1:3002/jobs"
mode = "queue"
max_duration = "80s"
record = "all"
[route.delivery]
concurrency = 1
rate = "30/m"
backoff_base = "1m"
backoff_cap = "2m"
retry_after_cap = "10m"
give_up_after = "1h"
max_attempts = 20
breaker_failures = 3
breaker_probe = "1m"
acknowledge = { status = 200, content_type = "text/plain", body = "[accepted]" }
[history]
keep = "30d"
max_bytes = "4GiB"
[shutdown]
drain = "90s"
"#;

fn full() -> Config {
    let token = "t".repeat(30);
    parse(FULL, &environment(&[("WHSEC", "whsec_1"), ("TOKEN", &token)])).unwrap()
}

#[test]
fn without_a_file_everything_has_a_default() {
    let config = config::embedded(&environment(&[]));
    assert_eq!(config.api.listen, ["127.0.0.1:8601".parse().unwrap()]);
    assert_eq!(config.api.socket, Some(PathBuf::from("./onced-data/onced.sock")));
    assert_eq!(config.api.loopback, Some(Scope::Claim));
    assert_eq!(config.hooks.listen, ["127.0.0.1:8600".parse().unwrap()]);
    assert_eq!(config.store.dir, Path::new("./onced-data"));
    assert_eq!(config.shutdown.drain, Duration::from_secs(5));
    assert!(config.routes.is_empty() && config.api.tokens.is_empty());
}

#[test]
fn systemd_says_where_store_and_socket_are() {
    let systemd = environment(&[("STATE_DIRECTORY", "/s:/t"), ("RUNTIME_DIRECTORY", "/r")]);
    let config = config::embedded(&systemd);
    assert_eq!((config.store.dir, config.api.socket), ("/s".into(), Some("/r/onced.sock".into())));

    let config = parse("[store]\ndir = \"/d\"\n", &environment(&[])).unwrap();
    assert_eq!(config.api.socket, Some("/d/onced.sock".into()), "the socket goes with the store");
}

#[test]
fn a_listener_can_be_switched_off() {
    let config = parse("[api]\nlisten = \"\"\nsocket = \"\"\n[hooks]\nlisten = \"\"\n", &environment(&[])).unwrap();
    assert!(config.api.listen.is_empty() && config.api.socket.is_none() && config.hooks.listen.is_empty());
}

#[test]
fn without_routes_the_senders_address_is_free_for_the_api() {
    let config = parse("[api]\nlisten = \"127.0.0.1:8600\"\n", &environment(&[])).unwrap();
    assert_eq!(config.api.listen, config.hooks.listen);
}

#[test]
fn a_short_route_is_filled_up() {
    let config = parse(MINIMAL_ROUTE, &environment(&[("WHSEC", "whsec_1")])).unwrap();
    let [route] = config.routes.as_slice() else { panic!("one route") };
    assert_eq!((&*route.name, route.namespace.as_str()), ("stripe", "route:stripe"));
    assert_eq!(route.path, RoutePath::Exact("/hooks/stripe".into()));
    assert_eq!(route.forward_to.path(), "/webhooks/stripe");
    assert_eq!(route.max_duration, Duration::from_secs(30));
    assert_eq!(route.processing_ttl.as_duration(), Duration::from_secs(120));
    assert_eq!(route.on_store_failure, OnStoreFailure::Open);
    assert_eq!(route.in_flight, InFlight::Wait);
    assert_eq!(route.on_unknown_outcome, OnUnknownOutcome::Release);
    assert_eq!(route.on_missing_id, OnMissingId::Forward);
    assert_eq!(config.shutdown.drain, Duration::from_secs(35));
}

#[test]
fn every_key_has_its_effect() {
    let config = full();
    assert_eq!((config.api.listen.len(), config.api.loopback), (2, None));
    let [token] = config.api.tokens.as_slice() else { panic!("one token") };
    assert!(token.token.is("t".repeat(30).as_bytes()));
    assert_eq!((token.scope, token.namespaces.as_ref().map(Vec::len)), (Scope::Operate, Some(2)));
    assert_eq!(config.hooks.public_url.as_ref().unwrap().as_str(), "https://hooks.example.com");
    assert!(config.hooks.trusted_proxies[0].contains("10.1.2.3".parse().unwrap()));
    assert_eq!((config.store.sync, config.store.cache_bytes), (SyncMode::Interval, 16 << 20));
    assert_eq!((config.store.min_free_bytes, config.store.max_event_bytes), (0, 5 << 30));
    assert_eq!(config.store.commit_deadline, Duration::from_secs(2));
    assert_eq!(config.shutdown.drain, Duration::from_secs(90));
    full_route(&config.routes[0]);
    full_lane(&config);
    let intranet = &config.routes[1].sender;
    assert!(intranet.provider.is_none() && intranet.verifier.is_none());
    assert_eq!(intranet.event_id.as_ref().unwrap().to_string(), "header x-id");
}

fn full_lane(config: &Config) {
    let accepted = ("text/plain".to_owned(), "[accepted]".to_owned());
    let acknowledge = Acknowledgement { status: 200, content_type: Some(accepted.0), body: accepted.1 };
    assert_eq!(config.routes[2].mode, Mode::Queue { acknowledge });
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let LaneSettings { route, forward_to, max_duration, signing_key, .. } = &config.lanes[2];
    assert_eq!(&**route, "jobs");
    assert_eq!((forward_to.path(), *max_duration, signing_key.is_some()), ("/jobs", Duration::from_secs(80), false));
    let LaneSettings { policy, concurrency, rate, breaker_failures, breaker_probe, keep_delivered, .. } =
        &config.lanes[2];
    let expected = RetryPolicy {
        backoff_base: minutes(1),
        backoff_cap: minutes(2),
        retry_after_cap: minutes(10),
        give_up_after: minutes(60),
        max_attempts: Some(20),
    };
    assert_eq!((policy, *concurrency, rate.unwrap().gap()), (&expected, 1, Duration::from_secs(2)));
    assert_eq!((*breaker_failures, *breaker_probe, *keep_delivered), (3, minutes(1), true));
    assert_eq!(config.history, HistorySettings { keep: minutes(30 * 24 * 60), max_bytes: 4 << 30 });
}

fn full_route(route: &RouteSettings) {
    assert_eq!((route.namespace.as_str(), &route.path), ("route:shop", &RoutePath::Prefix("/shop/".into())));
    assert_eq!(route.in_flight, InFlight::Busy);
    assert_eq!(route.on_unknown_outcome, OnUnknownOutcome::Hold);
    assert_eq!((route.on_missing_id, route.max_body_bytes), (OnMissingId::Hash, 1 << 20));
    assert_eq!((route.answer_within, route.dangerous_statuses.as_slice()), (Duration::from_secs(7), [].as_slice()));
    let sender = &route.sender;
    assert_eq!(sender.provider.as_deref(), Some("github"));
    assert_eq!(sender.event_id.as_ref().unwrap().to_string(), "JSON /id in form field payload");
    assert_eq!(sender.verifier.as_ref().unwrap().tolerance(), Tolerance::Off);
    assert_eq!(label_of(route, "whsec_1"), Some("env WHSEC"));
    assert_eq!(label_of(route, &"t".repeat(30)), Some("env TOKEN"));
}

#[test]
fn a_namespace_is_filled_up_from_the_defaults_and_a_route_is_not() {
    let config = full();
    let stripe = config.ledger.of("stripe");
    assert_eq!(stripe.processing_ttl.as_duration(), Duration::from_secs(60));
    assert_eq!(stripe.confirmed_ttl.as_duration(), Duration::from_secs(4 * 86_400));
    assert_eq!(stripe.on_store_failure, OnStoreFailure::Closed);

    let [shop, intranet, _] = config.routes.as_slice() else { panic!("three routes") };
    assert_eq!(shop.processing_ttl.as_duration(), Duration::from_secs(90), "of the namespace");
    let days = shop.confirmed_ttl.as_duration();
    assert_eq!(days, Duration::from_secs(5 * 86_400), "its own");
    assert_eq!(shop.on_store_failure, OnStoreFailure::Closed, "of the namespace");
    let namespace = Cause::Namespace(Namespace::parse_any("route:shop").unwrap());
    let causes = &config.causes.by_route["shop-a"];
    assert_eq!((&causes.processing_ttl, &causes.confirmed_ttl), (&namespace, &Cause::Route));

    assert_eq!(intranet.processing_ttl.as_duration(), Duration::from_secs(240));
    let day = Duration::from_secs(86_400);
    assert_eq!(
        (intranet.confirmed_ttl.as_duration(), intranet.on_store_failure),
        (day, OnStoreFailure::Open),
        "[defaults] serves the claim API alone"
    );
}

/// What a sender does not send again has to be kept here, and what it does would only be kept twice. Senders whose retries
/// are over within a minute counted as such that come again: an app that was down for two had lost the event, and no dead
/// letter told of it.
#[test]
fn which_failures_are_kept_follows_from_what_the_sender_does_with_them() {
    let relayed = "relay_dangerous_status = true\n";
    for (provider, more, expected) in [
        ("github", "", "Always"),
        ("github", "record = \"failures\"\n", "Always"),
        ("github", "record = \"off\"\n", "Never"),
        ("github", "record = \"all\"\n", "Always"),
        ("stripe", "record = \"all\"\n", "Never"),
        ("standard-webhooks", "record = \"all\"\nrelay_dangerous_status = true\n", "Stopped"),
        // Three retries in six minutes, and hourly ones only where the app asked for them.
        ("slack", "", "Always"),
        ("bitbucket-cloud", "", "Always"),
        ("jira-cloud", "", "Always"),
        ("stripe", "", "Never"),
        ("stripe", "record = \"failures\"\n", "Never"),
        ("standard-webhooks", "", "Never"),
        ("standard-webhooks", relayed, "Stopped"),
        ("standard-webhooks", "relay_dangerous_status = true\nrecord = \"off\"\n", "Never"),
    ] {
        let text = MINIMAL_ROUTE.replace("provider = \"stripe\"", &format!("provider = {provider:?}")) + more;
        let config = parse(&text, &environment(&[("WHSEC", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])).unwrap();
        let found = match &config.routes[0].keep_failures {
            KeepFailures::Never => "Never",
            KeepFailures::Always => "Always",
            KeepFailures::Stopped(statuses) => {
                assert_eq!(statuses.iter().map(ToString::to_string).collect::<Vec<_>>(), ["410"]);
                "Stopped"
            }
        };
        assert_eq!(found, expected, "{provider} {more}");
    }
    let unknown = full().routes[1].keep_failures.clone();
    assert!(matches!(unknown, KeepFailures::Always), "nothing is known of this sender");
}

#[test]
fn check_prints_what_holds_and_why() {
    assert_eq!(
        explain(&full()),
        [
            "api: tcp 127.0.0.1:9001, [::1]:9001, loopback without a token: none",
            "api: unix /tmp/api.sock",
            "api: tokens billing",
            "hooks: tcp 0.0.0.0:9000",
            "store: /data, sync interval, commit_deadline 2s",
            "namespace stripe: processing_ttl 1m ([defaults]), confirmed_ttl 4d ([namespace.stripe]), \
             on_store_failure closed ([defaults])",
            "namespace any other: processing_ttl 1m ([defaults]), confirmed_ttl 7d (default), \
             on_store_failure closed ([defaults])",
            "route shop-a: /shop/*, mode sync, github, forward_to http://app.internal/",
            "route shop-a: event_id JSON /id in form field payload; an event without one is guarded by the hash of its body",
            "route shop-a: tolerance off; no timestamp is held against the clock",
            "route shop-a: max_duration 10s ([[route]])",
            "route shop-a: processing_ttl 90s ([namespace.\"route:shop\"])",
            "route shop-a: confirmed_ttl 5d ([[route]])",
            "route shop-a: answer_within 7s ([[route]])",
            "route shop-a: max_body 1MiB ([[route]])",
            "route shop-a: on_store_failure closed ([namespace.\"route:shop\"])",
            "route shop-a: record off ([[route]])",
            "route intranet: /intranet, mode sync, unverified, forward_to http://127.0.0.1:3001/",
            "route intranet: event_id header x-id; an event without one is forwarded unguarded",
            "route intranet: tolerance off; no timestamp is held against the clock",
            "route intranet: max_duration 1m ([[route]])",
            "route intranet: processing_ttl 4m (4 x max_duration (1m))",
            "route intranet: confirmed_ttl 1d (at least 24h; no provider is named)",
            "route intranet: answer_within 8s (no provider is named)",
            "route intranet: max_body 25MiB (default)",
            "route intranet: on_store_failure open (default)",
            "route intranet: record failures (default)",
            "route jobs: /jobs, mode queue, github, forward_to http://127.0.0.1:3002/jobs",
            "route jobs: event_id header x-github-delivery; an event without one is queued unguarded",
            "route jobs: tolerance off; no timestamp is held against the clock",
            "route jobs: max_duration 80s ([[route]])",
            "route jobs: processing_ttl 320s (4 x max_duration (80s)), while the store is down",
            "route jobs: confirmed_ttl 90h (5/4 of the 3d of manual redelivery at GitHub)",
            "route jobs: answer_within 8s (4/5 of the 10s that GitHub waits), while the store is down",
            "route jobs: max_body 25MiB (the largest body of GitHub)",
            "route jobs: on_store_failure open (default)",
            "route jobs: record all ([[route]]): dead letters stay, and delivered events for [history]",
            "route jobs: acknowledge 200 text/plain \"[accepted]\" ([route.delivery])",
            "route jobs: concurrency 1 ([route.delivery]), rate 30/m ([route.delivery])",
            "route jobs: attempts: at once, then after 1m, 2m, 2m, 2m, 2m, … and up to a quarter more (backoff_base 1m \
             ([route.delivery]), doubled up to backoff_cap 2m ([route.delivery])); Retry-After puts one off by up to \
             retry_after_cap 10m ([route.delivery])",
            "route jobs: give_up_after 1h ([route.delivery]), max_attempts 20 ([route.delivery]): a dead letter after 20 \
             attempts at most",
            "route jobs: breaker_failures 3 ([route.delivery]): then the app is left alone but for one event every \
             breaker_probe 1m ([route.delivery])",
            "history: keep 30d ([history]), max_bytes 4GiB ([history])",
            "shutdown: drain 90s",
        ]
    );
}

#[test]
fn nothing_secret_is_in_what_is_printed() {
    let config = full();
    let printed = format!("{config:?} {:?}", explain(&config));
    assert!(!printed.contains("whsec_1") && !printed.contains("tttt"), "{printed}");
}
