//! A backlog that has fallen due while the daemon was down: handed over within the limits, and new events not behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::app::{App, Hit, Reply};
use super::event::Event;
use super::place::{assert_recognisable, queueing};

const OVERDUE: usize = 600;
const FRESH: usize = 10;
const CONCURRENCY: usize = 10;
const BODY: usize = 200;
const BASE: Duration = Duration::from_secs(3);
/// What the app takes for one; all of them take it for two seconds or so.
const WORK: Duration = Duration::from_millis(30);

/// After an hour of downtime all that had fallen due went out in the same second and knocked the app over again, and an event
/// that came in waited behind all of it.
#[test]
fn an_overdue_backlog_keeps_to_the_concurrency_and_fresh_events_do_not_wait_for_its_end() {
    let app = App::new();
    // No failure of these opens the breaker: the app has answered.
    app.does(|_| Reply::Status(500));
    app.appear();
    let delivery =
        format!("concurrency = {CONCURRENCY}\nbackoff_base = \"{}s\"\nbackoff_cap = \"1h\"\n", BASE.as_secs());
    let house = queueing(&app, &format!("[route.delivery]\n{delivery}"));
    let daemon = house.start();
    daemon.accepts_many("old", OVERDUE, BODY);
    app.until_count(OVERDUE);
    daemon.kill();
    app.settle();
    let first = app.hits();
    assert!(first.iter().all(|hit| hit.attempt == 1), "the first retry is due after all of them have failed");
    thread::sleep(BASE + BASE / 4);

    app.most_at_once();
    let turn = AtomicUsize::new(0);
    app.does(move |hit| {
        thread::sleep(WORK);
        let fails = hit.attempt == 2 && turn.fetch_add(1, Ordering::SeqCst).is_multiple_of(3);
        Reply::Status(if fails { 503 } else { 200 })
    });
    let daemon = house.start();
    let ready = Instant::now();
    daemon.accepts_many("new", FRESH, BODY);
    let all_once = |hits: &[Hit]| seconds(hits).count() == OVERDUE;
    app.until("each overdue event", |hits| all_once(&hits[OVERDUE..]));
    let most = app.most_at_once();
    assert!(most <= CONCURRENCY && most > CONCURRENCY / 2, "{most} at a time");
    let hits = app.hits().split_off(OVERDUE);
    assert_fresh_came_early(&hits, ready);

    daemon.until_empty();
    let hits = app.hits();
    assert_own_steps(&hits[OVERDUE..]);
    let sent =
        (0..OVERDUE).map(|number| format!("old-{number}")).chain((0..FRESH).map(|number| format!("new-{number}")));
    let sent: BTreeMap<_, _> = sent.map(|id| (id.clone(), Event::new(id, BODY).print())).collect();
    assert_recognisable(&hits, &sent);
    let delivered = hits.iter().filter(|hit| hit.status == Some(200)).count();
    assert_eq!(delivered, sent.len(), "each once");
}

/// The second attempts of the backlog.
fn seconds(hits: &[Hit]) -> impl Iterator<Item = &Hit> {
    hits.iter().filter(|hit| hit.attempt == 2)
}

fn assert_fresh_came_early(hits: &[Hit], ready: Instant) {
    let fresh: Vec<_> = hits.iter().enumerate().filter(|(_, hit)| hit.event.starts_with("new-")).collect();
    assert_eq!(fresh.len(), FRESH);
    let (last_place, last) = fresh.last().unwrap();
    let left = seconds(&hits[*last_place..]).count();
    println!("{:?} after the start the last fresh event was there, and {left} of {OVERDUE} were left", last.at - ready);
    assert!(last.at - ready < Duration::from_secs(5));
    assert!(left > OVERDUE / 4, "{left} of the backlog came after all that were fresh");
}

/// What failed again waits for its own next step, and is handed over once more.
fn assert_own_steps(hits: &[Hit]) {
    let failed: BTreeMap<&str, Instant> =
        seconds(hits).filter(|hit| hit.status == Some(503)).map(|hit| (&*hit.event, hit.at)).collect();
    let thirds: BTreeMap<&str, Instant> =
        hits.iter().filter(|hit| hit.attempt == 3).map(|hit| (&*hit.event, hit.at)).collect();
    assert_eq!(failed.len(), OVERDUE / 3);
    assert_eq!(failed.keys().collect::<BTreeSet<_>>(), thirds.keys().collect::<BTreeSet<_>>());
    for (event, at) in &failed {
        let gap = thirds[event] - *at;
        assert!(gap >= BASE * 2, "{event} after {gap:?}");
    }
}
