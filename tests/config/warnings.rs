//! Oddities of routes, which refuse nothing.

use onced::provider::{Profile, Profiles, Redelivery};

use super::{environment, parse};

/// What we could sign with.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn text(name: &str, provider: &str, secret: &str, more: &str) -> String {
    format!(
        "[[route]]\nname = {name:?}\npath = \"/{name}\"\nprovider = {provider:?}\nsecrets = [{{ env = {secret:?} }}]\n\
         forward_to = \"http://a\"\n{more}\n"
    )
}

/// The warnings about a text in an environment where `brief` retries for `brief_seconds`.
fn warnings(text: &str, brief_seconds: u64) -> Vec<String> {
    let mut profiles = Profiles::built_in();
    let mut brief: Profile = profiles.find("github").unwrap().clone();
    (brief.title, brief.timeout_seconds) = ("Brief".to_owned(), None);
    brief.retry.automatic = Redelivery::WithinSeconds(brief_seconds);
    profiles.define("brief", brief).unwrap();
    let around = environment(&[("S", "one"), ("S_AGAIN", "one\n"), ("T", "two"), ("KEY", KEY)]).with_profiles(profiles);
    let config = parse(text, &around).unwrap();
    config.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn each_oddity_is_named_and_its_opposite_is_not() {
    let (patient, queue) = ("max_duration = \"10s\"", "mode = \"queue\"");
    let lost =
        "record is \"off\", and GitHub does not promise to send an event again: one that the app does not take is lost";
    let rows: [(&str, &str, u64, Option<&str>); 18] = [
        ("stripe", "", 1, None),
        (
            "stripe",
            "confirmed_ttl = \"2d\"",
            1,
            Some("confirmed_ttl 2d is shorter than the 3d for which Stripe retries: a late retry takes effect again"),
        ),
        ("stripe", "confirmed_ttl = \"3d\"", 1, None),
        ("github", &format!("{patient}\nconfirmed_ttl = \"1s\""), 1, None),
        ("github", patient, 1, None),
        (
            "github",
            "max_duration = \"11s\"",
            1,
            Some(
                "max_duration 11s is longer than the 10s that GitHub waits: what takes longer than answer_within 8s is \
                 answered with 503 while the app goes on; mode = \"queue\" answers at once, and gives the app its time",
            ),
        ),
        (
            "brief",
            "",
            120,
            Some("processing_ttl 2m does not end before the last retry of Brief after 2m: a crash uses up all of them"),
        ),
        ("brief", "", 121, None),
        ("brief", "processing_ttl = \"30s\"", 60, None),
        ("brief", "", 0, None),
        ("github", &format!("{patient}\nrecord = \"off\""), 1, Some(lost)),
        ("github", &format!("{patient}\nrecord = \"failures\""), 1, None),
        ("stripe", "record = \"off\"", 1, None),
        // A queue route answers at once, claims for good, and keeps what is not delivered.
        ("github", &format!("{queue}\nmax_duration = \"11s\""), 1, None),
        ("github", &format!("{queue}\nrecord = \"off\""), 1, None),
        ("brief", queue, 120, None),
        (
            "shopify",
            &format!("{queue}\nconfirmed_ttl = \"3h\""),
            1,
            Some("confirmed_ttl 3h is shorter than the 4h for which Shopify retries: a late retry takes effect again"),
        ),
        ("shopify", queue, 1, None),
    ];
    for (provider, more, brief_seconds, expected) in rows {
        let found = warnings(&text("a", provider, "S", more), brief_seconds);
        let expected: Vec<_> = expected.iter().map(|oddity| format!("route a: {oddity}")).collect();
        assert_eq!(found, expected, "{provider} {more} {brief_seconds}");
    }
}

#[test]
fn one_secret_of_two_providers_is_odd() {
    let shared = "has a secret in common with route a, whose provider is another";
    for (provider, secret, expected) in [
        ("brief", "S", vec![format!("route b: {shared}")]),
        ("brief", "S_AGAIN", vec![format!("route b: {shared}")]),
        ("brief", "T", vec![]),
        ("stripe", "S", vec![]),
    ] {
        let text = text("a", "stripe", "S", "") + &text("b", provider, secret, "");
        assert_eq!(warnings(&text, 1_000), expected, "{provider} {secret}");
    }
}

/// A sender without ids, or one whose id the route does not use, and what can be done about it.
#[test]
fn a_route_whose_events_cannot_be_told_apart_is_odd() {
    let unguarded = "has no event id: each of its requests is handed over, repeats too, unless the route has event_id or \
                     on_missing_id";
    let rows = [
        ("dropbox", "", Some(format!("Dropbox {unguarded}"))),
        ("dropbox", "on_missing_id = \"hash\"", None),
        ("dropbox", "on_missing_id = \"reject\"", None),
        ("dropbox", "event_id = { header = \"X-Id\" }", None),
        ("stripe", "", None),
    ];
    for (provider, more, expected) in rows {
        let found = warnings(&text("a", provider, "S", &format!("max_duration = \"3s\"\n{more}")), 1);
        let expected: Vec<_> = expected.iter().map(|oddity| format!("route a: {oddity}")).collect();
        assert_eq!(found, expected, "{provider} {more}");
    }
    let mollie = "[[route]]\nname = \"a\"\npath = \"/a\"\nprovider = \"mollie-classic\"\nverify = \"none\"\n\
                  forward_to = \"http://a\"\nmax_duration = \"3s\"\n";
    assert_eq!(warnings(mollie, 1), [format!("route a: Mollie classic {unguarded}")]);
}

/// `/hooks/x/*` to `/in` made `/ina` of `/hooks/x/a`.
#[test]
fn a_prefix_that_is_glued_to_the_apps_last_word_is_odd() {
    let oddity = "route a: what follows the prefix of path is appended to forward_to as it comes, which does not end with a \
                  slash";
    let rows: [(&str, &str, &[&str]); 5] = [
        ("/a/*", "http://a/in", &[oddity]),
        ("/a/*", "http://a/in/", &[]),
        ("/a/*", "http://a", &[]),
        ("/a/*", "http://a/", &[]),
        ("/a", "http://a/in", &[]),
    ];
    for (path, forward_to, expected) in rows {
        let route = text("a", "stripe", "S", "").replace("path = \"/a\"", &format!("path = {path:?}"));
        let route = route.replace("forward_to = \"http://a\"", &format!("forward_to = {forward_to:?}"));
        assert_eq!(warnings(&route, 1), expected, "{path} {forward_to}");
    }
}

/// Stripe's events that had waited for an app longer than the 300 s of its SDK's tolerance were refused by it, became dead
/// letters, and a redrive sent the same old signature.
#[test]
fn a_queue_is_odd_where_the_sender_signs_the_time_and_we_do_not_sign_anew() {
    let grows_old = |sender: &str| {
        format!(
            "route a: {sender} signs the time too, and while an event waits its signature grows old: an app that holds that \
             time against its clock refuses the event then. Let it go by Onced-Verified, or widen the tolerance of its \
             library to give_up_after, or set sign_secret and check by Standard Webhooks"
        )
    };
    let queue = "mode = \"queue\"";
    let signed = format!("{queue}\nsign_secret = {{ env = \"KEY\" }}");
    let off = format!("{queue}\ntolerance = \"off\"");
    for (provider, more, expected) in [
        ("stripe", queue, vec![grows_old("Stripe")]),
        ("stripe", &off, vec![grows_old("Stripe")]),
        ("slack", queue, vec![grows_old("Slack Events API")]),
        ("stripe", &signed, vec![]),
        ("stripe", "", vec![]),
        ("github", queue, vec![]),
    ] {
        assert_eq!(warnings(&text("a", provider, "S", more), 1), expected, "{provider} {more}");
    }
}

/// A stop that does not wait for an app makes a repeat, or a dead letter, of what the app had done.
#[test]
fn a_drain_that_is_shorter_than_an_app_may_take_is_odd() {
    let cut = "route a: max_duration 30s is longer than the 29s of [shutdown] drain: a stop cuts what the app is still at, and \
               it counts as unknown whether that went well";
    for mode in ["", "mode = \"queue\"\nsign_secret = { env = \"KEY\" }"] {
        for (drain, expected) in [("29s", &[cut][..]), ("30s", &[])] {
            let two = text("a", "stripe", "S", mode) + &text("b", "stripe", "T", "max_duration = \"1s\"");
            assert_eq!(warnings(&format!("{two}[shutdown]\ndrain = {drain:?}\n"), 1), expected, "{mode} {drain}");
        }
    }
}

#[test]
fn a_history_that_may_fill_the_store_is_odd() {
    let fills = "history: max_bytes 1GiB leaves no room in the 1GiB of [store] max_event_bytes: when finished events have \
                 filled it, new ones are not stored";
    for (max_event_bytes, expected) in [("1GiB", &[fills][..]), ("2GiB", &[])] {
        let store = format!("[store]\nmax_event_bytes = {max_event_bytes:?}\n");
        assert_eq!(warnings(&(text("a", "stripe", "S", "") + &store), 1), expected, "{max_event_bytes}");
        assert!(warnings(&store, 1).is_empty(), "without routes there are no events");
    }
}
