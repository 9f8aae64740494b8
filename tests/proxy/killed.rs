//! The program is killed in the middle of an attempt, or right after a failure was answered: whose events come back, and
//! what is there of those that do not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Place, Process};
use crate::harness::{App, Event, Reply, SECRET, soon};
use crate::tools::SmallDisk;

/// Sends an event that this app answers, and gives the attempt number that the app saw.
async fn handed_over(process: &Process, app: &mut App, event: &Event, reply: Reply) -> String {
    let mut sender = process.sent(event).await;
    let seen = app.answers(reply).await;
    assert_eq!(sender.answer().await.header("onced-outcome"), Some("forwarded"));
    seen.attempt().to_owned()
}

/// The marker was written before the work and outlived the crash: every retry was swallowed as a duplicate, or turned away
/// until the claim had run out. Whatever ends an attempt, the next try is handed over, and at once.
#[tokio::test]
async fn a_failed_attempt_gives_its_event_back_at_once_and_one_that_died_with_the_process_does_too() {
    let mut app = App::start().await;
    let place = Place::new(&app, SECRET, "max_duration = \"300ms\"\nprocessing_ttl = \"1h\"\n");
    let mut process = Process::start(&place.config);
    let handled = Event::github("handled", "{}");
    assert_eq!(handed_over(&process, &mut app, &handled, Reply::ok()).await, "1");
    let rows = [
        ("500", Some(Reply::status(500))),
        ("reset", Some(Reply::Reset(Vec::new()))),
        ("silence", None),
        ("killed", None),
    ];
    for (case, reply) in rows {
        let event = Event::github(case, "{}");
        let synced = process.commits().await;
        let mut sender = process.sent(&event).await;
        let hit = app.hit().await;
        if case == "killed" {
            // The app may have the event before its claim is on the disk.
            while process.commits().await == synced {}
            process.kill();
            drop(hit);
            process = Process::start(&place.config);
        } else if let Some(reply) = reply {
            hit.answer(reply);
            assert!(sender.answer().await.status() >= 500, "{case}");
        } else {
            assert_eq!(sender.answer().await.status(), 504, "{case}");
            drop(hit);
        }
        assert_eq!(handed_over(&process, &mut app, &event, Reply::ok()).await, "2", "{case}");
        process.post(&event).await.assert(200, "duplicate");
    }
    process.post(&handled).await.assert(200, "duplicate");
    app.assert_quiet();
    let log = process.stop();
    let line = log.lines().find(|line| line.contains("died with the last process")).unwrap();
    for said in ["\"released\":1", "\"held\":0", "\"lost\":1", "\"level\":\"WARN\""] {
        assert!(line.contains(said), "{said} in {line}");
    }
}

#[tokio::test]
async fn an_app_that_is_not_there_uses_up_no_try() {
    let app = App::absent().await;
    let place = Place::new(&app, SECRET, "processing_ttl = \"1h\"\n");
    let process = Process::start(&place.config);
    let event = Event::github("refused", "{}");
    process.post(&event).await.assert(502, "failed");
    let mut app = app.appear().await;
    assert_eq!(handed_over(&process, &mut app, &event, Reply::ok()).await, "2");
}

/// A route may rather wait than risk a second hand-over; a claim of the API may have a holder who outlived us.
#[tokio::test]
async fn what_is_to_be_held_and_what_is_somebody_elses_outlives_the_process() {
    let mut app = App::start().await;
    let hold = "on_unknown_outcome = \"hold\"\nin_flight = \"busy\"\nprocessing_ttl = \"1h\"\n";
    let place = Place::new(&app, SECRET, hold);
    let process = Process::start(&place.config);
    let claim = json!({"namespace": "a", "key": "k", "processing_ttl": "1h"});
    assert_eq!(process.ask("claim", &claim).await.status(), 201);
    let event = Event::github("e-1", "{}");
    let _sender = process.sent(&event).await;
    // Whatever the app has is on the disk as held.
    let hit = app.hit().await;
    process.kill();
    drop(hit);

    let process = Process::start(&place.config);
    process.post(&event).await.assert(503, "in_progress");
    assert_eq!(process.ask("claim", &claim).await.status(), 409);
    // A route that is gone says nothing any more of how it wanted it.
    process.kill();
    let whole = std::fs::read_to_string(&place.config).unwrap();
    std::fs::write(&place.config, whole.replace("name = \"github\"", "name = \"other\"")).unwrap();
    Process::start(&place.config).kill();
    std::fs::write(&place.config, whole).unwrap();
    let process = Process::start(&place.config);
    assert_eq!(handed_over(&process, &mut app, &event, Reply::ok()).await, "2");
    assert_eq!(process.ask("claim", &claim).await.status(), 409);
    process.stop();
}

async fn letters(process: &Process) -> Vec<Value> {
    let (mut letters, mut after) = (Vec::new(), String::new());
    loop {
        let answer = process.get(&format!("/v1/dead-letters?limit=7{after}")).await;
        let page: Value = serde_json::from_slice(&answer.body).unwrap();
        letters.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return letters,
        }
    }
}

fn files(events: &Path) -> usize {
    std::fs::read_dir(events).map_or(0, Iterator::count)
}

/// The sender has its answer and does not come again. So what it was an answer to must be there, whole, even if the process
/// ends the moment after; and of what nobody was told of nothing may be left over.
#[tokio::test]
async fn a_dead_letter_whose_failure_was_answered_outlives_a_kill_right_after_it() {
    const ROUNDS: usize = 20;
    const BODIES: [usize; 4] = [0, 2_000, 300_000, 5 << 20];
    let mut app = App::start().await;
    let place = Place::new(&app, SECRET, "");
    let events = place.config.with_file_name("store").join("events");
    let mut answered: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut unanswered = 0;
    let config = std::fs::read_to_string(&place.config).unwrap();
    for round in 0..ROUNDS {
        // A claim may wait for its sync; a dead letter never does.
        let mode = if (round / BODIES.len()).is_multiple_of(2) { "always" } else { "interval" };
        std::fs::write(&place.config, config.replace("[store]", &format!("[store]\nsync = \"{mode}\""))).unwrap();
        let process = Process::start(&place.config);
        for (id, body) in &answered {
            if body.len() < 10_000 || round % 5 == 0 {
                assert_eq!(&process.get(&format!("/v1/events/{id}/body")).await.body, body, "round {round}");
            }
        }
        let kept = letters(&process).await;
        let missing = answered.keys().find(|id| !kept.iter().any(|letter| letter["id"] == **id));
        assert_eq!(missing, None, "round {round}");
        assert!(kept.len() <= answered.len() + unanswered, "round {round}");
        let with_file = kept.iter().filter(|letter| letter["body_bytes"].as_u64().unwrap() > 32 << 10).count();
        assert_eq!(files(&events), with_file, "round {round}: a file without an event, or the other way round");
        let metrics = process.text("/metrics").await;
        let gauge = "onced_dead_letters{route=\"github\",cause=\"rejected\"} ";
        let said = metrics.lines().find_map(|line| line.strip_prefix(gauge)).unwrap_or("0");
        assert_eq!(said, kept.len().to_string(), "round {round}");

        let body: Vec<u8> = (0..BODIES[round % BODIES.len()]).map(|at| (at * (round + 3) % 253) as u8).collect();
        let mut sender = process.sent(&Event::github(&format!("e-{round}"), &body)).await;
        let mut others = Vec::new();
        for other in 0..3 {
            let body = vec![b'o'; 400_000 * other];
            others.push(process.sent(&Event::github(&format!("e-{round}-{other}"), body)).await);
        }
        let mut ours = None;
        for _ in 0..4 {
            let seen = app.answers(Reply::status(500)).await;
            if seen.header("onced-event-id") == Some(&format!("e-{round}")) {
                ours = seen.header("onced-delivery").map(ToOwned::to_owned);
            }
        }
        sender.answer().await.assert(500, "forwarded");
        process.kill();
        answered.insert(ours.unwrap(), body);
        unanswered += others.len();
    }
    assert_eq!(answered.len(), ROUNDS);
}

#[tokio::test]
async fn files_that_no_event_names_are_removed_at_the_start_and_those_of_others_are_not() {
    let mut app = App::start().await;
    let place = Place::new(&app, SECRET, "");
    let process = Process::start(&place.config);
    handed_over(&process, &mut app, &Event::github("e-1", vec![b'b'; 40_000]), Reply::status(500)).await;
    process.kill();
    let events = place.config.with_file_name("store").join("events");
    assert_eq!(files(&events), 1);
    let orphan = events.join("0123456789abcdef");
    std::fs::write(&orphan, "half of").unwrap();
    std::fs::write(events.join("notes.txt"), "somebody's").unwrap();
    let process = Process::start(&place.config);
    assert!(!orphan.exists());
    assert_eq!(files(&events), 2);
    let letters = letters(&process).await;
    let path = format!("/v1/events/{}/body", letters[0]["id"].as_str().unwrap());
    assert_eq!(process.get(&path).await.body, vec![b'b'; 40_000]);
    process.stop();
}

/// Sends events with bodies of this length, all refused by the app; the names of those that were told of.
async fn failing(process: &Process, app: &mut App, prefix: &str, count: usize, bytes: usize) -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    for number in 0..count {
        let mut sender = process.sent(&Event::github(&format!("{prefix}-{number}"), vec![b'b'; bytes])).await;
        let seen = app.answers(Reply::status(500)).await;
        sender.answer().await.assert(500, "forwarded");
        told.insert(seen.header("onced-delivery").unwrap().to_owned());
    }
    told
}

/// Every letter with its body; how many there are, and that there is a file for each that needs one.
async fn whole(process: &Process, events: &Path, bytes: usize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for letter in letters(process).await {
        let id = letter["id"].as_str().unwrap().to_owned();
        let body = process.get(&format!("/v1/events/{id}/body")).await;
        assert_eq!((body.status(), &body.body), (200, &vec![b'b'; bytes]), "{id}");
        ids.insert(id);
    }
    assert_eq!(files(events), ids.len());
    ids
}

/// On a full disk half a body was kept under the name of a whole one. What fits is kept whole, and what does not is told of
/// as lost; the sender has its answer either way.
#[tokio::test]
async fn a_full_disk_keeps_nothing_half_and_what_it_kept_outlives_it() {
    const BYTES: usize = 700_000;
    let Some(disk) = SmallDisk::mount(48) else { return };
    let mut app = App::start().await;
    let store = disk.path().join("store");
    let place = Place::with_store(&app, SECRET, "", Some(&store));
    let config = std::fs::read_to_string(&place.config).unwrap();
    std::fs::write(&place.config, config.replace("[store]", "[store]\nmin_free = \"0B\"")).unwrap();
    let events = store.join("events");
    let process = Process::start(&place.config);
    let lost = async |process: &Process| {
        let metrics = String::from_utf8(process.get("/metrics").await.body).unwrap();
        let samples = metrics.lines().filter(|line| line.starts_with("onced_events_not_kept_total"));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum::<usize>()
    };
    let mut told = BTreeSet::new();
    // By its own bodies first, then by somebody else's, to the last byte and to a few.
    told.extend(failing(&process, &mut app, "own", 60, BYTES).await);
    for leave in [2_000_000, 1_000_000, 300_000, 0] {
        disk.fill(leave);
        told.extend(failing(&process, &mut app, &format!("fill-{leave}"), 4, BYTES).await);
        disk.free();
    }
    soon("the store is back", async {
        while process.get("/readyz").await.status() != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let kept = whole(&process, &events, BYTES).await;
    assert!(kept.len() > 10 && kept.is_subset(&told), "{} of {}", kept.len(), told.len());
    assert!(told.len() - kept.len() <= lost(&process).await, "each that is lost is told of");
    assert!(lost(&process).await > 0);
    process.kill();
    let process = Process::start(&place.config);
    assert_eq!(whole(&process, &events, BYTES).await, kept);
    process.stop();
}
