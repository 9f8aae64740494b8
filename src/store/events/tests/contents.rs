//! What was sent: safe before an entry names it, whatever becomes of the commit.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::store::kept::Place;

fn failure(home: &Home) -> Failure {
    let namespace = Namespace::of_route("open").unwrap();
    Failure {
        id: EventId::without_key([9; 16]),
        route: "open".into(),
        key: Key::new(&namespace, "k").ok(),
        namespace,
        received_at: home.now(),
        body_bytes: 6,
        app: "app".into(),
        attempt: 1,
        at: home.now(),
        took_ms: 0,
        outcome: AttemptOutcome::NeverReached,
        status: None,
        cause: Cause::Rejected,
        excerpt: Box::default(),
    }
}

fn segment(home: &Home, number: u32) -> PathBuf {
    home.store.dir().join("contents").join(format!("{number:010}.log"))
}

/// Takes the name of a segment that is not there yet, so that nothing can be appended to it.
fn block(home: &Home, number: u32) {
    fs::create_dir_all(segment(home, number)).unwrap();
}

/// A store whose first segment is whole and mostly dead, and what lives in it.
async fn sparse() -> (Home, EventId) {
    let home = Home::new();
    let safe = home.queued("safe").await;
    for number in 0..4 {
        let dead = home.queued(&format!("dead-{number}")).await;
        home.store.discard(dead, Actor::new("ops")).await.unwrap();
    }
    (home.reopen().await, safe)
}

/// The entries of what was moved named the new place before it was written. It could not be written, the database kept the
/// entries, and the segment in which the contents still lay was removed: events that had been acknowledged were lost.
#[tokio::test]
async fn what_is_moved_is_not_lost_where_the_content_log_cannot_be_written() {
    let (home, safe) = sparse().await;
    block(&home, 2);
    home.store.compact().await.unwrap_err();
    home.come_back().await;
    assert_eq!(home.store.event_content(safe).await.unwrap().map(|(_, content)| content), Some(content(b"safe")));
    let home = home.reopen().await;
    assert_eq!(home.store.event_content(safe).await.unwrap().map(|(_, content)| content), Some(content(b"safe")));
    assert_eq!(home.store.compact().await.unwrap(), Compacted { moved: 1, segments: 1 });
    assert_eq!(home.store.event_content(safe).await.unwrap().map(|(_, content)| content), Some(content(b"safe")));
    home.check().await;
}

/// The same of one commit that fails after its contents are safe.
#[tokio::test]
async fn what_is_moved_is_not_lost_where_the_database_fails() {
    for writes in 0..6 {
        let (home, safe) = sparse().await;
        home.store.shared.borrow(|engine| engine.fail_after(writes)).unwrap();
        let _either = home.store.compact().await;
        home.come_back().await;
        assert_eq!(
            home.store.event_content(safe).await.unwrap().map(|(_, content)| content),
            Some(content(b"safe")),
            "{writes}"
        );
        let home = home.reopen().await;
        assert_eq!(
            home.store.event_content(safe).await.unwrap().map(|(_, content)| content),
            Some(content(b"safe")),
            "{writes}"
        );
        home.check().await;
    }
}

/// Its sender was told that it was kept nowhere, and yet there was an entry, of a content that had never been written.
#[tokio::test]
async fn no_entry_names_a_content_that_could_not_be_written() {
    let home = Home::new();
    block(&home, 1);
    let refused = home.store.keep_event(failure(&home), async || content(b"letter")).await;
    assert!(matches!(refused, Err(NotKept::Store(_))), "{refused:?}");
    home.come_back().await;
    assert_eq!(home.all(), []);
    home.store.keep_event(failure(&home), async || content(b"letter")).await.unwrap();
    let kept = home.store.event_content(EventId::without_key([9; 16])).await.unwrap().unwrap();
    assert_eq!(kept.1, content(b"letter"));
}

/// What was sent came again with every attempt, and the damaged one stayed.
#[tokio::test]
async fn a_content_that_cannot_be_read_gives_way_to_the_next_one() {
    let home = Home::new();
    for body in [vec![1; 6], vec![1; 40_000]] {
        let told = Failure { id: EventId::without_key([body.len() as u8; 16]), ..failure(&home) };
        home.store.keep_event(told.clone(), async || content(&body)).await.unwrap();
        let kept = home.all().into_iter().find(|kept| kept.event.id == told.id).unwrap();
        match kept.place {
            Place::Log(span) => fs::write(segment(&home, span.segment), b"damaged").unwrap(),
            Place::File(file) => fs::remove_file(home.store.dir().join("events").join(file.name())).unwrap(),
        }
        assert_eq!(home.store.event_content(told.id).await, Err(Fault::Damaged));
        let again = Failure { attempt: 2, ..told.clone() };
        home.store.keep_event(again, async || content(&body)).await.unwrap();
        let (event, found) = home.store.event_content(told.id).await.unwrap().unwrap();
        assert_eq!((event.delivery.attempts, found), (2, content(&body)));
        home.check().await;
    }
}

/// Nothing names it any more or yet, but its segment stays until its entry is written, however many counts come in between.
#[tokio::test]
async fn what_is_laid_down_stays_until_it_is_named() {
    let home = Home::new();
    let id = EventId::without_key([9; 16]);
    let laid = home.store.lay(vec![(id, b"x".to_vec())]).await.unwrap().pop().unwrap();
    let span = laid.span();
    home.store.shared.borrow(|engine| engine.fail_after(0)).unwrap();
    assert!(home.accept("e", b"").await.is_err());
    home.come_back().await;
    assert_eq!(home.store.room.segments().read(id, span).unwrap(), b"x");
    drop(laid);
    assert!(home.store.room.segments().read(id, span).is_err(), "and then it goes");
}
