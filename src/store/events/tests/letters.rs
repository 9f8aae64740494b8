//! Dead letters of routes without a queue: against a plain map, and against damage.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::store::content_file;

fn open(settings: StoreSettings) -> (Store, Arc<Metrics>) {
    open_at(settings, &ManualTime::new(START_MS))
}

async fn discarded(store: &Store, number: u8) -> bool {
    store.discard(id(number), Actor::new("test")).await.expect("discarded") == Discarded::Discarded
}

fn id(number: u8) -> EventId {
    EventId::without_key([number; 16])
}

fn failure(number: u8, attempt: u32, cause: Cause, body_bytes: usize) -> Failure {
    let namespace = Namespace::parse_any("route:github").expect("good");
    Failure {
        id: id(number),
        route: "github".into(),
        key: Key::new(&namespace, &number.to_string()).ok(),
        namespace,
        received_at: Timestamp::from_millis(1),
        body_bytes: body_bytes as u64,
        app: "app".into(),
        attempt,
        at: Timestamp::from_millis(2),
        took_ms: 0,
        outcome: AttemptOutcome::NeverReached,
        status: None,
        cause,
        excerpt: Box::default(),
    }
}

async fn keep(store: &Store, number: u8, body: &[u8]) -> Result<(), NotKept> {
    let content = content(body);
    store.keep_event(failure(number, 1, Cause::Rejected, body.len()), async move || content).await
}

async fn all(store: &Store) -> Vec<Event> {
    let mut selection = EventSelection { limit: 3, ..EventSelection::default() };
    let mut events = Vec::new();
    loop {
        let page = store.events(selection.clone()).await.expect("a page");
        events.extend(page.events);
        selection.after = page.next;
        if selection.after.is_none() {
            return events;
        }
    }
}

fn files(store: &Store) -> usize {
    fs::read_dir(store.dir().join(content_file::DIR)).map_or(0, Iterator::count)
}

/// What the log should hold.
#[derive(Debug, Default)]
struct Model(BTreeMap<u8, (u32, Cause, Vec<u8>)>);

impl Model {
    async fn check(&self, store: &Store, metrics: &Metrics) {
        let found: Vec<_> = all(store).await.iter().map(|event| (event.id, event.delivery.attempts)).collect();
        let expected: Vec<_> = self.0.iter().map(|(number, (attempts, ..))| (id(*number), *attempts)).collect();
        assert_eq!(found, expected);
        for (number, (_, _, body)) in &self.0 {
            let (_, found) = store.event_content(id(*number)).await.expect("readable").expect("there");
            assert_eq!(found, content(body));
        }
        assert_eq!(files(store), self.0.values().filter(|(_, _, body)| body.len() > 32 << 10).count());
        assert_eq!(store.room.letters(), self.0.len() as u64);
        let text = metrics.render();
        for cause in Cause::ALL {
            let count = self.0.values().filter(|(_, found, _)| *found == cause).count();
            let gauge = format!("onced_dead_letters{{route=\"github\",cause=\"{}\"}} ", cause.as_str());
            // It is not there at all before the first of its kind.
            let shown = text.lines().find_map(|line| line.strip_prefix(&gauge)).unwrap_or("0");
            assert_eq!(shown, count.to_string(), "{gauge} in {text}");
        }
    }
}

#[tokio::test]
async fn random_failures_ends_and_restarts_leave_what_a_map_would_hold() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir().expect("a directory");
    let (mut store, mut metrics) = open(settings(dir.path()));
    let mut model = Model::default();
    for _ in 0..200 {
        let number = random.u8(..9);
        match random.u8(..10) {
            0..6 => {
                let body = vec![number; [0, 10, 3_000, 40_000][random.usize(..4)]];
                let cause = Cause::ALL[random.usize(..Cause::ALL.len())];
                let told = failure(number, 1, cause, body.len());
                let sent = content(&body);
                store.keep_event(told, async move || sent).await.expect("kept");
                let entry = model.0.entry(number).or_insert((0, cause, body));
                (entry.0, entry.1) = (entry.0 + 1, cause);
            }
            6 => {
                store.settle_event(id(number)).await.expect("settled");
                model.0.remove(&number);
            }
            7 | 8 => {
                let existed = discarded(&store, number).await;
                assert_eq!(existed, model.0.remove(&number).is_some());
            }
            _ => {
                store.close().await.expect("closed");
                drop(store);
                (store, metrics) = open(settings(dir.path()));
            }
        }
        model.check(&store, &metrics).await;
    }
}

#[tokio::test]
async fn a_file_that_is_torn_or_gone_is_never_taken_for_what_was_sent() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = open(settings(dir.path()));
    for number in 0..3 {
        keep(&store, number, &[7; 40_000]).await.expect("kept");
    }
    let path = |number: u8| {
        let kept = store.shared.borrow(|engine| engine.read_event(id(number))).expect("lent").expect("sound");
        let file = kept.expect("kept").place.file().expect("a file").name();
        store.dir().join(content_file::DIR).join(file)
    };
    fs::File::options().write(true).open(path(0)).and_then(|file| file.set_len(39_000)).expect("torn");
    fs::remove_file(path(1)).expect("removable");
    for number in 0..2 {
        assert_eq!(store.event_content(id(number)).await, Err(Fault::Damaged), "{number}");
    }
    assert_eq!(store.event_content(id(2)).await.expect("readable").expect("there").1, content(&[7; 40_000]));
    assert_eq!(all(&store).await.len(), 3, "that they are there can be told");
    assert!(discarded(&store, 0).await, "and they can be given up");
    store.close().await.expect("closed");
    drop(store);
    let (store, _) = open(settings(dir.path()));
    assert_eq!(all(&store).await.len(), 2, "a start does not fail for it");
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_left_out_and_can_be_discarded_or_made_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, metrics) = open(settings(dir.path()));
    for number in 0..4 {
        keep(&store, number, &[7; 40_000]).await.expect("kept");
    }
    for number in 1..4 {
        store.shared.borrow(|engine| engine.spoil_event(id(number))).expect("lent");
    }
    let ids = |events: Vec<Event>| events.iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!(ids(all(&store).await), [id(0)]);
    assert_eq!(store.event(id(1)).await, Err(Fault::Damaged));
    assert!(discarded(&store, 1).await);
    assert_eq!(store.event(id(1)).await, Ok(None));
    keep(&store, 2, b"new").await.expect("kept");
    assert_eq!(store.event_content(id(2)).await.expect("readable").expect("there").1, content(b"new"));
    store.close().await.expect("closed");
    drop(store);
    let (store, _) = open(settings(dir.path()));
    assert_eq!(ids(all(&store).await), [id(0), id(2)]);
    assert_eq!(files(&store), 4, "what may belong to the one that still cannot be read");
    assert!(discarded(&store, 3).await);
    store.close().await.expect("closed");
    drop(store);
    let (store, _) = open(settings(dir.path()));
    assert_eq!(files(&store), 1);
    drop(metrics);
}

/// The file that had been written for it stayed until the next start.
#[tokio::test]
async fn an_event_whose_entry_is_too_large_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = open(settings(dir.path()));
    let told = Failure { route: "a".repeat(10_000).into(), ..failure(1, 1, Cause::Rejected, 40_000) };
    let refused = store.keep_event(told, async || content(&[7; 40_000])).await;
    assert!(matches!(refused, Err(NotKept::Store(Fault::Database))), "{refused:?}");
    assert_eq!((files(&store), store.room.letters()), (0, 0));
    assert!(all(&store).await.is_empty());
}

#[tokio::test]
async fn room_is_given_back_and_what_is_on_its_way_counts() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = open(StoreSettings { max_event_bytes: 40_000, ..settings(dir.path()) });
    keep(&store, 1, &[7; 20_000]).await.expect("there is room");
    assert!(matches!(keep(&store, 2, &[7; 20_000]).await, Err(NotKept::TooMany)));
    let on_its_way = store.room.reserve(10_000).expect("there is room");
    assert!(matches!(keep(&store, 2, &[7; 10_000]).await, Err(NotKept::TooMany)));
    drop(on_its_way);
    keep(&store, 2, &[7; 10_000]).await.expect("there is room again");
    assert!(discarded(&store, 1).await);
    keep(&store, 3, &[7; 20_000]).await.expect("there is room again");
    store.close().await.expect("closed");
    drop(store);
    let (store, _) = open(StoreSettings { max_event_bytes: 40_000, ..settings(dir.path()) });
    assert!(matches!(keep(&store, 4, &[7; 20_000]).await, Err(NotKept::TooMany)), "counted anew");
}

#[tokio::test]
async fn a_page_holds_the_events_of_one_route_or_of_some_namespaces() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, _) = open(settings(dir.path()));
    for (number, route) in [(1, "a"), (2, "b"), (3, "a")] {
        let namespace = Namespace::of_route(route).expect("good");
        let told = Failure { route: route.into(), namespace, ..failure(number, 1, Cause::Rejected, 0) };
        store.keep_event(told, async || content(b"")).await.expect("kept");
    }
    let page = async |selection| {
        let page = store.events(selection).await.expect("a page");
        (page.events.iter().map(|event| event.id).collect::<Vec<_>>(), page.next)
    };
    let a = EventSelection { route: Some("a".into()), limit: 9, ..EventSelection::default() };
    assert_eq!(page(a.clone()).await, (vec![id(1), id(3)], None));
    assert_eq!(page(EventSelection { limit: 1, ..a.clone() }).await, (vec![id(1)], Some(id(1))));
    assert_eq!(page(EventSelection { after: Some(id(1)), ..a.clone() }).await, (vec![id(3)], None));
    let namespaces = Some(vec![Namespace::of_route("b").expect("good")]);
    assert_eq!(page(EventSelection { namespaces: namespaces.clone(), ..a.clone() }).await, (vec![], None));
    assert_eq!(page(EventSelection { namespaces, route: None, ..a }).await, (vec![id(2)], None));
}

/// An event that was sent before the store went down and is answered by the next commit thread's turn must not be told to
/// be kept by a store that is closed.
#[tokio::test]
async fn a_store_that_is_closed_keeps_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, metrics) = open(settings(dir.path()));
    store.close().await.expect("closed");
    let refused = keep(&store, 1, b"").await;
    assert!(matches!(refused, Err(NotKept::Store(Fault::Closed))), "{refused:?}");
    let lost = "onced_events_not_kept_total{route=\"github\",reason=\"store_closed\"} 1";
    assert!(metrics.render().contains(lost));
}
