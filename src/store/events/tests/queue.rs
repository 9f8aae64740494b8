//! The life of a queued event, rule by rule.

use super::*;
use crate::claim::{Claim, Command, Outcome, ProcessingTtl, Record, Token};
use crate::event::{Delivery, State};
use crate::store::{AnswerAt, OnStoreFailure, Request};

fn claim_of(key: Key) -> Request {
    let command = Command::Claim(Claim {
        token: Token::from_bits([1; 16]),
        processing_ttl: ProcessingTtl::new(Duration::from_secs(60)).unwrap(),
        retention: ConfirmedTtl::MAX,
        fingerprint: None,
        owner: None,
    });
    Request { key, command, on_failure: OnStoreFailure::Open, answer_at: AnswerAt::Sync }
}

#[tokio::test]
async fn an_accepted_event_is_due_with_what_was_sent_and_its_key_is_done() {
    let home = Home::new();
    for (number, body) in [(0, &b""[..]), (1, &[7; 3_000]), (2, &[8; 40_000])] {
        let Accepted::New { id, sequence } = home.accept(&format!("e-{number}"), body).await.unwrap() else { panic!() };
        assert_eq!(id.queued_sequence(), Some(sequence));
        let event = home.event(id).await;
        assert_eq!((event.sequence, event.body_bytes), (sequence, body.len() as u64));
        assert_eq!(event.state, State::Queued(Due { lane: DueLane::Fresh, at: home.now() }));
        assert_eq!(home.store.event_content(id).await.unwrap().map(|(_, content)| content), Some(content(body)));
        assert!(
            matches!(home.claim(&format!("e-{number}")).await, Some(Record::Done(done)) if done.event == Some(id.into()))
        );
        assert_eq!(home.due(DueLane::Fresh).await.len(), number + 1);
    }
    assert_eq!(home.due(DueLane::Retry).await, []);
    home.check().await;
    home.check_places();
    let home = home.reopen().await;
    assert_eq!(home.due(DueLane::Fresh).await.len(), 3);
    home.check().await;
}

#[tokio::test]
async fn events_without_a_key_are_all_new() {
    let home = Home::new();
    for _ in 0..2 {
        let accepted = home.store.accept(home.arrival(None), content(b"")).await.unwrap();
        assert!(matches!(accepted, Accepted::New { .. }));
    }
    assert_eq!(home.due(DueLane::Fresh).await.len(), 2);
}

#[tokio::test]
async fn a_repeat_is_a_duplicate_and_that_of_a_dead_event_queues_it_anew() {
    let home = Home::new();
    let id = home.queued("e").await;
    let duplicate = |requeued| Accepted::Duplicate { requeued };
    assert_eq!(home.accept("e", b"2").await.unwrap(), duplicate(false));
    home.hand_over(id, Next::Dead(Cause::Rejected)).await;
    assert_eq!(home.event(id).await.delivery.cause, Some(Cause::Rejected));
    home.advance(Duration::from_secs(60));
    assert_eq!(home.accept("e", &[2; 40_000]).await.unwrap(), duplicate(true));
    let event = home.event(id).await;
    assert_eq!(event.state, State::Queued(Due { lane: DueLane::Retry, at: home.now() }));
    let Delivery { attempts, budget_from, budget_at, cause, .. } = event.delivery;
    assert_eq!((attempts, budget_from, budget_at, cause), (1, 1, home.now(), None));
    home.hand_over(id, Next::Delivered).await;
    assert_eq!(home.accept("e", b"3").await.unwrap(), duplicate(false));
    assert_eq!(
        home.store.event_content(id).await.unwrap().map(|(_, content)| content),
        Some(content(b"e")),
        "what was sent first stays"
    );
    assert_eq!(std::fs::read_dir(home.store.dir().join("events")).unwrap().count(), 0, "no file is left behind");
    home.check().await;
}

#[tokio::test]
async fn what_somebody_is_at_work_on_is_not_accepted() {
    let home = Home::new();
    let key = home.arrival(Some("e")).key.unwrap();
    home.store.submit(claim_of(key.clone())).await.unwrap();
    let expires_at = Timestamp::from_millis(home.now().as_millis() + 60_000);
    assert_eq!(home.accept("e", b"").await.unwrap(), Accepted::InProgress { expires_at });
    assert!(home.all().is_empty());
    home.advance(Duration::from_secs(60));
    let id = home.queued("e").await;
    let Some(Record::Done(done)) = home.claim("e").await else { panic!() };
    assert_eq!((done.attempt, done.event), (2, Some(id.into())));
}

/// An event waited for longer than its key was remembered; its sender pressed "redeliver" and it was handed over twice.
#[tokio::test]
async fn a_key_is_done_as_long_as_its_event_waits_and_then_for_as_long_as_ever() {
    let home = Home::new();
    let (waits, dead) = (home.queued("waits").await, home.queued("dead").await);
    home.hand_over(dead, Next::Dead(Cause::Unreachable)).await;
    home.advance(TTL * 3);
    for key in ["waits", "dead"] {
        assert!(matches!(home.claim(key).await, Some(Record::Done(done)) if done.expires_at > home.now()), "{key}");
        let key = home.arrival(Some(key)).key.unwrap();
        let answer = home.store.submit(claim_of(key.clone())).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Done(_)), "{answer:?}");
        assert_eq!(home.store.remove_gone(vec![key]).await, Ok(0));
    }
    assert_eq!(home.store.sweep_step(None, 10).await.unwrap().gone, []);
    let home = home.reopen().await;
    assert_eq!(home.accept("waits", b"").await.unwrap(), Accepted::Duplicate { requeued: false });
    home.hand_over(waits, Next::Delivered).await;
    home.advance(TTL - Duration::from_secs(1));
    assert_eq!(home.accept("waits", b"").await.unwrap(), Accepted::Duplicate { requeued: false });
    home.advance(Duration::from_secs(1));
    assert_ne!(home.queued("waits").await, waits);
    home.check().await;
}

#[tokio::test]
async fn a_hand_over_is_counted_before_it_begins_and_its_end_moves_the_event() {
    let home = Home::new();
    let id = home.queued("e").await;
    let first = home.begin_due(id).await;
    let place = Due { lane: DueLane::Fresh, at: home.now() };
    assert_eq!((first.state, first.delivery.attempts), (State::Delivering(place), 1));
    let again = Timestamp::from_millis(home.now().as_millis() + 5_000);
    let finish = home.ended(&first, Next::Retry(again));
    home.store.finish(finish.clone()).await.unwrap();
    let retry = Due { lane: DueLane::Retry, at: again };
    let waiting = home.event(id).await;
    assert_eq!((waiting.state, &*waiting.delivery.excerpt), (State::Queued(retry), &b"said"[..]));
    home.store.finish(finish).await.unwrap();
    assert_eq!(home.event(id).await, waiting, "told twice it is one");
    assert_eq!(home.begin(id, How::Scheduled(place)).await, Begun::Gone, "it is not there any more");
    let page = home.store.due("q", DueLane::Retry, home.now(), &Default::default(), 9).await.unwrap();
    assert_eq!((page.due.len(), page.next_at), (0, Some(again)));
    home.advance(Duration::from_secs(5));
    let taken = [id].into_iter().collect();
    let page = home.store.due("q", DueLane::Retry, home.now(), &taken, 9).await.unwrap();
    assert_eq!(page, DuePage::default());
    home.hand_over(id, Next::Delivered).await;
    let event = home.event(id).await;
    assert_eq!((event.state, event.delivery.attempts), (State::Delivered { at: home.now() }, 2));
    assert_eq!(event.delivery.log.len(), 2);
    home.check().await;
    home.check_places();
}

#[tokio::test]
async fn a_hand_over_that_a_crash_cut_off_is_logged_as_unknown() {
    let home = Home::new();
    let id = home.queued("e").await;
    home.begin_due(id).await;
    let home = home.reopen().await;
    assert_eq!(home.event(id).await.state.name(), StateName::Queued, "nobody is at it");
    home.check().await;
    assert_eq!(home.due(DueLane::Fresh).await, [id], "it is overdue");
    let again = home.begin_due(id).await;
    assert_eq!(again.delivery.attempts, 2);
    let log: Vec<_> = again.delivery.log.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    assert_eq!(log, [(1, AttemptOutcome::Unknown)]);
    // The same where the process lives, and what it knew of the hand-over got lost.
    let again = home.begin_due(id).await;
    assert_eq!((again.delivery.attempts, again.delivery.log.len()), (3, 2));
}

#[tokio::test]
async fn a_place_that_no_event_names_is_dropped_when_it_is_met() {
    let home = Home::new();
    let id = home.queued("e").await;
    let stale = Due { lane: DueLane::Retry, at: home.now() };
    let event = Event { state: State::Queued(stale), ..home.event(id).await };
    home.store.shared.borrow(|engine| schedule::enter(engine, &event)).unwrap().unwrap();
    assert_eq!(home.due(DueLane::Retry).await, [id]);
    assert_eq!(home.begin(id, How::Scheduled(stale)).await, Begun::Gone);
    assert_eq!(home.due(DueLane::Retry).await, []);
    home.check_places();
}

/// Runs every way to begin against every state.
#[tokio::test]
async fn a_replay_goes_through_the_guard_and_force_goes_past_it() {
    let home = Home::new();
    for how in [How::Replay, How::Force] {
        let name = |state: &str| format!("{state}-{how:?}");
        let waits = home.queued(&name("waits")).await;
        assert!(matches!(home.begin(waits, how).await, Begun::Go(event) if event.delivery.attempts == 1));
        let dead = home.queued(&name("dead")).await;
        home.hand_over(dead, Next::Dead(Cause::Rejected)).await;
        let Begun::Go(event) = home.begin(dead, how).await else { panic!() };
        assert_eq!((event.delivery.attempts_in_budget(), event.delivery.cause), (1, None));
        assert!(matches!(event.state, State::Delivering(_)));
        home.store.finish(home.ended(&event, Next::Dead(Cause::TooOld))).await.unwrap();
        let delivered = home.queued(&name("delivered")).await;
        home.hand_over(delivered, Next::Delivered).await;
        match (how, home.begin(delivered, how).await) {
            (How::Replay, begun) => assert_eq!(begun, Begun::Duplicate),
            (_, Begun::Go(event)) => {
                assert_eq!(event.delivery.attempts, 2);
                home.store.finish(home.ended(&event, Next::Retry(home.now()))).await.unwrap();
                assert!(home.event(delivered).await.state.handled_at().is_some(), "it stays what it is");
            }
            (_, other) => panic!("{other:?}"),
        }
        home.check().await;
    }
    home.check_places();
}

#[tokio::test]
async fn a_delivered_event_that_nobody_keeps_goes_with_what_was_sent() {
    let home = Home::new();
    for (key, bytes) in [("small", 10), ("large", 40_000)] {
        let Accepted::New { id, .. } = home.accept(key, &vec![1; bytes]).await.unwrap() else { panic!() };
        let event = home.begin_due(id).await;
        home.store.finish(Finish { keep: false, ..home.ended(&event, Next::Delivered) }).await.unwrap();
        assert_eq!(home.store.event(id).await, Ok(None));
        assert_eq!(home.accept(key, b"").await.unwrap(), Accepted::Duplicate { requeued: false });
    }
    assert_eq!(home.store.room.counts().bytes, 0);
    assert_eq!(std::fs::read_dir(home.store.dir().join("events")).unwrap().count(), 0);
    home.check_places();
}

fn letter(home: &Home, key: &str) -> Failure {
    let arrival = home.arrival(Some(key));
    let key = arrival.key.unwrap();
    Failure {
        id: EventId::of_key(&key),
        route: arrival.route,
        namespace: arrival.namespace,
        key: Some(key),
        received_at: arrival.received_at,
        body_bytes: 1,
        app: arrival.app,
        attempt: 1,
        at: home.now(),
        took_ms: 1,
        outcome: AttemptOutcome::Answered,
        status: Some(500),
        cause: Cause::Rejected,
        excerpt: Box::default(),
    }
}

/// The sender of a dead letter may have brought it again meanwhile, and its app must not get it twice at a time.
#[tokio::test]
async fn a_dead_letter_of_a_route_without_a_queue_is_guarded_by_its_key() {
    let home = Home::new();
    for key in ["free", "held", "done"] {
        home.store.keep_event(letter(&home, key), async || content(b"x")).await.unwrap();
    }
    let id = |key: &str| EventId::of_key(&home.arrival(Some(key)).key.unwrap());
    let key = |key: &str| home.arrival(Some(key)).key.unwrap();
    home.store.submit(claim_of(key("held"))).await.unwrap();
    let confirm =
        Command::Confirm(crate::claim::Confirm { token: None, confirmed_ttl: ConfirmedTtl::MAX, result: None });
    home.store.submit(Request { command: confirm, ..claim_of(key("done")) }).await.unwrap();

    assert_eq!(home.begin(id("held"), How::Replay).await, Begun::InProgress);
    assert_eq!(home.begin(id("done"), How::Replay).await, Begun::Duplicate);
    assert_eq!(home.store.event(id("done")).await, Ok(None), "it was handled after all");
    let Begun::Go(event) = home.begin(id("free"), How::Replay).await else { panic!() };
    assert!(matches!(home.claim("free").await, Some(Record::Done(done)) if done.event == Some(event.id.into())));
    let answer = home.store.submit(claim_of(key("free"))).await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Done(_)), "its sender is told that it is safe");
    home.store.finish(home.ended(&event, Next::Dead(Cause::TooOld))).await.unwrap();
    assert!(matches!(home.claim("free").await, Some(Record::Free(_))), "its sender may bring it again");
    assert!(matches!(home.begin(id("held"), How::Force).await, Begun::Go(_)));
    assert!(matches!(home.claim("held").await, Some(Record::Held(_))), "whose claim it is stays");
    home.check().await;
}

#[tokio::test]
async fn a_handled_event_of_a_route_without_a_queue_is_kept_where_all_are_recorded() {
    let home = Home::new();
    let failure = letter(&home, "e");
    home.store.keep_event(failure.clone(), async || content(b"x")).await.unwrap();
    let passed = |attempt| crate::event::Passed {
        id: failure.id,
        route: failure.route.clone(),
        namespace: failure.namespace.clone(),
        key: failure.key.clone(),
        received_at: failure.received_at,
        body_bytes: 1,
        app: failure.app.clone(),
        attempt: Attempt {
            number: attempt,
            at: home.now(),
            took_ms: 5,
            outcome: AttemptOutcome::Delivered,
            status: Some(200),
        },
        at: home.now(),
        excerpt: Box::default(),
    };
    for attempt in [2, 3] {
        home.store.keep_passed(passed(attempt), content(b"x")).await.unwrap();
        let event = home.event(failure.id).await;
        assert_eq!((event.state, event.delivery.attempts), (State::Passed { at: home.now() }, attempt));
        assert_eq!(event.delivery.cause, None);
        home.check().await;
    }
    assert!(!home.store.has_events(), "no letter is left");
    home.store.settle_event(failure.id).await.unwrap();
    assert!(home.store.event(failure.id).await.unwrap().is_some(), "history is not settled away");
    home.check_places();
}

#[tokio::test]
async fn requeued_and_discarded_events_are_in_the_audit_list_and_others_stay() {
    let home = Home::new();
    let (dead, waits) = (home.queued("dead").await, home.queued("waits").await);
    home.hand_over(dead, Next::Dead(Cause::Rejected)).await;
    let ops = Actor::new("ops");
    let requeue = async |id| home.store.requeue(id, ops.clone(), Action::Redrive).await.unwrap();
    assert_eq!(requeue(dead).await, Requeued::Queued);
    assert_eq!(requeue(dead).await, Requeued::NotDead);
    assert_eq!(requeue(EventId::queued(9_999, [0; 8])).await, Requeued::Gone);
    home.begin_due(dead).await;
    assert_eq!(home.store.discard(dead, ops.clone()).await, Ok(Discarded::Delivering));
    assert_eq!(home.store.discard(waits, ops.clone()).await, Ok(Discarded::Discarded));
    assert_eq!(home.store.discard(waits, ops.clone()).await, Ok(Discarded::Gone));
    assert_eq!(home.accept("waits", b"").await.unwrap(), Accepted::Duplicate { requeued: false });
    let home = home.reopen().await;
    let page = home.store.audit(None, None, 10).await.unwrap();
    let deeds: Vec<_> = page.entries.iter().map(|entry| (entry.deed.action, entry.deed.target.to_string())).collect();
    assert_eq!(deeds, [(Action::Discard, waits.to_string()), (Action::Redrive, dead.to_string())]);
    assert_eq!(page.next, None);
    let first = home.store.audit(None, None, 1).await.unwrap();
    assert_eq!(home.store.audit(first.next, None, 10).await.unwrap().entries, page.entries[1..]);
    let (theirs, others) = (vec![Namespace::of_route("q").unwrap()], vec![Namespace::of_route("r").unwrap()]);
    assert_eq!(home.store.audit(None, Some(theirs), 10).await.unwrap().entries.len(), 2);
    assert_eq!(home.store.audit(None, Some(others), 10).await.unwrap().entries.len(), 0);
    home.check().await;
    home.check_places();
}

#[tokio::test]
async fn a_redrive_queues_every_dead_letter_once_whatever_becomes_of_it_meanwhile() {
    let mut home = Home::new();
    let mut dead = Vec::new();
    for number in 0..205 {
        let id = home.queued(&format!("e-{number}")).await;
        let cause = if number == 0 { Cause::TooOld } else { Cause::Rejected };
        home.hand_over(id, Next::Dead(cause)).await;
        dead.push(id);
    }
    home.advance(Duration::from_secs(1));
    let filter = Filter { cause: Some(Cause::Rejected), ..Filter::default() };
    let job = home.store.start_redrive(filter, Actor::new("ops")).await.unwrap();
    let first = home.store.redrive_step(job).await.unwrap().expect("there is one");
    assert_eq!(first, Progress { requeued: 200, is_done: false });
    // They fail again at once.
    for id in &dead[1..10] {
        home.hand_over(*id, Next::Dead(Cause::Rejected)).await;
    }
    home = home.reopen().await;
    assert_eq!(home.store.unfinished_redrives().await.unwrap(), [job]);
    let mut last = first;
    while let Some(progress) = home.store.redrive_step(job).await.unwrap() {
        last = progress;
    }
    assert_eq!(last, Progress { requeued: 204, is_done: true });
    assert_eq!(home.store.unfinished_redrives().await.unwrap(), []);
    let still_dead = EventSelection { state: Some(StateName::Dead), limit: 100, ..EventSelection::default() };
    let still_dead: Vec<_> = home.store.events(still_dead).await.unwrap().events.iter().map(|event| event.id).collect();
    assert_eq!(still_dead, dead[..10]);
    assert_eq!(home.store.audit(None, None, 9).await.unwrap().entries[0].deed.action, Action::RedriveMany);
    home.check().await;
    home.check_places();
}

#[tokio::test]
async fn history_goes_by_age_and_by_size_and_nothing_unfinished_with_it() {
    let home = Home::new();
    let (waits, dead) = (home.queued("waits").await, home.queued("dead").await);
    home.hand_over(dead, Next::Dead(Cause::Rejected)).await;
    let mut delivered = Vec::new();
    for number in 0..6 {
        let id = home.queued(&format!("e-{number}")).await;
        home.hand_over(id, Next::Delivered).await;
        delivered.push(id);
        home.advance(Duration::from_secs(10));
    }
    let left = |home: &Home| home.all().iter().map(|kept| kept.event.id).collect::<Vec<_>>();
    // Ages are 60, 50, ... 10 seconds.
    assert_eq!(home.store.trim(Duration::from_secs(45), u64::MAX).await, Ok(2));
    assert_eq!(home.store.trim(Duration::from_secs(45), u64::MAX).await, Ok(0));
    assert_eq!(left(&home), [&[waits, dead][..], &delivered[2..]].concat());
    let each = home.store.room.finished_bytes() / 4;
    assert_eq!(home.store.trim(Duration::MAX, each * 2 + each / 2).await, Ok(2));
    assert_eq!(left(&home), [&[waits, dead][..], &delivered[4..]].concat());
    while home.store.trim(Duration::ZERO, 0).await.unwrap() > 0 {}
    assert_eq!(left(&home), [waits, dead]);
    home.check().await;
    home.check_places();
}

#[tokio::test]
async fn a_bell_rings_when_something_has_come_into_the_schedule_of_its_route() {
    let home = Home::new();
    let (bell, other) = (home.store.bell("q"), home.store.bell("r"));
    let rung = |bell: &Arc<Notify>| {
        let mut notified = Box::pin(Arc::clone(bell).notified_owned());
        let waker = std::task::Waker::noop();
        notified.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready()
    };
    assert!(!rung(&bell));
    let id = home.queued("e").await;
    assert!(rung(&bell) && !rung(&other));
    let event = home.begin_due(id).await;
    assert!(!rung(&bell), "nothing has come");
    home.store.finish(home.ended(&event, Next::Retry(home.now()))).await.unwrap();
    assert!(rung(&bell));
    home.hand_over(id, Next::Dead(Cause::Rejected)).await;
    assert!(!rung(&bell));
    home.store.requeue(id, Actor::new("ops"), Action::Redrive).await.unwrap();
    assert!(rung(&bell));
}

#[tokio::test]
async fn what_is_too_much_is_not_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let time = ManualTime::new(START_MS);
    let small = StoreSettings { max_event_bytes: 40_000, ..settings(dir.path()) };
    let full = StoreSettings { min_free_bytes: u64::MAX, ..settings(dir.path()) };
    let (store, metrics) = open_at(small, &time);
    let home = Home { dir, time, store, metrics };
    let id = home.queued("a").await;
    assert!(matches!(home.accept("b", &[0; 40_000]).await, Err(NotKept::TooMany)));
    home.hand_over(id, Next::Delivered).await;
    let Home { dir, time, store, .. } = home;
    store.close().await.unwrap();
    drop(store);
    let (store, metrics) = open_at(full, &time);
    let home = Home { dir, time, store, metrics };
    assert!(matches!(home.accept("b", b"").await, Err(NotKept::LowDisk)));
    assert_eq!(home.event(id).await.body_bytes, 1, "what is there can be read");
}

/// A backlog was delivered but for some of its events, and its disk space did not come back.
#[tokio::test(flavor = "multi_thread")]
async fn what_lives_in_a_sparse_segment_moves_and_its_space_comes_back() {
    let home = Arc::new(Home::new());
    let body = vec![7; 30_000];
    let mut ids = Vec::new();
    for round in 0..24 {
        let accepts = (0..50).map(|number| {
            let (home, body) = (Arc::clone(&home), body.clone());
            tokio::spawn(async move { home.accept(&format!("e-{round}-{number}"), &body).await.unwrap() })
        });
        for accept in accepts.collect::<Vec<_>>() {
            let Accepted::New { id, .. } = accept.await.unwrap() else { panic!() };
            ids.push(id);
        }
    }
    let bytes = home.store.room.segments().bytes();
    assert!(bytes > 35_000_000, "{bytes}");
    for (number, id) in ids.iter().enumerate().filter(|(number, _)| number % 10 > 0) {
        let discarded = home.store.discard(*id, Actor::new("ops")).await.unwrap();
        assert_eq!(discarded, Discarded::Discarded, "{number}");
    }
    assert_eq!(home.store.room.segments().bytes(), bytes);
    let compacted = home.store.compact().await.unwrap();
    assert!(compacted.segments == 1 && compacted.moved > 100, "{compacted:?}");
    home.store.barrier().await.unwrap();
    let after = home.store.room.segments().bytes();
    assert!(after < bytes - 25_000_000, "{after} of {bytes}");
    for id in ids.iter().step_by(10) {
        assert_eq!(home.store.event_content(*id).await.unwrap().map(|(_, content)| content), Some(content(&body)));
    }
    home.check().await;
}
