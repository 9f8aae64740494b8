//! What the tests of queue routes look at and step, beside the harness of the proxy.

use std::time::Duration;

use onced::clock::ManualTime;
use onced::event::{Event as Entry, EventId, State, StateName};
use onced::store::EventSelection;

use crate::harness::app::Hit;
use crate::harness::{App, Front, route, soon};

/// The wall clock of tests that step time.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

/// A queue route of this provider; `more` is further lines, those of `[route.delivery]` last.
pub(crate) fn queue(provider: &str, app: &App, more: &str) -> String {
    route(provider, app, &format!("mode = \"queue\"\n{more}"))
}

/// A daemon with one GitHub queue route, and its clock.
pub(crate) async fn github(app: &App, more: &str) -> (Front, ManualTime) {
    let time = ManualTime::new(START_MS);
    (Front::on_clock(&queue("github", app, more), &time).await, time)
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Turns of everything else after which what was about to come has mostly come.
const TURNS: usize = 200;

/// Lets everything else run for a while: what a test then says of quiet, it says of more than this moment.
pub(crate) async fn a_while() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// The requests that are here by now, or come in a while; a test that needs all of them goes on asking.
pub(crate) async fn hits(app: &mut App) -> Vec<Hit> {
    a_while().await;
    std::iter::from_fn(|| app.hit_by_now()).collect()
}

/// All events that are kept, those of the queue in the order of their arrival.
pub(crate) async fn entries(front: &Front) -> Vec<Entry> {
    let selection = EventSelection { limit: 1_000, ..EventSelection::default() };
    front.daemon.ledger().store().events(selection).await.unwrap().events
}

/// The one event that is kept.
pub(crate) async fn entry(front: &Front) -> Entry {
    let mut entries = entries(front).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

/// Waits until the one event that is kept is as it should be.
pub(crate) async fn until_entry(front: &Front, what: &str, holds: impl Fn(&Entry) -> bool) -> Entry {
    until_entries(front, what, |entries| matches!(entries, [entry] if holds(entry))).await.remove(0)
}

/// Waits until the events are as they should be.
pub(crate) async fn until_entries(front: &Front, what: &str, holds: impl Fn(&[Entry]) -> bool) -> Vec<Entry> {
    soon(what, async {
        loop {
            let entries = entries(front).await;
            if holds(&entries) {
                return entries;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// Waits until the one event waits after so many attempts; says until when, in milliseconds from now.
pub(crate) async fn until_waits(front: &Front, attempts: u32) -> u64 {
    let what = format!("waiting after attempt {attempts}");
    let entry = until_entry(front, &what, |entry| {
        matches!(entry.state, State::Queued(_)) && entry.delivery.attempts == attempts
    })
    .await;
    let due = entry.state.due().unwrap().at;
    due.as_millis() - front.daemon.ledger().clock().now().as_millis()
}

/// Waits until the one event is in this state.
pub(crate) async fn until_state(front: &Front, state: StateName) -> Entry {
    let entry = until_entry(front, state.as_str(), |entry| entry.state.name() == state).await;
    if state != StateName::Delivering {
        // What became of a hand-over can be read a moment before it has ended for those who would begin the next one.
        crate::harness::until("the end of the hand-over", || !front.daemon.delivery().is_at(entry.id)).await;
    }
    entry
}

/// What an app is told of an event.
pub(crate) fn id_of(delivery: &str) -> EventId {
    EventId::parse(delivery).unwrap()
}
