//! What a start makes of a schedule that outlived its process.

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::app::{App, Reply};
use super::event::Event;
use super::place::{PATIENCE, assert_recognisable, event_of, queueing};
use crate::client::Client;
use crate::harness::eventually;

/// A due attempt begins this soon.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The one delivery of an event.
fn delivery(client: &mut Client, id: &str) -> Value {
    event_of(client, id)["deliveries"][0].clone()
}

fn until_attempts_are_recorded(client: &mut Client, id: &str, attempts: u64) -> Value {
    let settled = |delivery: &Value| delivery["attempts"] == attempts && delivery["state"] != "delivering";
    eventually(PATIENCE, "the attempt is recorded", || settled(&delivery(client, id)));
    delivery(client, id)
}

/// The row said "pending" and when the next attempt was due, but the timer that would run it had died with the process.
#[test]
fn an_attempt_that_fell_due_while_the_daemon_was_down_is_made_at_once_and_counts_on() {
    const BASE: Duration = Duration::from_secs(1);
    let app = App::new();
    app.does(|hit| Reply::Status(if hit.attempt < 3 { 500 } else { 200 }));
    app.appear();
    let house = queueing(&app, "[route.delivery]\nbackoff_base = \"1s\"\nbackoff_cap = \"8s\"\n");
    let daemon = house.start();
    let event = Event::new("e-1", 2_000);
    daemon.accepts(&event);
    until_attempts_are_recorded(&mut daemon.client(), "e-1", 1);
    daemon.kill();
    // Past the time at which it falls due, however it was jittered.
    thread::sleep(BASE + BASE / 4);
    assert_eq!(app.count(), 1);

    let daemon = house.start();
    let ready = Instant::now();
    app.until_count(2);
    let overdue = app.hits()[1].at.saturating_duration_since(ready);
    assert!(overdue < AT_ONCE, "{overdue:?} after it was ready");
    app.until_count(3);
    let hits = app.hits();
    let gap = hits[2].at - hits[1].at;
    assert!(gap >= BASE * 2 && gap < BASE * 5 / 2 + AT_ONCE, "{gap:?}");
    let delivery = until_attempts_are_recorded(&mut daemon.client(), "e-1", 3);
    assert_eq!(delivery["state"], "delivered", "{delivery}");
    assert_eq!(hits.iter().map(|hit| hit.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert_recognisable(&hits, &[("e-1".to_owned(), event.print())].into());
}

/// The attempt had happened and its record was lost; it was sent again under a new name, and nobody could recognise it.
#[test]
fn a_kill_right_after_the_app_said_yes_costs_one_more_hand_over_that_can_be_recognised() {
    const KILLS: usize = 3;
    let app = App::new();
    let (tell, told) = mpsc::channel();
    let told = Mutex::new(told);
    // Whom it is to kill the test says, once there is somebody; when there is nobody more, it answers.
    app.does(move |_| match told.lock().unwrap().recv() {
        Ok(pid) => Reply::HalfOf(Box::new(move || kill_process(pid, Signal::KILL).unwrap())),
        Err(_) => Reply::Status(200),
    });
    app.appear();
    let house = queueing(&app, "");
    let event = Event::new("e-1", 2_000);
    let mut daemon = house.start();
    daemon.accepts(&event);
    for crash in 1..=KILLS {
        tell.send(Pid::from_child(&daemon.child)).unwrap();
        daemon.wait(PATIENCE);
        app.settle();
        assert_eq!(app.count(), crash, "one hand-over for each crash");
        daemon = house.start();
    }
    drop(tell);
    app.until_count(KILLS + 1);
    daemon.until_empty();
    let mut client = daemon.client();
    let row = event_of(&mut client, "e-1");
    assert_eq!((&row["state"], &row["deliveries"][0]["attempts"]), (&"delivered".into(), &(KILLS + 1).into()), "{row}");
    let whole = client.get(&format!("/v1/events/{}", row["id"].as_str().unwrap())).text;
    assert_eq!(whole.matches("\"unknown\"").count(), KILLS, "{whole}");
    let hits = app.hits();
    assert_eq!(hits.iter().map(|hit| hit.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_recognisable(&hits, &[("e-1".to_owned(), event.print())].into());
}
