//! Events that were never acknowledged.

use super::*;
use crate::claim::{Claim, Command, Free, ProcessingTtl, Record, Token};
use crate::store::content_log::ContentLog;
use crate::store::healthy::Healthy;
use crate::store::numbers::Numbers;
use crate::store::shared::Shared;
use crate::store::{SyncMode, directory};

/// Writes to a store that is closed as the commit thread does, but for the number and the sync: as if it had died there.
async fn cut_off<A: Ask>(home: Home, asks: Vec<A>) -> Home {
    home.store.close().await.unwrap();
    let Home { dir, time, store, .. } = home;
    let room = Arc::clone(&store.room);
    let path = store.dir().clone();
    drop(store);
    {
        let engine = Arc::new(Engine::open(&path.join(directory::RECORDS), 1 << 20, false).unwrap());
        let numbers = Numbers::after(engine.sequence().unwrap());
        let shared = Arc::new(Shared::new(Arc::default(), None, numbers));
        let mut healthy = Healthy::new(engine, shared, SyncMode::Always, 0);
        let (mut log, _) = ContentLog::open(&path).unwrap();
        let mut desk = healthy.desk(&mut log, Timestamp::from_millis(START_MS));
        for ask in asks {
            let (to, _from) = oneshot::channel();
            let mut asked = Asked::new(ask, Arc::clone(&room), to);
            work::Work::decide(&mut asked, &mut desk).unwrap();
        }
        log.sync().unwrap();
    }
    let (store, metrics) = open_at(settings(dir.path()), &time);
    Home { dir, time, store, metrics }
}

async fn accept_ask(home: &Home, key: Option<&str>) -> accept::Accept {
    let fresh = home.store.prepare(content(b"never acknowledged")).await.unwrap();
    accept::Accept { arrival: home.arrival(key), body_bytes: 18, random: [7; 8], fresh }
}

#[tokio::test]
async fn an_event_whose_commit_was_cut_off_is_gone_with_its_claim_and_nothing_else_is() {
    let home = Home::new();
    let safe = home.queued("safe").await;
    let asks = vec![accept_ask(&home, Some("e")).await, accept_ask(&home, None).await];
    let home = cut_off(home, asks).await;
    assert_eq!(home.all().iter().map(|kept| kept.event.id).collect::<Vec<_>>(), [safe]);
    assert_eq!(home.claim("e").await, None);
    assert_eq!(home.due(DueLane::Fresh).await, [safe]);
    home.check().await;
    home.check_places();
    home.queued("e").await;
}

/// An unfinished hand-over is no acceptance: what was written of it stays.
#[tokio::test]
async fn what_was_cut_off_of_a_hand_over_leaves_the_event_where_it_can_be_found() {
    let home = Home::new();
    let id = home.queued("e").await;
    let ask = home.begin_ask(id, How::Scheduled(home.event(id).await.state.due().unwrap()));
    let home = cut_off(home, vec![ask]).await;
    assert_eq!(home.event(id).await.delivery.attempts, 1);
    assert_eq!(home.due(DueLane::Fresh).await, [id]);
    home.check().await;
}

/// The group failed, nobody was told of it, and yet its events were handed over when the store was back, beside those that
/// their senders brought again.
#[tokio::test]
async fn an_event_of_a_group_that_failed_is_gone_when_the_store_is_back() {
    let key = |home: &Home| home.arrival(Some("e")).key.unwrap();
    for writes in 0..7 {
        let home = Home::new();
        let safe = home.queued("safe").await;
        // The claim was released before, and its attempts go on from there.
        let token = Token::from_bits([1; 16]);
        let claim = Claim {
            token: token.clone(),
            processing_ttl: ProcessingTtl::new(TTL).unwrap(),
            retention: ConfirmedTtl::MAX,
            fingerprint: None,
            owner: None,
        };
        for command in [Command::Claim(claim), Command::Release { token }] {
            let request = crate::store::Request {
                key: key(&home),
                command,
                on_failure: crate::store::OnStoreFailure::Open,
                answer_at: crate::store::AnswerAt::Sync,
            };
            home.store.submit(request).await.unwrap();
        }
        home.store.shared.borrow(|engine| engine.fail_after(writes)).unwrap();
        let accepted = home.accept("e", b"x").await;
        if writes >= 5 {
            assert!(accepted.is_ok(), "schedule, entry, claim, number and sync are five: {accepted:?}");
            continue;
        }
        assert!(matches!(accepted, Err(NotKept::Store(_))), "{accepted:?} after {writes}");
        assert!(matches!(home.accept("e", b"x").await, Err(NotKept::Store(_))), "the store is down");
        home.come_back().await;
        assert_eq!(home.all().iter().map(|kept| kept.event.id).collect::<Vec<_>>(), [safe], "{writes}");
        assert!(matches!(home.claim("e").await, Some(Record::Free(Free { attempt: 1, .. }))), "{writes}");
        // A place that was written before its entry is met and dropped.
        let taken = [safe].into_iter().collect();
        let met = home.store.due("q", DueLane::Fresh, home.now(), &taken, 9).await.unwrap();
        for (id, due) in met.due {
            assert_eq!(home.begin(id, How::Scheduled(due)).await, Begun::Gone);
        }
        home.check().await;
        home.check_places();
        home.queued("e").await;
        assert_eq!(home.store.event_content(safe).await.unwrap().map(|(_, content)| content), Some(content(b"safe")));
    }
}

/// sled's files were whole, and the content of an event that had been acknowledged was not: its segment was dropped because
/// of a record that nobody could read.
#[tokio::test]
async fn no_content_goes_at_the_start_while_an_entry_cannot_be_read() {
    let home = Home::new();
    let (small, large) = (home.queued("small").await, home.accept("large", &[1; 40_000]).await.unwrap());
    let Accepted::New { id: large, .. } = large else { panic!() };
    home.store.shared.borrow(|engine| [small, large].map(|id| engine.spoil_event(id))).unwrap();
    let home = home.reopen().await;
    let count = |name: &str| std::fs::read_dir(home.store.dir().join(name)).unwrap().count();
    assert_eq!((count("events"), count("contents")), (1, 1));
    for id in [small, large] {
        assert_eq!(home.store.discard(id, Actor::new("ops")).await, Ok(Discarded::Discarded));
    }
    let home = home.reopen().await;
    let count = |name: &str| std::fs::read_dir(home.store.dir().join(name)).unwrap().count();
    assert_eq!((count("events"), count("contents")), (0, 0));
}

/// One flipped bit, and an event that had been acknowledged was gone without a word: its place in the schedule was dropped,
/// and its sender's repeats were swallowed as duplicates for ever.
#[tokio::test]
async fn an_entry_that_cannot_be_read_keeps_its_place_until_its_event_comes_again() {
    let home = Home::new();
    let (damaged, next) = (home.queued("e").await, home.queued("next").await);
    let due = home.event(damaged).await.state.due().unwrap();
    home.store.shared.borrow(|engine| engine.spoil_event(damaged)).unwrap();
    let home = home.reopen().await;
    assert_eq!(home.gauge("onced_unreadable_events"), 1);
    assert_eq!(home.due(DueLane::Fresh).await, [damaged, next]);
    assert_eq!(home.store.begin(home.begin_ask(damaged, How::Scheduled(due))).await, Err(Fault::Damaged));
    assert_eq!(home.due(DueLane::Fresh).await, [damaged, next]);
    home.hand_over(next, Next::Delivered).await;
    let again = home.queued("e").await;
    assert_eq!(home.store.event_content(again).await.unwrap().map(|(_, content)| content), Some(content(b"e")));
    assert_eq!(home.accept("e", b"").await.unwrap(), Accepted::Duplicate { requeued: false });
    assert_eq!(home.begin(damaged, How::Scheduled(due)).await, Begun::Gone);
    home.hand_over(again, Next::Delivered).await;
    home.check().await;
    home.check_places();
}
