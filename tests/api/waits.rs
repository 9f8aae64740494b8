//! Claims that wait while somebody else works.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use serde_json::json;

use super::harness::{House, OURS, THEIRS, on, post, until};
use onced::claim::{Key, Namespace, Record, Token};
use onced::ledger::{Ask, AskClaim};

fn waiting(token: &str, wait: &str) -> serde_json::Value {
    json!({ "token": token, "wait": wait, "processing_ttl": "60s" })
}

#[tokio::test]
async fn a_wait_ends_with_the_claim_the_moment_the_holder_releases() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "10s" })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    assert_eq!(home.release("k", THEIRS).await.status, 200);
    let answer = waiter.answer().await;
    assert_eq!((answer.status, answer.outcome().as_str()), (201, "claimed"));
    let json = answer.json();
    assert_eq!((&json["token"], &json["attempt"], &json["previous"]), (&json!(OURS), &json!(2), &json!("released")));
    assert_eq!(json["expires_in_ms"], 60_000, "the lifetime runs from the grant");
    // The grant was received, so it stays.
    assert_eq!(home.claim("k", json!({})).await.outcome(), "in_progress");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wait_ends_with_the_claim_the_moment_the_holder_expires() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "10s" })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    house.advance_ms(10_000);
    let json = waiter.answer().await.json();
    assert_eq!((&json["outcome"], &json["previous"]), (&json!("claimed"), &json!("expired")));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wait_outlives_an_extension_of_the_holder() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "5s" })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    home.extend("k", json!({ "token": THEIRS, "processing_ttl": "10s" })).await;
    let told = home.count("a", "in_progress");
    house.advance_ms(5_000);
    // It looks again at the deadline that it knew, and goes on waiting.
    until(|| home.count("a", "in_progress") > told).await;
    house.advance_ms(5_000);
    assert_eq!(waiter.answer().await.outcome(), "claimed");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn every_waiter_is_told_done_the_moment_the_holder_confirms() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let mut waiters = Vec::new();
    for _ in 0..3 {
        waiters.push(home.waiter("k", json!({ "wait": "20s" })).await);
    }
    home.confirm("k", json!({ "token": THEIRS, "result": "well" })).await;
    for waiter in &mut waiters {
        let answer = waiter.answer().await;
        assert_eq!((answer.status, answer.outcome().as_str()), (200, "done"));
        assert_eq!(answer.json()["result"], "well");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wait_that_is_over_ends_in_progress_with_what_is_left() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "60s" })).await;
    // A wait above the maximum of 30 s is taken, and clamped.
    for (wait, ends_ms, left_ms) in [("5s", 5_000, 55_000), ("12h", 30_000, 25_000)] {
        let mut waiter = home.waiter("k", json!({ "wait": wait })).await;
        house.advance_ms(ends_ms);
        let answer = waiter.answer().await;
        assert_eq!((answer.status, answer.outcome().as_str()), (409, "in_progress"), "{wait}");
        assert_eq!(answer.json()["expires_in_ms"], left_ms, "{wait}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wait_is_not_over_before_its_time() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "60s" })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "10s")).await;
    house.advance_ms(9_999);
    // Whatever this woke has run by the time that another request is answered.
    assert_eq!(home.release("k", THEIRS).await.status, 200);
    assert_eq!(waiter.answer().await.outcome(), "claimed");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn who_waits_for_nothing_is_answered_at_once() {
    let house = House::new();
    let home = house.start().await;
    home.confirm("done", json!({})).await;
    home.claim("held", json!({ "token": OURS, "fingerprint": "one" })).await;
    let other = json!({ "wait": "30s", "fingerprint": "two" });
    for (key, fields, outcome) in [
        ("absent", json!({ "wait": "30s" }), "claimed"),
        ("done", json!({ "wait": "30s" }), "done"),
        ("held", json!({ "wait": "30s", "token": OURS }), "claimed"),
        ("held", other, "mismatch"),
        ("held", json!({ "wait": "0s" }), "in_progress"),
    ] {
        assert_eq!(home.claim(key, fields.clone()).await.outcome(), outcome, "{key} {fields}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn of_several_waiters_one_takes_over_and_the_others_go_on_waiting() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let tokens: Vec<_> = (0..3).map(|number| format!("waiter-0123456789-0123456789-{number}")).collect();
    let mut waiters = Vec::new();
    for token in &tokens {
        waiters.push(home.waiter("k", waiting(token, "20s")).await);
    }
    home.release("k", THEIRS).await;
    // First come, first served.
    let last = waiters.pop().unwrap();
    for (waiter, token) in waiters.iter_mut().zip(&tokens) {
        let answer = waiter.answer().await;
        assert_eq!((answer.outcome().as_str(), &answer.json()["token"]), ("claimed", &json!(token)));
        home.release("k", token).await;
    }
    let mut last = last;
    assert_eq!(last.answer().await.json()["attempt"], 4);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_waiter_whose_connection_is_gone_is_skipped_and_the_next_one_has_the_claim() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "60s" })).await;
    let gone = home.waiter("k", waiting("gone-0123456789-0123456789-0", "20s")).await;
    let mut next = home.waiter("k", waiting(OURS, "20s")).await;
    drop(gone);
    home.release("k", THEIRS).await;
    let answer = next.answer().await;
    assert_eq!((answer.outcome().as_str(), &answer.json()["token"]), ("claimed", &json!(OURS)));
    home.daemon.stop().await.unwrap();
}

/// The waiter hangs up when it has been called and its claim is on its way to the disk: nobody is left to take the
/// grant, which must not hold the key until it expires.
#[tokio::test]
async fn a_grant_that_could_not_be_written_is_released() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "processing_ttl": "60s" })).await;
    let waiter = home.waiter("k", waiting("gone-0123456789-0123456789-0", "20s")).await;
    let mut next = home.waiter("k", waiting(OURS, "20s")).await;
    // Asked without a connection, so that this task goes on before the waiter that is called.
    let (ledger, token) = (home.daemon.ledger(), Token::parse(THEIRS).unwrap());
    ledger.ask(key("k"), Ask::Release { token }).await.unwrap();
    drop(waiter);
    // What stands before the waiter's claim in the queue takes much longer than noticing the end of its connection.
    let long = (0..5_000).map(|number| (key(&format!("l{number}")), Ask::Claim(AskClaim::default())));
    let (_, answer) = tokio::join!(ledger.ask_all(long.collect()), next.answer());
    let json = answer.json();
    assert_eq!((answer.outcome().as_str(), &json["token"]), ("claimed", &json!(OURS)));
    assert_eq!(json["attempt"], 3, "the second attempt was granted to nobody");
    assert_eq!(json["previous"], "released");
    home.daemon.stop().await.unwrap();
}

/// Asks, and hangs up as soon as it has been asked.
async fn begun_and_dropped(asking: impl Future) {
    let mut asking = Box::pin(asking);
    poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending())).await;
}

/// The caller had gone before the commit was through: the key was free or finished, and nobody told those who waited.
#[tokio::test]
async fn a_waiter_is_called_though_the_caller_that_ends_the_claim_has_gone() {
    let house = House::new();
    let home = house.start().await;
    let ledger = home.daemon.ledger();
    let token = || Token::parse(THEIRS).unwrap();
    let confirm = || Ask::Confirm { token: None, confirmed_ttl: None, result: None };
    for (ask, in_batch, outcome) in [
        (Ask::Release { token: token() }, false, "claimed"),
        (Ask::Release { token: token() }, true, "claimed"),
        (Ask::Forget, false, "claimed"),
        (confirm(), false, "done"),
        (confirm(), true, "done"),
    ] {
        home.claim("k", json!({ "token": THEIRS })).await;
        let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
        let label = format!("{ask:?} in a batch: {in_batch}");
        if in_batch {
            begun_and_dropped(ledger.ask_all(vec![(key("k"), ask)])).await;
        } else {
            begun_and_dropped(ledger.ask(key("k"), ask)).await;
        }
        assert_eq!(waiter.answer().await.outcome(), outcome, "{label}");
        home.forget("/a/k").await;
    }
    assert_eq!((home.count("a", "released"), home.count("a", "confirmed")), (2, 2), "they are counted too");
    home.daemon.stop().await.unwrap();
}

/// A worker that asked again for what it held, and hung up, had its claim released under its hands.
#[tokio::test]
async fn a_holder_that_repeats_its_claim_and_hangs_up_keeps_it() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": OURS, "processing_ttl": "60s" })).await;
    let ledger = home.daemon.ledger();
    let claim = || AskClaim { token: Some(Token::parse(OURS).unwrap()), ..AskClaim::default() };
    begun_and_dropped(ledger.claim_waiting(key("k"), claim(), Duration::from_secs(5))).await;
    let (_, grant) = ledger.claim_waiting(key("k"), claim(), Duration::from_secs(5)).await.unwrap();
    assert!(grant.is_none(), "what nobody receives would be released");
    ledger.finish().await;
    assert_eq!(home.claim("k", json!({})).await.outcome(), "in_progress");
    home.daemon.stop().await.unwrap();
}

/// The answer was lost, its caller asked again and went to work, and then the loss of the first answer was noticed.
#[tokio::test]
async fn a_claim_asked_for_again_is_not_released_for_its_first_answer() {
    let house = House::new();
    let home = house.start().await;
    let (ledger, wait) = (home.daemon.ledger(), Duration::from_secs(5));
    let claim = || AskClaim { token: Some(Token::parse(OURS).unwrap()), ..AskClaim::default() };
    begun_and_dropped(ledger.claim_waiting(key("lost-early"), claim(), wait)).await;
    let (_, _grant) = ledger.claim_waiting(key("lost-early"), claim(), wait).await.unwrap();
    let mut lost = Vec::new();
    for id in ["again", "again-in-batch", "again-waiting"] {
        lost.push(ledger.claim_waiting(key(id), claim(), wait).await.unwrap());
    }
    ledger.ask(key("again"), Ask::Claim(claim())).await.unwrap();
    ledger.ask_all(vec![(key("again-in-batch"), Ask::Claim(claim()))]).await;
    ledger.claim_waiting(key("again-waiting"), claim(), wait).await.unwrap();
    drop(lost);
    ledger.finish().await;
    for id in ["lost-early", "again", "again-in-batch", "again-waiting"] {
        assert_eq!(home.claim(id, json!({})).await.outcome(), "in_progress", "{id}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_stop_can_wait_for_what_was_granted_to_nobody() {
    let house = House::new();
    let home = house.start().await;
    let ledger = home.daemon.ledger();
    let wait = Duration::from_secs(5);
    begun_and_dropped(ledger.claim_waiting(key("k"), AskClaim::default(), wait)).await;
    let (_, grant) = ledger.claim_waiting(key("l"), AskClaim::default(), wait).await.unwrap();
    drop(grant);
    ledger.finish().await;
    for id in ["k", "l"] {
        let record = ledger.read(key(id)).await.unwrap().record;
        assert!(matches!(record, Some(Record::Free(_))), "{id}: {record:?}");
    }
    home.daemon.stop().await.unwrap();
}

fn key(id: &str) -> Key {
    Key::new(&Namespace::parse("a").unwrap(), id).unwrap()
}

#[tokio::test]
async fn a_forgotten_key_is_granted_to_a_waiter() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    home.forget("/a/k").await;
    let json = waiter.answer().await.json();
    assert_eq!((&json["outcome"], &json["attempt"]), (&json!("claimed"), &json!(1)));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn waiters_of_one_key_do_not_hear_of_another() {
    let house = House::new();
    let home = house.start().await;
    for key in ["k", "l"] {
        home.claim(key, json!({ "token": THEIRS })).await;
    }
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    home.release("l", THEIRS).await;
    assert_eq!(home.count("a", "in_progress"), 1, "it has not even asked again");
    home.release("k", THEIRS).await;
    assert_eq!(waiter.answer().await.outcome(), "claimed");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_that_stops_tells_its_waiters_how_things_stand() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "30s")).await;
    // A restart was held up for as long as somebody waited, up to the drain, and nobody else could connect meanwhile.
    tokio::time::timeout(Duration::from_secs(10), home.daemon.stop()).await.unwrap().unwrap();
    let told = waiter.answer().await;
    assert_eq!((told.status, told.outcome().as_str()), (409, "in_progress"));
    assert_eq!(told.header("connection"), Some("close"));
    assert!(waiter.is_closed().await);
    let home = house.start().await;
    assert_eq!(home.claim("k", json!({})).await.json()["attempt"], 1, "it was never granted");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_pipelined_request_is_answered_after_the_wait() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let mut waiter = home.waiter("k", waiting(OURS, "20s")).await;
    waiter.send(post("/v1/confirm", &on("k", json!({ "token": OURS })).to_string())).await;
    home.release("k", THEIRS).await;
    assert_eq!(waiter.answer().await.outcome(), "claimed");
    let confirmed = waiter.answer().await;
    assert_eq!((confirmed.outcome().as_str(), &confirmed.json()["overrun"]), ("confirmed", &json!(false)));
    home.daemon.stop().await.unwrap();
}
