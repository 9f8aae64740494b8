//! Events that fail and whose senders do not come again: what is kept of them, when, and until when.

use onced::clock::Source;
use onced::event::{Cause, Event as Letter};
use onced::store::{Actor, Discarded};
use tokio::io::AsyncWriteExt as _;

use crate::harness::{Answer, App, Event, Front, Reply, Seen, now, route, soon};
use crate::outcomes::unknown;

const SHORT: &str = "max_duration = \"200ms\"\n";
const IMPATIENT: &str = "answer_within = \"100ms\"\n";
const REJECTED: &str = "onced_dead_letters{route=\"github\",cause=\"rejected\"}";
const UNREACHABLE: &str = "onced_dead_letters{route=\"github\",cause=\"unreachable\"}";

/// Sends an event, lets the app do this, or nothing, and gives the answer.
async fn told(front: &Front, app: &mut App, event: &Event, reply: Option<Reply>) -> Answer {
    let mut sender = front.sent(event).await;
    let hit = app.hit().await;
    match reply {
        Some(reply) => drop(hit.answer(reply)),
        None => {
            let answer = sender.answer().await;
            drop(hit);
            return answer;
        }
    }
    sender.answer().await
}

fn outcome(letter: &Letter) -> (Cause, Option<u16>, u32) {
    (letter.delivery.cause.unwrap(), letter.delivery.last_status, letter.delivery.attempts)
}

/// GitHub never sends an event again by itself: one that failed was gone.
#[tokio::test]
async fn whatever_an_app_does_but_2xx_is_kept_by_the_time_its_sender_knows() {
    let mut app = App::start().await;
    let front = Front::github(&app, SHORT).await;
    let redirect = Reply::keep("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
    let answered = [400, 404, 410, 429, 500, 503].map(|status| (Some(Reply::status(status)), Some(status)));
    let rows = answered.into_iter().chain([(Some(redirect), Some(302))]);
    let rows = rows.chain(unknown().into_iter().map(|(_, reply, _)| (reply, None)));
    for (number, (reply, status)) in rows.enumerate() {
        let event = Event::github(&format!("e-{number}"), "{}");
        assert!(told(&front, &mut app, &event, reply).await.status() >= 400);
        let letter = front.letter().await.0;
        let cause = if status.is_some() { Cause::Rejected } else { Cause::Unreachable };
        assert_eq!(outcome(&letter), (cause, status, 1), "{number}");
        assert_eq!((&*letter.route, letter.key.unwrap().id()), ("github", &*format!("e-{number}")));
        let gauges = (front.sample(REJECTED), front.sample(UNREACHABLE));
        assert_eq!(gauges, if status.is_some() { (1.0, 0.0) } else { (0.0, 1.0) });
        // A person asks for it once more.
        assert_eq!(told(&front, &mut app, &event, Some(Reply::ok())).await.status(), 200);
        assert_eq!(front.letters().await, []);
        assert_eq!((front.sample(REJECTED), front.sample(UNREACHABLE)), (0.0, 0.0));
    }
}

#[tokio::test]
async fn an_app_that_is_not_there_is_kept_for_too() {
    let app = App::absent().await;
    let front = Front::github(&app, "").await;
    front.post(&Event::github("e-1", "{}")).await.assert(502, "failed");
    let letter = front.letter().await.0;
    assert_eq!(outcome(&letter), (Cause::Unreachable, None, 1));
    assert_eq!(format!("http://{}", letter.delivery.app), app.url());
}

#[tokio::test]
async fn a_later_failure_changes_how_it_went_and_not_what_was_sent() {
    let mut app = App::start().await;
    let front = Front::github(&app, SHORT).await;
    let event = Event::github("e-1", "{}");
    let said = "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno tables";
    told(&front, &mut app, &event, Some(Reply::keep(said))).await.assert(500, "forwarded");
    let (first, sent) = front.letter().await;
    assert_eq!((outcome(&first), &*first.delivery.excerpt), ((Cause::Rejected, Some(500), 1), &b"no tables"[..]));
    told(&front, &mut app, &event.clone().with("X-Again", "1"), None).await.assert(504, "failed");
    let (second, still) = front.letter().await;
    assert_eq!((outcome(&second), &*second.delivery.excerpt), ((Cause::Unreachable, None, 2), &b""[..]));
    assert_eq!((second.id, second.sequence, second.received_at), (first.id, first.sequence, first.received_at));
    assert_eq!(second.delivery.first_at, first.delivery.first_at);
    assert!(second.delivery.last_at > first.delivery.last_at);
    assert_eq!(still, sent);
    assert_eq!((front.sample(REJECTED), front.sample(UNREACHABLE)), (0.0, 1.0));
}

#[tokio::test]
async fn a_failure_after_the_senders_patience_is_kept() {
    let mut app = App::start().await;
    let front = Front::github(&app, IMPATIENT).await;
    let mut sender = front.sent(&Event::github("e-1", "{}")).await;
    let hit = app.hit().await;
    sender.answer().await.assert(503, "in_progress");
    // For the sender it has failed: had the process died now, nobody would have had the event.
    assert_eq!(outcome(&front.letter().await.0), (Cause::Unreachable, None, 1));
    hit.answer(Reply::status(500));
    // The claim ends after it is kept: whoever claims it next must find it.
    front.until_claims("released", 1).await;
    assert_eq!(outcome(&front.letter().await.0), (Cause::Rejected, Some(500), 1));
}

#[tokio::test]
async fn a_success_after_the_senders_patience_is_kept_no_longer() {
    let mut app = App::start().await;
    let front = Front::github(&app, IMPATIENT).await;
    let unnamed = Event::github("", "{}").without("X-GitHub-Delivery");
    for event in [Event::github("e-1", "{}"), unnamed] {
        let mut sender = front.sent(&event).await;
        let hit = app.hit().await;
        sender.answer().await.assert(503, "in_progress");
        assert_eq!(front.letters().await.len(), 1);
        hit.answer(Reply::ok());
        soon("the letter goes", async { while !front.letters().await.is_empty() {} }).await;
    }
    front.post(&Event::github("e-1", "{}")).await.assert(200, "duplicate");
}

/// A stop in order lost what was in hand: its sender would not bring it again, and its body was in memory.
#[tokio::test]
async fn what_a_stop_cannot_wait_for_is_kept() {
    let mut app = App::start().await;
    let routes = format!("[shutdown]\ndrain = \"200ms\"\n{}", route("github", &app, ""));
    let front = Front::start(&routes).await;
    let sender = front.sent(&Event::github("e-1", "{\"a\":1}")).await;
    let hit = app.hit().await;
    let front = front.restarted(async {}).await;
    assert_eq!(outcome(&front.letter().await.0), (Cause::Unreachable, None, 1));
    drop((sender, hit));
}

#[tokio::test]
async fn a_failure_whose_sender_has_gone_is_kept() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for (number, leave) in [(1, 0), (2, 1), (3, 2)] {
        let mut sender = front.sent(&Event::github(&format!("e-{number}"), "{}")).await;
        let hit = app.hit().await;
        match leave {
            0 => drop(sender),
            1 => sender.reset(),
            _ => sender.0.shutdown().await.unwrap(),
        }
        hit.answer(Reply::status(500));
        front.until_claims("released", number).await;
        assert_eq!(front.letters().await.len(), usize::try_from(number).unwrap());
    }
}

/// A copy that waits takes the claim over when the first attempt fails: what was kept for that goes when the copy succeeds.
#[tokio::test]
async fn what_a_waiting_copy_puts_right_is_kept_no_longer() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut first = front.sent(&event).await;
    let hit = app.hit().await;
    let mut second = front.sent(&event).await;
    front.until_claims("in_progress", 1).await;
    hit.answer(Reply::status(500));
    first.answer().await.assert(500, "forwarded");
    let hit = app.hit().await;
    assert_eq!(front.letters().await.len(), 1);
    hit.answer(Reply::ok());
    second.answer().await.assert(200, "forwarded");
    assert_eq!(front.letters().await, []);
}

#[tokio::test]
async fn a_sender_that_comes_again_needs_nothing_kept() {
    let mut app = App::start().await;
    let front = Front::start(&[route("stripe", &app, SHORT), route("standard-webhooks", &app, "")].concat()).await;
    for (number, reply) in [Some(Reply::status(500)), Some(Reply::Close(Vec::new())), None].into_iter().enumerate() {
        let event = Event::stripe(now(), format!("{{\"id\":\"evt_{number}\"}}"));
        assert!(told(&front, &mut app, &event, reply).await.status() >= 500);
    }
    // This one would stop, and does not get to hear it.
    told(&front, &mut app, &Event::standard("m-1", now(), "{}"), Some(Reply::status(410)))
        .await
        .assert(503, "forwarded");
    assert_eq!(front.letters().await, []);
}

#[tokio::test]
async fn a_status_that_makes_the_sender_stop_is_kept_for_where_it_goes_out() {
    let mut app = App::start().await;
    let front = Front::start(&route("standard-webhooks", &app, "relay_dangerous_status = true\n")).await;
    told(&front, &mut app, &Event::standard("m-1", now(), "{}"), Some(Reply::status(500)))
        .await
        .assert(500, "forwarded");
    assert_eq!(front.letters().await, [], "after this one it comes again");
    let event = Event::standard("m-2", now(), "{}");
    told(&front, &mut app, &event, Some(Reply::status(410))).await.assert(410, "forwarded");
    assert_eq!(outcome(&front.letter().await.0), (Cause::Rejected, Some(410), 1));
}

#[tokio::test]
async fn where_a_route_says_so_nothing_is_kept() {
    let mut app = App::start().await;
    let front = Front::github(&app, "record = \"off\"\n").await;
    told(&front, &mut app, &Event::github("e-1", "{}"), Some(Reply::status(500))).await.assert(500, "forwarded");
    assert_eq!(front.letters().await, []);
}

#[tokio::test]
async fn each_event_without_an_identity_is_kept_for_itself_under_the_name_that_the_app_knows() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("", "{}").without("X-GitHub-Delivery");
    let mut known: Vec<String> = Vec::new();
    for _ in 0..2 {
        let mut sender = front.sent(&event).await;
        let seen = app.answers(Reply::status(500)).await;
        sender.answer().await.assert(500, "forwarded");
        known.push(seen.header("onced-delivery").unwrap().to_owned());
    }
    let letters = front.letters().await;
    let mut kept: Vec<_> = letters.iter().map(|letter| letter.id.to_string()).collect();
    known.sort();
    kept.sort();
    assert_eq!(kept, known);
    assert!(letters.iter().all(|letter| letter.key.is_none() && letter.namespace.as_str() == "route:github"));
    // With an identity the name is the same at every attempt.
    let event = Event::github("e-1", "{}");
    let mut names = Vec::new();
    for _ in 0..2 {
        let mut sender = front.sent(&event).await;
        let seen = app.answers(Reply::status(500)).await;
        sender.answer().await.assert(500, "forwarded");
        names.push(seen.header("onced-delivery").unwrap().to_owned());
    }
    let letter = front.letters().await.into_iter().find(|letter| letter.key.is_some()).unwrap();
    assert_eq!(names, [letter.id.to_string(), letter.id.to_string()]);
}

/// Of the headers for the app, what only one connection or one attempt has.
fn of_this_attempt(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_lowercase();
    name.starts_with("onced-") || ["content-length", "idempotency-key"].contains(&&*name)
}

fn lines(seen: &Seen) -> Vec<(Vec<u8>, Vec<u8>)> {
    let lines = seen.head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| line.strip_suffix(b"\r"));
    let lines = lines.filter(|line| !line.is_empty()).map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap();
        (line[..colon].to_vec(), line[colon + 1..].trim_ascii().to_vec())
    });
    lines.filter(|(name, _)| !of_this_attempt(name)).collect()
}

/// What is kept is there to be handed over once more, so it is what was handed over: bytes, letters and order.
#[tokio::test]
async fn what_is_kept_is_what_was_sent_byte_for_byte() {
    let mut app = App::start().await;
    let front = Front::github(&app, "max_body = \"6MiB\"\n").await;
    let bytes = |length: usize| (0..length).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect::<Vec<_>>();
    let long = "v".repeat(3_000);
    for (number, length) in [0, 1, 1_500, 2_500, 4_096, 300_000, 5 << 20].into_iter().enumerate() {
        for (extra, more) in [("short", "v"), ("long", &long)] {
            let event = Event::github(&format!("e-{number}-{extra}"), bytes(length))
                .with("X-ODD-case", b"caf\xe9 \xff")
                .with("x-odd-CASE", "second")
                .with("Authorization", "Basic eDp5")
                .with("Connection", "X-Hop")
                .with("X-Hop", "stays here")
                .with("Onced-Attempt", "9")
                .with("X-Empty", "")
                .with("X-Long", more)
                .at("/hooks/github?a=%20&b=%C3%A9&&c");
            let mut sender = front.sent(&event).await;
            let seen = app.answers(Reply::status(500)).await;
            sender.answer().await.assert(500, "forwarded");
            let (letter, content) = front.letter().await;
            assert_eq!(content.body, event.body, "{length} {extra}");
            assert_eq!(letter.body_bytes, length as u64);
            assert_eq!(&*content.target, event.target);
            let id = format!("e-{number}-{extra}");
            assert_eq!(content.sender_id.as_deref(), Some(id.as_bytes()));
            let mut kept: Vec<_> =
                content.headers.iter().map(|line| (line.name.to_vec(), line.value.to_vec())).collect();
            let mut handed_over = lines(&seen);
            // Of one name the order counts, and a stable sort leaves it.
            kept.sort_by_key(|(name, _)| name.to_ascii_lowercase());
            handed_over.sort_by_key(|(name, _)| name.to_ascii_lowercase());
            assert_eq!(kept, handed_over);
            assert!(kept.contains(&(b"X-ODD-case".to_vec(), b"caf\xe9 \xff".to_vec())));
            assert!(kept.contains(&(b"x-odd-CASE".to_vec(), b"second".to_vec())));
            let discarded = front.daemon.ledger().store().discard(letter.id, Actor::new("test")).await;
            assert_eq!(discarded, Ok(Discarded::Discarded));
        }
    }
    let files = std::fs::read_dir(front.daemon.ledger().store().dir().join("events")).unwrap().count();
    assert_eq!(files, 0, "a file goes with its event");
}

#[tokio::test]
async fn dead_letters_and_their_count_are_there_right_after_a_restart() {
    let mut app = App::start().await;
    let front = Front::github(&app, SHORT).await;
    for (id, body, reply) in
        [("e-1", 0, Some(Reply::status(500))), ("e-2", 9_000, Some(Reply::status(404))), ("e-3", 300_000, None)]
    {
        assert!(told(&front, &mut app, &Event::github(id, vec![b'b'; body]), reply).await.status() >= 400);
    }
    let before = front.letters().await;
    let front = front.restarted(async {}).await;
    assert_eq!((front.sample(REJECTED), front.sample(UNREACHABLE)), (2.0, 1.0));
    assert_eq!(front.letters().await, before);
    for letter in before {
        let content = front.daemon.ledger().store().event_content(letter.id).await.unwrap().unwrap().1;
        assert_eq!(content.body.len() as u64, letter.body_bytes);
    }
}

#[tokio::test]
async fn beyond_its_limits_nothing_is_kept_and_the_failure_is_answered_all_the_same() {
    let mut app = App::start().await;
    for (setting, reason) in
        [("max_event_bytes = \"20KiB\"\n", "max_event_bytes"), ("min_free = \"9999TiB\"\n", "min_free")]
    {
        let routes = format!("{setting}{}", route("github", &app, ""));
        let front = Front::surrounded(&routes, "", Source::machine()).await;
        let fits = usize::from(reason == "max_event_bytes");
        for (id, body) in [("small", 10), ("large", 30_000)] {
            let event = Event::github(id, vec![b'b'; body]);
            told(&front, &mut app, &event, Some(Reply::status(500))).await.assert(500, "forwarded");
        }
        assert_eq!(front.letters().await.len(), fits, "{reason}");
        let lost = format!("onced_events_not_kept_total{{route=\"github\",reason=\"{reason}\"}}");
        assert_eq!(front.sample(&lost), 2.0 - fits as f64);
        assert!(!front.daemon.ledger().store().dir().join("events").exists(), "not even half");
        // What is there can always change: it takes no more room.
        let event = Event::github("small", vec![b'b'; 10]);
        told(&front, &mut app, &event, Some(Reply::status(502))).await.assert(502, "forwarded");
        assert_eq!(front.letters().await.iter().map(|letter| letter.delivery.attempts).sum::<u32>(), 2 * fits as u32);
    }
}

/// A route that is closed while its store is down told the sender to try again, which this one never does: the event was
/// neither kept nor counted nor in the log.
#[tokio::test]
async fn an_event_that_is_refused_for_want_of_its_store_is_told_of_as_lost_where_its_sender_does_not_come_again() {
    let mut app = App::start().await;
    let closed = "on_store_failure = \"closed\"\n";
    let front = Front::start(&[route("github", &app, closed), route("stripe", &app, closed)].concat()).await;
    let handled = Event::github("handled", "{}");
    told(&front, &mut app, &handled, Some(Reply::ok())).await.assert(200, "forwarded");
    front.lose_store().await;
    let lost =
        |route: &str| front.sample(&format!("onced_events_not_kept_total{{route=\"{route}\",reason=\"io_error\"}}"));
    front.post(&Event::github("e-1", "{}")).await.assert(503, "degraded");
    assert_eq!((lost("github"), lost("stripe")), (1.0, 0.0));
    front.post(&Event::stripe(now(), "{\"id\":\"evt_1\"}")).await.assert(503, "degraded");
    front.post(&handled).await.assert(200, "duplicate");
    assert_eq!((lost("github"), lost("stripe")), (1.0, 0.0), "that one comes again, and this is not lost");
    app.assert_quiet();
}

#[tokio::test]
async fn without_its_store_nothing_is_kept_and_the_failure_is_answered_all_the_same() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let kept = Event::github("kept", vec![b'b'; 40_000]);
    told(&front, &mut app, &kept, Some(Reply::status(500))).await.assert(500, "forwarded");
    front.lose_store().await;
    let event = Event::github("e-1", vec![b'b'; 40_000]);
    told(&front, &mut app, &event, Some(Reply::status(500))).await.assert(500, "forwarded");
    let lost = "onced_events_not_kept_total{route=\"github\",reason=\"io_error\"}";
    assert_eq!(front.sample(lost), 1.0);
    assert_eq!(front.letters().await.len(), 1, "what was kept can still be read");
    // What is handled meanwhile is remembered, and kept no longer when the store is back.
    told(&front, &mut app, &kept, Some(Reply::ok())).await.assert(200, "forwarded");
    front.regain_store(|| ()).await;
    let dir = front.daemon.ledger().store().dir().clone();
    assert_eq!(front.letters().await, []);
    assert_eq!(front.sample(REJECTED), 0.0);
    assert_eq!(std::fs::read_dir(dir.join("events")).unwrap().count(), 0);
    told(&front, &mut app, &event, Some(Reply::status(500))).await.assert(500, "forwarded");
    assert_eq!((front.letters().await.len(), front.sample(REJECTED)), (1, 1.0));
}
