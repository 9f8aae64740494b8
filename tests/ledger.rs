//! The ledger over a real store in a temporary directory, with time in the test's hands.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use onced::claim::{ConfirmedTtl, Key, Namespace, Outcome, ProcessingTtl, Record, Standing, Token, decide};
use onced::clock::{ManualTime, Source};
use onced::ledger::{Ask, AskClaim, Ledger, LedgerSettings};
use onced::metrics::Metrics;
use onced::store::{OpenError, Selection, StateName, Store, StoreSettings, SyncMode};
use onced::sweep::{Pace, sweep_once};

const START_MS: u64 = 1_800_000_000_000;

struct House {
    dir: tempfile::TempDir,
    time: ManualTime,
    metrics: Arc<Metrics>,
    sync: SyncMode,
}

impl House {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            time: ManualTime::new(START_MS),
            metrics: Arc::new(Metrics::new()),
            sync: SyncMode::Always,
        }
    }

    fn open(&self) -> Arc<Ledger> {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<Arc<Ledger>, OpenError> {
        let settings = StoreSettings { sync: self.sync, ..StoreSettings::for_dir(self.dir.path().join("store")) };
        let store = Store::open(settings, Source::manual(&self.time), false, Arc::clone(&self.metrics))?;
        Ok(Arc::new(Ledger::new(store, LedgerSettings::default(), Arc::clone(&self.metrics))))
    }

    fn advance_ms(&self, millis: u64) {
        self.time.advance(Duration::from_millis(millis));
    }
}

fn key(id: &str) -> Key {
    Key::new(&Namespace::parse("a").unwrap(), id).unwrap()
}

fn token(number: u64) -> Token {
    Token::parse(&format!("token-of-22-characters-{number}")).unwrap()
}

fn claim(number: u64, ttl_ms: u64) -> Ask {
    let processing_ttl = ProcessingTtl::new(Duration::from_millis(ttl_ms)).ok();
    Ask::Claim(AskClaim { token: Some(token(number)), processing_ttl, ..AskClaim::default() })
}

fn confirm(number: u64, ttl_ms: u64) -> Ask {
    let confirmed_ttl = ConfirmedTtl::new(Duration::from_millis(ttl_ms)).ok();
    Ask::Confirm { token: Some(token(number)), confirmed_ttl, result: None }
}

async fn outcome(ledger: &Arc<Ledger>, id: &str, ask: Ask) -> Outcome {
    let answer = ledger.ask(key(id), ask).await.unwrap();
    assert_eq!(answer.degraded, None);
    answer.outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_callers_race_for_one_key_and_one_of_them_has_it() {
    let house = House::new();
    let ledger = house.open();
    for round in 0..200 {
        let id = format!("round-{round}");
        let race = (0..50).map(|caller| {
            let (ledger, id) = (Arc::clone(&ledger), id.clone());
            tokio::spawn(async move { outcome(&ledger, &id, claim(caller, 60_000)).await })
        });
        let mut claimed = 0;
        for caller in race.collect::<Vec<_>>() {
            match caller.await.unwrap() {
                Outcome::Claimed(_) => claimed += 1,
                other => assert!(matches!(other, Outcome::InProgress { attempt: 1, .. }), "{other:?}"),
            }
        }
        assert_eq!(claimed, 1, "{id}");
    }
}

/// Random commands, restarts and passing time against a plain map of records.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_random_steps_agree_with_a_plain_map() {
    let seed = std::env::var("ONCED_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("ONCED_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let house = House::new();
    let mut ledger = house.open();
    let mut model: HashMap<String, Record> = HashMap::new();
    let mut fence = 0;
    for step in 0..10_000 {
        let id = format!("k{}", random.u8(0..12));
        let number = random.u64(0..4);
        let ask = match random.u8(0..20) {
            0..8 => claim(number, random.u64(1..3_000)),
            8..11 => confirm(number, random.u64(1..20_000)),
            11..15 => Ask::Release { token: token(number) },
            15..17 => {
                let processing_ttl = ProcessingTtl::new(Duration::from_millis(random.u64(1..3_000))).ok();
                Ask::Extend { token: token(number), processing_ttl }
            }
            17 => Ask::Forget,
            18 if random.u8(0..40) == 0 => {
                ledger.store().close().await.unwrap();
                drop(ledger);
                house.advance_ms(random.u64(0..2_000));
                ledger = house.open();
                continue;
            }
            18 => {
                sweep_once(&ledger, &house.metrics, Pace::Straight).await.unwrap();
                continue;
            }
            _ => {
                house.advance_ms(random.u64(0..1_000));
                continue;
            }
        };
        let now = ledger.clock().now();
        let got = outcome(&ledger, &id, ask.clone()).await;
        if let Outcome::Claimed(claimed) = &got
            && !claimed.repeated
        {
            assert!(claimed.fence > fence, "step {step}: the fence went from {fence} to {}", claimed.fence);
            fence = claimed.fence;
        }
        let command = onced_command(ask);
        let moment = onced::claim::Moment { now, sequence: fence };
        let decision = decide(model.get(&id), &command, moment);
        assert_eq!(got, decision.outcome, "step {step} on {id}");
        match decision.change {
            onced::claim::Change::Keep => {}
            onced::claim::Change::Put(record) => drop(model.insert(id.clone(), record)),
            onced::claim::Change::Remove => drop(model.remove(&id)),
        }
        let read = ledger.read(key(&id)).await.unwrap().record;
        assert_eq!(standing(read.as_ref(), now), standing(model.get(&id), now), "step {step} on {id}");
    }
}

fn standing(record: Option<&Record>, now: onced::claim::Timestamp) -> Standing<'_> {
    record.map_or(Standing::Absent, |record| record.standing(now))
}

/// The command that the ledger's defaults make of an ask.
fn onced_command(ask: Ask) -> onced::claim::Command {
    use onced::claim::{Claim, Command, Confirm};
    let defaults = LedgerSettings::default().defaults;
    match ask {
        Ask::Claim(claim) => Command::Claim(Claim {
            token: claim.token.unwrap(),
            processing_ttl: claim.processing_ttl.unwrap_or(defaults.processing_ttl),
            retention: defaults.confirmed_ttl,
            fingerprint: claim.fingerprint,
            owner: claim.owner,
        }),
        Ask::Confirm { token, confirmed_ttl, result } => {
            Command::Confirm(Confirm { token, confirmed_ttl: confirmed_ttl.unwrap_or(defaults.confirmed_ttl), result })
        }
        Ask::Release { token } => Command::Release { token },
        Ask::Extend { token, processing_ttl } => {
            Command::Extend { token, processing_ttl: processing_ttl.unwrap_or(defaults.processing_ttl) }
        }
        Ask::Forget => Command::Forget,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_gets_the_key_the_moment_it_is_released_and_the_others_go_on_waiting() {
    let house = House::new();
    let ledger = house.open();
    outcome(&ledger, "k", claim(0, 60_000)).await;
    let wait = |number: u64| {
        let ledger = Arc::clone(&ledger);
        let claim = AskClaim { token: Some(token(number)), ..AskClaim::default() };
        tokio::spawn(async move { ledger.claim_waiting(key("k"), claim, Duration::from_secs(30)).await })
    };
    let mut waiters: Vec<_> = (1..=3).map(wait).collect();
    outcome(&ledger, "k", Ask::Release { token: token(0) }).await;
    let (first, index, rest) = first_of(waiters).await;
    waiters = rest;
    let (answer, mut grant) = first.unwrap();
    assert!(matches!(answer.outcome, Outcome::Claimed(ref claimed) if claimed.attempt == 2), "{answer:?}");
    grant.as_mut().unwrap().keep();
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()), "{index} took it, the others wait");
    outcome(&ledger, "k", confirm(9, 60_000)).await;
    for waiter in waiters {
        let (answer, grant) = waiter.await.unwrap().unwrap();
        assert!(matches!(answer.outcome, Outcome::Done(_)) && grant.is_none(), "{answer:?}");
    }
}

async fn first_of<T>(mut tasks: Vec<tokio::task::JoinHandle<T>>) -> (T, usize, Vec<tokio::task::JoinHandle<T>>) {
    let (first, index) = std::future::poll_fn(|context| {
        for (index, task) in tasks.iter_mut().enumerate() {
            if let std::task::Poll::Ready(done) = std::pin::Pin::new(task).poll(context) {
                return std::task::Poll::Ready((done.unwrap(), index));
            }
        }
        std::task::Poll::Pending
    })
    .await;
    drop(tasks.remove(index));
    (first, index, tasks)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_gets_the_key_when_its_holder_expires_and_gives_up_when_its_wait_is_over() {
    let house = House::new();
    let ledger = house.open();
    outcome(&ledger, "k", claim(0, 5_000)).await;
    let wait = |number: u64, seconds: u64| {
        let ledger = Arc::clone(&ledger);
        let claim = AskClaim { token: Some(token(number)), ..AskClaim::default() };
        tokio::spawn(async move { ledger.claim_waiting(key("k"), claim, Duration::from_secs(seconds)).await })
    };
    let short = wait(1, 2);
    let long = wait(2, 10);
    // Both have asked and been told in_progress once the store has seen two claims more.
    while !house.metrics.render().contains("outcome=\"in_progress\"} 2") {
        tokio::task::yield_now().await;
    }
    house.advance_ms(2_000);
    let (answer, _) = short.await.unwrap().unwrap();
    assert!(matches!(answer.outcome, Outcome::InProgress { .. }), "{answer:?}");
    assert!(!long.is_finished());
    house.advance_ms(3_000);
    let (answer, grant) = long.await.unwrap().unwrap();
    assert!(matches!(answer.outcome, Outcome::Claimed(_)), "{answer:?}");
    // Nobody takes the grant: the key is free again.
    drop(grant);
    while !matches!(outcome(&ledger, "k", claim(3, 5_000)).await, Outcome::Claimed(_)) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_removes_what_is_gone_and_nothing_else() {
    let house = House::new();
    let ledger = house.open();
    for number in 0..2_500 {
        outcome(&ledger, &format!("short-{number}"), confirm(0, 1_000)).await;
    }
    for number in 0..10 {
        outcome(&ledger, &format!("long-{number}"), confirm(0, 60_000)).await;
        outcome(&ledger, &format!("held-{number}"), claim(0, 1_000)).await;
    }
    house.advance_ms(1_000);
    let first = sweep_once(&ledger, &house.metrics, Pace::Straight).await.unwrap();
    assert_eq!((first.removed, first.left), (2_500, [0, 10, 10]));
    let second = sweep_once(&ledger, &house.metrics, Pace::Straight).await.unwrap();
    assert_eq!((second.removed, second.left), (0, [0, 10, 10]));
    assert!(house.metrics.render().contains("onced_store_records{state=\"done\"} 10"));
    assert!(house.metrics.render().contains("onced_swept_total 2500"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_gives_every_record_once_page_by_page() {
    let house = House::new();
    let ledger = house.open();
    for number in 0..25 {
        let ask = if number % 2 == 0 { claim(0, 60_000) } else { confirm(0, 60_000) };
        outcome(&ledger, &format!("k{number}"), ask).await;
    }
    let mut selection = Selection { limit: 4, state: Some(StateName::Done), ..Selection::default() };
    let mut seen = std::collections::HashSet::new();
    loop {
        let page = ledger.list(selection.clone()).await.unwrap();
        assert!(page.records.len() <= 4);
        for (key, record) in page.records {
            assert!(matches!(record, Record::Done(_)) && seen.insert(key));
        }
        let Some(next) = page.next else { break };
        selection.after = Some(next);
    }
    assert_eq!(seen.len(), 12);
    let other = Selection { namespace: Namespace::parse("b").ok(), limit: 4, ..Selection::default() };
    assert!(ledger.list(other).await.unwrap().records.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn lifetimes_hold_over_restarts_whatever_the_wall_clock_says() {
    const DAY: i64 = 86_400_000;
    for step in [365 * DAY, -DAY] {
        let house = House::new();
        let ledger = house.open();
        outcome(&ledger, "held", claim(0, 60_000)).await;
        outcome(&ledger, "done", confirm(0, 72 * 3_600_000)).await;
        house.time.step_wall(step);
        house.advance_ms(10_000);
        assert!(matches!(outcome(&ledger, "held", claim(1, 60_000)).await, Outcome::InProgress { .. }));
        close(ledger).await;
        house.time.step_wall(-step);
        let mut ledger = house.open();
        house.advance_ms(49_000);
        assert!(matches!(outcome(&ledger, "held", claim(1, 60_000)).await, Outcome::InProgress { .. }));
        house.advance_ms(1_000);
        assert!(matches!(outcome(&ledger, "held", claim(1, 60_000)).await, Outcome::Claimed(_)));
        assert!(matches!(outcome(&ledger, "done", claim(1, 60_000)).await, Outcome::Done(_)));
        close(ledger).await;
        // A reboot with a wall clock that is far off: the finished key is remembered, the held one is not stuck.
        house.time.step_wall(step);
        house.time.reboot("boot-2");
        ledger = house.open();
        assert!(matches!(outcome(&ledger, "done", claim(1, 60_000)).await, Outcome::Done(_)));
        house.advance_ms(60_000);
        assert!(matches!(outcome(&ledger, "held", claim(2, 60_000)).await, Outcome::Claimed(_)));
    }
}

async fn close(ledger: Arc<Ledger>) {
    ledger.store().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_does_not_fit_together_is_refused_with_a_way_out() {
    type Spoil = fn(&std::path::Path);
    let rows: [(&str, Spoil, &str); 6] = [
        ("newer", |dir| std::fs::write(dir.join("format"), "onced store, format 2\n").unwrap(), "has format 2"),
        ("no mark", |dir| std::fs::remove_file(dir.join("mark")).unwrap(), "mark is missing"),
        ("bad mark", |dir| std::fs::write(dir.join("mark"), "{}").unwrap(), "mark is damaged"),
        ("no records", |dir| std::fs::remove_dir_all(dir.join("records")).unwrap(), "records is missing"),
        ("no format", |dir| std::fs::remove_file(dir.join("format")).unwrap(), "format is missing"),
        ("lost tail", |dir| std::fs::remove_dir_all(dir.join("records")).unwrap(), "but commit"),
    ];
    for (name, spoil, text) in rows {
        let house = House::new();
        let dir = house.dir.path().join("store");
        let ledger = house.open();
        outcome(&ledger, "k", claim(0, 60_000)).await;
        ledger.store().close().await.unwrap();
        drop(ledger);
        spoil(&dir);
        if name == "lost tail" {
            // An older state of the records beside a newer mark, as a half-restored backup would leave it.
            let other = House::new();
            other.open().store().close().await.unwrap();
            std::fs::rename(other.dir.path().join("store/records"), dir.join("records")).unwrap();
        }
        let error = house.try_open().err().unwrap();
        assert!(error.to_string().contains(text), "{name}: {error}");
        let way_out = if name == "newer" { "install the version" } else { "from a backup, or move it away" };
        assert!(error.to_string().contains(way_out), "{name}: {error}");
    }
    let house = House::new();
    let _first = house.open();
    assert!(matches!(house.try_open(), Err(OpenError::InUse { .. })));
    let nowhere = StoreSettings::for_dir(house.dir.path().join("a/b/c"));
    let missing = Store::open(nowhere, Source::manual(&house.time), false, Arc::clone(&house.metrics));
    assert!(matches!(missing, Err(OpenError::Directory { .. })));
}
