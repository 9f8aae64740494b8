//! What is asked while a commit hangs, by callers who may have gone on without an answer.

use super::*;
use crate::claim::Record;
use crate::store::known::Known;

/// Asks for something whose caller gives up before it is decided.
async fn give_up_on<A: Ask>(home: &Home, ask: A) {
    let (to, from) = oneshot::channel();
    drop(from);
    let job = Job::Events(Box::new(Asked::new(ask, Arc::clone(&home.store.room), to)));
    assert!(home.store.shared.queue.push(job));
    home.store.barrier().await.unwrap();
}

/// The event was handed over while its sender waited, since it could not be accepted in time; then the commit came through
/// after all, and it was handed over once more, by another id.
#[tokio::test]
async fn an_event_is_not_accepted_once_its_caller_has_gone_on_without_it() {
    let home = Home::new();
    for body in [&b"small"[..], &[1; 40_000]] {
        let fresh = home.store.prepare(content(body)).await.unwrap();
        let arrival = home.arrival(Some("e"));
        give_up_on(&home, accept::Accept { arrival, body_bytes: 5, random: [7; 8], fresh }).await;
        assert_eq!((home.all(), home.claim("e").await), (vec![], None));
    }
    let files = home.store.dir().join("events");
    assert_eq!(std::fs::read_dir(files).unwrap().count(), 0);
    home.queued("e").await;
}

/// The budget of its attempts was used up by hand-overs that its app had never seen.
#[tokio::test]
async fn a_hand_over_that_nobody_waits_for_any_more_is_not_counted() {
    let home = Home::new();
    let id = home.queued("e").await;
    let due = home.event(id).await.state.due().unwrap();
    give_up_on(&home, home.begin_ask(id, How::Scheduled(due))).await;
    assert_eq!(home.event(id).await.delivery.attempts, 0);
    assert_eq!(home.due(DueLane::Fresh).await, [id]);
}

/// A key whose event had waited for longer than the key would be remembered by itself was claimed while a commit hung.
#[tokio::test]
async fn a_key_that_its_event_pins_is_done_for_whoever_reads_past_the_commits() {
    let home = Home::new();
    home.queued("e").await;
    home.advance(TTL * 3);
    let key = home.arrival(Some("e")).key.unwrap();
    let known = home.store.shared.read_past_commits(&key, home.now());
    let Known::Record(Some(Record::Done(done))) = known else { panic!("{known:?}") };
    assert!(done.expires_at > home.now());
}
