//! Handing events over again: one by one and many at once, by the daemon, and the list of who did so.

use onced::event::Content;
use serde_json::{Value, json};

use super::apps::Reply;
use super::command_line::run;
use super::harness::{House, START_MS, bare, post, rfc3339, with_headers};
use super::letters::{id, keep_content};
use super::operations::{described, document, misfit};
use super::queue::{OPERATE, Queue};

fn content() -> Content {
    Content {
        target: "/".into(),
        sender_id: None,
        verified_by: None,
        headers: Vec::new(),
        body: (*b"body").as_slice().into(),
    }
}

#[tokio::test]
async fn what_is_no_request_for_a_replay_or_a_redrive_is_refused_and_changes_nothing() {
    let house = House::new();
    let home = house.start().await;
    keep_content(&home, 1, "github", Some(500), content()).await;
    let replay = format!("/v1/events/{}/replay", id(1));
    let absent = format!("/v1/events/{}/replay", id(9));
    let redrive = "/v1/dead-letters/redrive";
    let before = home.ask(&bare("GET", &format!("/v1/events/{}", id(1)))).await.json();
    let rows = [
        (&*replay, "", 400, "invalid_json", ""),
        (&replay, "[1]", 400, "invalid_json", ""),
        (&replay, "{\"times\":0}", 400, "invalid_field", "times"),
        (&replay, "{\"times\":101}", 400, "invalid_field", "times"),
        (&replay, "{\"times\":-1}", 400, "invalid_field", "times"),
        (&replay, "{\"times\":\"2\"}", 400, "invalid_field", "times"),
        (&replay, "{\"times\":1,\"times\":1}", 400, "invalid_field", "times"),
        (&replay, "{\"force\":1}", 400, "invalid_field", "force"),
        (&replay, "{\"to\":\"http://a\"}", 400, "invalid_field", "to"),
        (&absent, "{}", 404, "absent", ""),
        ("/v1/events/x/replay", "{}", 404, "absent", ""),
        (redrive, "", 400, "invalid_json", ""),
        (redrive, "{\"cause\":\"bored\"}", 400, "invalid_field", "cause"),
        (redrive, "{\"before\":\"yesterday\"}", 400, "invalid_field", "before"),
        (redrive, "{\"before\":5}", 400, "invalid_field", "before"),
        (redrive, "{\"route\":\"no such\"}", 400, "invalid_field", "route"),
        (redrive, "{\"id\":\"x\"}", 400, "invalid_field", "id"),
    ];
    for (path, body, status, code, field) in rows {
        let answer = home.ask(&post(path, body)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (status, code), "{path} {body}");
        assert_eq!(answer.json()["field"].as_str().unwrap_or_default(), field, "{path} {body}");
    }
    for path in [&*replay, redrive] {
        let answer = home.ask(&with_headers("POST", path, &["Content-Type: text/plain"], "{}")).await;
        assert_eq!((answer.status, answer.problem().as_str()), (415, "unsupported_media_type"), "{path}");
    }
    let after = home.ask(&bare("GET", &format!("/v1/events/{}", id(1)))).await.json();
    assert_eq!(after, before);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_command_line_asks_what_is_to_be_redriven() {
    let house = House::new();
    let home = house.start().await;
    let some_id = id(1).to_string();
    let rows: [(&[&str], &str); 6] = [
        (&[], "which ones? an ID, --route, --cause, --before, or --all"),
        (&["--json"], "which ones?"),
        (&[&some_id, "--all"], "cannot be used with"),
        (&[&some_id, "--route", "a"], "cannot be used with"),
        (&["--cause", "bored"], "possible values: rejected"),
        (&["--before", "yesterday"], "before must be RFC 3339"),
    ];
    for (args, why) in rows {
        let said = run(&home, &[&["dead-letters", "redrive"], args].concat()).await;
        assert_eq!((said.exit, said.out.is_empty() || args == ["--json"]), (2, true), "{args:?}: {said:?}");
        assert!(said.err.contains(why), "{args:?}: {said:?}");
    }
    home.daemon.stop().await.unwrap();
}

/// Outcome, attempt and status of one run.
type Run = (String, Option<u64>, Option<u64>);

/// What runs came to, and how many of them were forwarded, and how many duplicates.
fn results(body: &Value) -> (Vec<Run>, [u64; 2]) {
    let results = body["results"].as_array().unwrap_or_else(|| panic!("{body}")).iter();
    let results = results.map(|result| {
        (result["outcome"].as_str().unwrap().to_owned(), result["attempt"].as_u64(), result["status"].as_u64())
    });
    (results.collect(), ["forwarded", "duplicates"].map(|field| body[field].as_u64().unwrap()))
}

#[tokio::test]
async fn of_ten_replays_of_a_dead_letter_one_is_forwarded_and_past_the_guard_all_are() {
    let mut queue = Queue::new("max_attempts = 1\n").await;
    let document = document(&queue.home).await;
    let event = queue.accept("orders", "e-1").await;
    queue.app.answers(Reply::status(500)).await;
    queue.until_state(&event, "dead").await;
    let (path, body) = (format!("/v1/events/{event}/replay"), json!({ "times": 10 }));
    let (answer, seen) = tokio::join!(queue.home.post(&path, &body), queue.app.answers(Reply::ok()));
    let operation = &document["paths"]["/v1/events/{id}/replay"]["post"];
    let schema = described(operation, 200, "application/json");
    assert_eq!((answer.status, misfit(&document, schema, &answer.json())), (200, None));
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(misfit(&document, schema, &body), None);
    assert_eq!((seen.attempt(), &seen.body[..], seen.header("x-id")), ("2", &b"e-1"[..], Some("e-1")));
    let (runs, counts) = results(&answer.json());
    assert_eq!((runs.len(), counts), (10, [1, 9]));
    assert_eq!(runs[0], ("forwarded".to_owned(), Some(2), Some(200)));
    assert_eq!(runs[1], ("duplicate".to_owned(), None, None));
    queue.app.assert_quiet();
    assert_eq!(queue.state(&event).await, "delivered");
    // Past the guard, whatever the app makes of it, it stays what it is.
    let forced = json!({ "times": 2, "force": true });
    let answering = async { (queue.app.answers(Reply::ok()).await, queue.app.answers(Reply::status(503)).await) };
    let (answer, (third, fourth)) = tokio::join!(queue.home.post(&path, &forced), answering);
    assert_eq!((third.attempt(), fourth.attempt()), ("3", "4"));
    let expected = vec![("forwarded".to_owned(), Some(3), Some(200)), ("failed".to_owned(), Some(4), Some(503))];
    assert_eq!(results(&answer.json()), (expected, [1, 0]));
    assert_eq!(queue.state(&event).await, "delivered");
    queue.end().await;
}

#[tokio::test]
async fn a_replay_of_what_cannot_be_handed_over_now_says_why() {
    let mut queue = Queue::new("").await;
    let (first, parked) = (queue.accept("orders", "e-1").await, queue.accept("gone", "e-2").await);
    let hit = queue.app.hit().await;
    for force in [false, true] {
        let busy = queue.replay(&first, &json!({ "force": force })).await.json();
        assert_eq!(results(&busy).0, [("in_progress".to_owned(), None, None)], "{force}");
        let refused = queue.replay(&parked, &json!({ "force": force })).await;
        assert_eq!((refused.status, refused.problem().as_str()), (409, "route_not_configured"), "{force}");
    }
    hit.answer(Reply::ok());
    queue.until_state(&first, "delivered").await;
    queue.end().await;
}

#[tokio::test]
async fn the_command_line_replays_and_redrives_one_and_reports() {
    let mut queue = Queue::new("max_attempts = 1\n").await;
    let event = queue.accept("orders", "e-1").await;
    queue.app.answers(Reply::status(500)).await;
    queue.until_state(&event, "dead").await;
    let args = ["replay", &event, "--times", "3"];
    let (said, _) = tokio::join!(run(&queue.home, &args), queue.app.answers(Reply::ok()));
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!(
        (said.exit, lines[1], lines[3]),
        (0, "  1  forwarded          2     200", "  3  duplicate          -       -")
    );
    assert_eq!(lines[4], "forwarded 1, duplicates 2");
    let said = run(&queue.home, &["replay", &event, "--json"]).await;
    assert_eq!((said.exit, results(&said.json()).1), (3, [0, 1]));
    let args = ["replay", &event, "--force"];
    let (said, _) = tokio::join!(run(&queue.home, &args), queue.app.answers(Reply::status(502)));
    assert!(said.exit == 1 && said.out.ends_with("forwarded 0, duplicates 0, failed 1\n"), "{said:?}");
    let absent = run(&queue.home, &["replay", &"0".repeat(32), "--json"]).await;
    assert_eq!((absent.exit, &absent.json()["code"]), (1, &json!("absent")));
    // One dead letter.
    let other = queue.accept("orders", "e-2").await;
    queue.app.answers(Reply::status(500)).await;
    queue.until_state(&other, "dead").await;
    let args = ["dead-letters", "redrive", &other];
    let (said, _) = tokio::join!(run(&queue.home, &args), queue.app.answers(Reply::ok()));
    assert!(said.exit == 0 && said.out.ends_with("forwarded 1, duplicates 0\n"), "{said:?}");
    assert_eq!(queue.state(&other).await, "delivered");
    queue.end().await;
}

/// Leaves so many dead letters on the route, each but the last received a second before the next.
async fn dead(queue: &mut Queue, count: usize) -> Vec<String> {
    let mut dead = Vec::new();
    for number in 0..count {
        let event = queue.accept("orders", &format!("e-{number}")).await;
        queue.app.answers(Reply::status(500)).await;
        queue.until_state(&event, "dead").await;
        queue.house.advance_ms(1_000);
        dead.push(event);
    }
    dead
}

#[tokio::test]
async fn many_are_redriven_by_the_words_that_list_them() {
    let mut queue = Queue::new("max_attempts = 1\n").await;
    let document = document(&queue.home).await;
    let dead = dead(&mut queue, 3).await;
    let second = rfc3339(START_MS + 1_000);
    let rows = [
        (json!({ "route": "other" }), 0),
        (json!({ "cause": "rejected" }), 0),
        (json!({ "before": rfc3339(START_MS) }), 0),
        (json!({ "before": second, "cause": "attempts_exhausted", "route": "orders" }), 1),
        (json!({}), 2),
        (json!({}), 0),
    ];
    let operation = &document["paths"]["/v1/dead-letters/redrive"]["post"];
    let mut jobs = Vec::new();
    for (filter, redriven) in rows {
        let answer = queue.post("/v1/dead-letters/redrive", &filter).await;
        let schema = described(operation, 200, "application/json");
        assert_eq!((answer.status, misfit(&document, schema, &answer.json())), (200, None), "{answer:?}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(misfit(&document, schema, &filter), None);
        let answer = answer.json();
        assert_eq!((&answer["redriven"], &answer["finished"]), (&json!(redriven), &json!(true)), "{filter}");
        jobs.push(answer["job"].as_u64().unwrap());
        for _ in 0..redriven {
            assert_eq!(queue.app.answers(Reply::ok()).await.attempt(), "2");
        }
        queue.app.assert_quiet();
    }
    assert!(jobs.is_sorted_by(|one, next| one < next), "{jobs:?}");
    for event in &dead {
        queue.until_state(event, "delivered").await;
    }
    let said = run(&queue.home, &["dead-letters", "redrive", "--all"]).await;
    assert_eq!((said.exit, said.out.as_str()), (0, "redriven: 0\n"));
    queue.end().await;
}

/// With `record = "off"` the event goes when it is handled, and the runs after that found none.
#[tokio::test]
async fn replays_of_an_event_that_is_not_recorded_are_duplicates_once_one_was_forwarded() {
    let mut queue = Queue::open(|_| OPERATE.to_owned(), "record = \"off\"\n", "max_attempts = 1\n").await;
    let [event] = &dead(&mut queue, 1).await[..] else { panic!("one") };
    let (path, body) = (format!("/v1/events/{event}/replay"), json!({ "times": 3 }));
    let (answer, _) = tokio::join!(queue.home.post(&path, &body), queue.app.answers(Reply::ok()));
    assert_eq!((answer.status, results(&answer.json()).1), (200, [1, 2]));
    let gone = queue.post(&path, &body).await;
    assert_eq!((gone.status, gone.problem().as_str()), (404, "absent"));
    queue.app.assert_quiet();
    queue.end().await;
}

#[tokio::test]
async fn a_redrive_that_nobody_waits_for_goes_on() {
    let mut queue = Queue::new("max_attempts = 1\n").await;
    let dead = dead(&mut queue, 2).await;
    let delivery = queue.home.daemon.delivery();
    let id = delivery.redrive(onced::store::Filter::default(), onced::store::Actor::new("a test")).await.unwrap();
    let unknown = delivery.redriven(id, std::time::Duration::ZERO).await;
    assert!(unknown.requeued <= 2, "{unknown:?}");
    for _ in &dead {
        queue.app.answers(Reply::ok()).await;
    }
    let progress = queue.home.daemon.delivery().redriven(id, std::time::Duration::from_secs(20)).await;
    assert_eq!((progress.requeued, progress.is_done), (2, true));
    queue.end().await;
}
