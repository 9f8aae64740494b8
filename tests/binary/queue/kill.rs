//! Killed at random moments under load, again and again: whatever was acknowledged reaches the app or is a dead letter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::app::{App, Hit, Reply};
use super::event::{Event, Print};
use super::place::{accepted, assert_recognisable, letters, queueing};
use crate::client::Client;
use crate::harness::Daemon;
use crate::kill::seed;

const ROUNDS: u64 = 100;
const SENDERS: u64 = 4;
/// All senders together send 200 events a second.
const PAUSE: Duration = Duration::from_millis(1_000 / 200 * SENDERS);
/// How long a daemon lives after it is ready.
const LIVES_MS: std::ops::Range<u64> = 50..900;
/// The sizes of bodies, each with how many of a hundred events have it.
const BODIES: [(usize, usize); 4] = [(60, 2_000), (34, 0), (5, 300_000), (1, 5 << 20)];
/// One event in so many is refused by the app for good.
const REFUSED: u64 = 50;
/// How long the app lives and is dead.
const APP_LIVES_MS: std::ops::Range<u64> = 200..1_500;
const APP_DEAD_MS: std::ops::Range<u64> = 50..400;

/// What was sent: the body, and whether it was acknowledged.
type Book = BTreeMap<String, (Print, bool)>;

/// Sends at its pace until the daemon is gone, first some of what was never answered.
fn send(daemon: &Daemon, name: &str, again: Vec<Event>, seed: u64, killed: &AtomicBool) -> (Book, Vec<Event>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut book, mut client) = (Book::new(), daemon.sender());
    let (begun, mut sent) = (Instant::now(), 0);
    let mut again = again.into_iter();
    loop {
        thread::sleep((begun + PAUSE * sent).saturating_duration_since(Instant::now()));
        let repeat = again.next();
        let is_repeat = repeat.is_some();
        let event = repeat.unwrap_or_else(|| event(&format!("{name}-{sent}"), &mut random));
        sent += 1;
        book.insert(event.id.clone(), (event.print(), false));
        let Ok(answer) = event.send(&mut client, "github") else {
            assert!(killed.load(Ordering::SeqCst), "an event was not answered before the kill");
            return (book, again.chain([event]).collect());
        };
        match answer.header("onced-outcome") {
            // It had been accepted, and the kill was faster than the answer.
            Some("duplicate") if is_repeat => assert_eq!(answer.status, 202),
            _ => accepted(&answer),
        }
        book.get_mut(&event.id).unwrap().1 = true;
    }
}

fn event(id: &str, random: &mut fastrand::Rng) -> Event {
    let mut sizes = BODIES.iter().flat_map(|(share, bytes)| std::iter::repeat_n(*bytes, *share));
    let bytes = sizes.nth(random.usize(..100)).unwrap();
    let refused = if random.u64(..REFUSED) == 0 { "refused-" } else { "" };
    Event::new(format!("{refused}{id}"), bytes)
}

/// What the app does with one hand-over: mostly it says yes.
fn mood(hit: &Hit) -> Reply {
    match (hit.event.starts_with("refused-"), fastrand::u8(..20)) {
        (true, _) => Reply::Status(410),
        (false, 0) => Reply::Status(500),
        (false, 1) => Reply::Close,
        (false, _) => Reply::Status(200),
    }
}

/// Loads the daemon and kills it at a random moment; what was sent meanwhile, and what has no answer.
fn load_and_kill(daemon: Daemon, round: u64, again: Vec<Event>, random: &mut fastrand::Rng) -> (Book, Vec<Event>) {
    let killed = AtomicBool::new(false);
    let life = Duration::from_millis(random.u64(LIVES_MS));
    let mut again: Vec<Vec<Event>> = vec![again, Vec::new(), Vec::new(), Vec::new()];
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (again, seed) = (again.pop().unwrap(), random.u64(..));
                let (daemon, killed) = (&daemon, &killed);
                scope.spawn(move || send(daemon, &format!("{round}-{sender}"), again, seed, killed))
            })
            .collect();
        thread::sleep(life);
        killed.store(true, Ordering::SeqCst);
        daemon.signal(rustix::process::Signal::KILL);
        let (mut book, mut open) = (Book::new(), Vec::new());
        for sender in senders {
            let (sent, unanswered) = sender.join().unwrap();
            book.extend(sent);
            open.extend(unanswered);
        }
        (book, open)
    })
}

/// The app dies and comes back until it is told to stop; then it lives.
fn die_and_come_back(app: &App, seed: u64, over: &AtomicBool) -> usize {
    let (mut random, mut deaths) = (fastrand::Rng::with_seed(seed), 0);
    while !over.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(random.u64(APP_LIVES_MS)));
        app.die();
        thread::sleep(Duration::from_millis(random.u64(APP_DEAD_MS)));
        app.appear();
        deaths += 1;
    }
    deaths
}

/// An answer had been sent while the event was in memory alone: some 40,000 acknowledged events never reached the books.
#[test]
fn whatever_was_acknowledged_reaches_the_app_or_is_a_dead_letter_over_a_hundred_kills_under_load() {
    let mut random = fastrand::Rng::with_seed(seed());
    let app = App::new();
    app.does(mood);
    app.appear();
    let delivery = "[route.delivery]\nconcurrency = 16\nbackoff_base = \"100ms\"\nbackoff_cap = \"1s\"\n\
                    breaker_probe = \"100ms\"\n[history]\nmax_bytes = \"20MiB\"\n";
    let house = queueing(&app, delivery);
    let (mut book, mut open) = (Book::new(), Vec::new());
    let over = AtomicBool::new(false);
    let (begun, deaths) = thread::scope(|scope| {
        let begun = Instant::now();
        let (app, over, seed) = (&app, &over, random.u64(..));
        let deaths = scope.spawn(move || die_and_come_back(app, seed, over));
        // However it ends, the app's thread is told.
        let told = Told(over);
        for round in 0..ROUNDS {
            let (sent, unanswered) = load_and_kill(house.start(), round, std::mem::take(&mut open), &mut random);
            app.settle();
            for (id, (print, acknowledged)) in sent {
                let entry = book.entry(id).or_insert((print, false));
                entry.1 |= acknowledged;
            }
            // Half of them are sent again, as their senders would; the others never.
            open = unanswered.into_iter().filter(|_| random.bool()).collect();
        }
        drop(told);
        (begun.elapsed(), deaths.join().unwrap())
    });
    let daemon = house.start();
    daemon.until_empty();
    assert_all_there(&mut daemon.client(), &app.hits(), &book);
    println!("{ROUNDS} rounds in {begun:?}; the app died {deaths} times");
}

/// Tells the app's thread that it is over, also when a test fails.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn assert_all_there(client: &mut Client, hits: &[Hit], book: &Book) {
    let prints = book.iter().map(|(id, (print, _))| (id.clone(), *print)).collect();
    assert_recognisable(hits, &prints);
    let delivered: BTreeSet<&str> = hits.iter().filter(|hit| hit.status == Some(200)).map(|hit| &*hit.event).collect();
    let dead: BTreeSet<String> =
        letters(client).iter().map(|letter| letter["key"].as_str().unwrap().to_owned()).collect();
    let acknowledged: BTreeSet<&str> =
        book.iter().filter(|(_, (_, acknowledged))| *acknowledged).map(|(id, _)| &**id).collect();
    let missing: Vec<_> = acknowledged.iter().filter(|id| !delivered.contains(*id) && !dead.contains(**id)).collect();
    let repeats = hits.len() - hits.iter().map(|hit| &hit.event).collect::<BTreeSet<_>>().len();
    println!(
        "{} sent, {} acknowledged, {} hand-overs ({repeats} repeats), {} delivered, {} dead letters, {} missing",
        book.len(),
        acknowledged.len(),
        hits.len(),
        delivered.len(),
        dead.len(),
        missing.len()
    );
    assert!(missing.is_empty(), "{missing:?}");
    assert!(dead.iter().all(|id| id.starts_with("refused-")), "{dead:?}");
    for (_, bytes) in BODIES {
        assert!(
            book.values().any(|(print, acknowledged)| *acknowledged && print.bytes == bytes),
            "none of {bytes} bytes"
        );
    }
    assert!(acknowledged.len() as u64 > 20 * ROUNDS && repeats > 0 && !dead.is_empty(), "there was something to lose");
}
