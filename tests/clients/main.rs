//! Clients that nobody here wrote: senders' own packages sign, onced verifies and hands over, and the same packages judge
//! the copy that the app gets.
//!
//! Where a package can only verify, the signature is made with node's own cryptography, and both judge the same bytes. The
//! packages are pinned in `package.json` and `package-lock.json` beside this file and installed below `target`, once.
//! Without node and npm the tests say so and pass; where `CI=true` that is a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod front;
mod message;
mod packages;

use front::Front;
use packages::Packages;

/// The rows of `senders.mjs` and `verifiers.mjs`, so that none is lost unnoticed. Those called `ours` verify the signature
/// that onced itself makes for the app.
const ROWS: [&str; 22] = [
    "github",
    "stripe",
    "standard-webhooks",
    "svix",
    "resend",
    "clerk",
    "twilio",
    "twilio-json",
    "hubspot",
    "contentful",
    "coinbase-commerce",
    "adyen",
    "ours-by-standardwebhooks",
    "ours-by-svix",
    "slack",
    "discord-interactions",
    "sendgrid",
    "paddle-billing",
    "square",
    "shopify",
    "linear",
    "razorpay",
];

#[test]
fn what_a_package_signs_passes_us_and_the_copy_passes_the_package() {
    let Some(packages) = Packages::running() else { return };
    let names: Vec<_> = packages.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ROWS);
    let front = Front::start(packages);
    for event in &packages.events {
        let answer = front.post(&event.message);
        assert_eq!((answer.status, answer.outcome.as_deref()), (200, Some("forwarded")), "{}: {answer:?}", event.name);
        let copy = answer.copy();
        assert_eq!(copy.body, event.message.body, "{}", event.name);
        for header in event.kept() {
            assert!(copy.headers.contains(header), "{}: {header:?} is not in {:?}", event.name, copy.headers);
        }
        assert_eq!(copy.header("onced-verified"), Some(event.provider.as_str()), "{}", event.name);

        let again = front.post(&event.message);
        assert_eq!((again.status, again.outcome.as_deref()), (200, Some("duplicate")), "{}: {again:?}", event.name);
    }
}

#[test]
fn what_is_altered_on_the_way_is_refused_by_us_and_its_copy_by_the_package() {
    let Some(packages) = Packages::running() else { return };
    let front = Front::start(packages);
    for event in &packages.events {
        for (what, forged) in event.message.forgeries(&event.sealed_by_sender) {
            let answer = front.post(&forged);
            let expected = (401, Some("unverified"));
            assert_eq!((answer.status, answer.outcome.as_deref()), expected, "{}, {what}: {answer:?}", event.name);
        }
        // Nothing of that has used up the event.
        let copy = front.post(&event.message).copy();
        assert_eq!(packages.judge(&copy).status, 200, "{}: the copy as it came", event.name);
        for (what, forged) in copy.forgeries(&event.sealed_for_app) {
            let answer = packages.judge(&forged);
            assert_eq!(answer.status, 403, "{}, {what}: {answer:?}", event.name);
        }
    }
}
