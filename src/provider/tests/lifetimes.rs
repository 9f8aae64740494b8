//! The numbers that follow from a sender, with their causes.

use super::*;
use crate::provider::{Lifetimes, Redelivery};
use std::time::Duration;

const DAY: u64 = 86_400;

fn derive(profile: &Profile) -> Lifetimes {
    Lifetimes::derive(profile, Duration::from_secs(30))
}

#[test]
fn the_built_in_profiles_come_to_their_numbers() {
    let rows = [
        ("github", 3 * DAY + 3 * DAY / 4, "5/4 of the 3d of manual redelivery at GitHub", 8),
        ("stripe", 7 * DAY + 7 * DAY / 4, "5/4 of the 7d of manual redelivery (counted up to 7 days) at Stripe", 8),
        ("standard-webhooks", 340_140, "5/4 of the 272105s of automatic retries at Standard Webhooks", 8),
    ];
    for (name, confirmed_seconds, cause, answer_seconds) in rows {
        let lifetimes = derive(&built_in(name));
        assert_eq!(lifetimes.confirmed_ttl.span.as_secs(), confirmed_seconds, "{name}");
        assert_eq!(lifetimes.confirmed_ttl.cause, cause);
        assert_eq!(lifetimes.answer_within.span, Duration::from_secs(answer_seconds), "{name}");
        assert_eq!(lifetimes.processing_ttl.span, Duration::from_secs(120), "{name}");
        assert_eq!(lifetimes.processing_ttl.cause, "4 x max_duration (30s)");
    }
    assert_eq!(derive(&built_in("github")).answer_within.cause, "4/5 of the 10s that GitHub waits");
    assert_eq!(derive(&built_in("stripe")).answer_within.cause, "Stripe does not publish how long it waits");
}

#[test]
fn the_longer_window_decides_and_a_day_is_the_least() {
    use Redelivery::{Never, Unlimited, Unpublished, WithinSeconds};
    let rows = [
        (Never, Never, DAY, "at least 24h"),
        (Unpublished, Unpublished, DAY, "at least 24h"),
        (WithinSeconds(60), Never, DAY, "at least 24h"),
        (WithinSeconds(DAY), WithinSeconds(3600), DAY * 5 / 4, "5/4 of the 1d of automatic"),
        (WithinSeconds(DAY), WithinSeconds(2 * DAY), DAY * 5 / 2, "5/4 of the 2d of manual"),
        (WithinSeconds(DAY + 1), Never, DAY * 5 / 4 + 60, "5/4 of the 86401s of automatic"),
        (WithinSeconds(DAY), Unlimited, 7 * DAY * 5 / 4, "5/4 of the 7d of manual"),
        (WithinSeconds(30 * DAY), Unlimited, 30 * DAY * 5 / 4, "5/4 of the 30d of automatic"),
    ];
    for (automatic, manual, seconds, cause) in rows {
        let mut profile = built_in("github");
        (profile.retry.automatic, profile.retry.manual) = (automatic, manual);
        let confirmed = derive(&profile).confirmed_ttl;
        assert_eq!(confirmed.span.as_secs(), seconds, "{automatic} {manual}");
        assert!(confirmed.cause.starts_with(cause), "{}", confirmed.cause);
    }
}

#[test]
fn a_sender_without_a_profile_gets_the_least() {
    let lifetimes = Lifetimes::without_profile(Duration::from_secs(30));
    assert_eq!(lifetimes.processing_ttl, derive(&built_in("github")).processing_ttl);
    assert_eq!(lifetimes.confirmed_ttl.span.as_secs(), DAY);
    assert_eq!(lifetimes.confirmed_ttl.cause, "at least 24h; no provider is named");
    assert_eq!(lifetimes.answer_within.span, Duration::from_secs(8));
}
