//! Killed before each write and each sync of an event's life, one after the other.

use std::collections::BTreeSet;

use super::app::App;
use super::event::Event;
use super::place::{PATIENCE, assert_recognisable, event_of, queueing};
use crate::broken_disk::Broken;
use crate::client::Client;
use crate::harness::{Daemon, eventually};

/// More writes and syncs than a life has.
const STEPS: u32 = 100;
/// Steps that were survived in a row, at which all of a life has been seen. (What the daemon writes by itself now and then
/// takes a number now and then.)
const SURVIVED: u32 = 2;

/// What came of an event whose daemon was to be killed on the way.
enum End {
    Killed {
        acknowledged: bool,
    },
    /// The daemon wrote less often than that.
    Delivered,
}

/// Sends an event, and waits until the daemon has been killed or the event has been delivered.
fn end_of(mut daemon: Daemon, event: &Event) -> End {
    let answer = event.send(&mut daemon.sender(), "github");
    if let Ok(answer) = &answer {
        assert_eq!((answer.status, answer.header("onced-outcome")), (202, Some("accepted")), "{answer:?}");
    }
    let mut delivered = false;
    eventually(PATIENCE, "the daemon is killed, or the event delivered", || {
        delivered = is_delivered(&daemon, event).unwrap_or(false);
        delivered || daemon.child.try_wait().unwrap().is_some()
    });
    if daemon.child.try_wait().unwrap().is_some() {
        End::Killed { acknowledged: answer.is_ok() }
    } else {
        End::Delivered
    }
}

/// Whether the daemon says so; it may be killed over the question.
fn is_delivered(daemon: &Daemon, event: &Event) -> std::io::Result<bool> {
    let answer = Client::connect(&daemon.address)?.send("GET", "/v1/events?state=delivered&limit=1000", "")?;
    Ok(answer.get("items").as_array().unwrap().iter().any(|row| row["key"] == *event.id))
}

/// A kill between the event and its mark left a claim without an event, so that the sender's next try was called a duplicate
/// of nothing; or an event without a claim, so that the next try made a second one of it.
#[test]
fn a_kill_before_any_write_or_sync_leaves_nothing_half_accepted_and_nothing_twice_under_two_names() {
    for bytes in [2_000, 300_000] {
        let app = App::new();
        app.appear();
        let Some(broken) = Broken::in_house(queueing(&app, "")) else { return };
        broken.house.start().stop();
        let (mut survived, mut acknowledged, mut unanswered) = (0, 0, 0);
        for step in 1..=STEPS {
            let event = Event::new(format!("e-{step}"), bytes);
            let before = app.count();
            let daemon = broken.house.start();
            broken.fault(&format!("all kill {step}"));
            let end = end_of(daemon, &event);
            broken.heal();
            app.settle();
            match end {
                End::Killed { acknowledged: true } => acknowledged += 1,
                End::Killed { acknowledged: false } => unanswered += 1,
                End::Delivered => survived += 1,
            }
            let daemon = broken.house.start();
            let again = event.send(&mut daemon.sender(), "github").unwrap();
            assert_eq!(again.status, 202, "step {step}: {again:?}");
            if matches!(end, End::Killed { acknowledged: true } | End::Delivered) {
                assert_eq!(again.header("onced-outcome"), Some("duplicate"), "step {step}: {again:?}");
            }
            daemon.until_empty();
            let hits = app.hits().split_off(before);
            let names: BTreeSet<_> = hits.iter().map(|hit| &hit.delivery).collect();
            assert_eq!(names.len(), 1, "step {step}: {hits:#?}");
            assert!(hits.len() <= 2, "step {step}: {hits:#?}");
            assert_recognisable(&hits, &[(event.id.clone(), event.print())].into());
            assert_eq!(event_of(&mut daemon.client(), &event.id)["state"], "delivered");
            daemon.kill();
            if survived == SURVIVED {
                break;
            }
        }
        println!("{bytes} bytes: {unanswered} kills before the acknowledgement, {acknowledged} after it");
        assert_eq!(survived, SURVIVED, "a life has fewer steps than that");
        assert!(unanswered > 2 && acknowledged > 2, "{unanswered} and {acknowledged} kills fell into a life");
    }
}
