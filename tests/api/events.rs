//! Events in all their states: lists of them, and one in full.

use onced::claim::Timestamp;
use onced::event::{Attempt, AttemptOutcome, Passed};
use serde_json::{Value, json};

use super::apps::Reply;
use super::command_line::run;
use super::harness::{START_MS, bare, rfc3339};
use super::letters::{id, keep_content};
use super::operations::{described, document, misfit};
use super::queue::{Queue, content};

/// Keeps an event that its app has handled while its sender waited.
async fn keep_passed(queue: &Queue, number: u8, route: &str) -> String {
    let namespace = onced::claim::Namespace::of_route(route).unwrap();
    let at = Timestamp::from_millis(START_MS + 30);
    let passed = Passed {
        id: id(number),
        route: route.into(),
        key: None,
        namespace,
        received_at: Timestamp::from_millis(START_MS + 10),
        body_bytes: 1,
        app: "127.0.0.1:3000".into(),
        attempt: Attempt { number: 1, at, took_ms: 7, outcome: AttemptOutcome::Delivered, status: Some(204) },
        at,
        excerpt: Box::default(),
    };
    let store = queue.home.daemon.ledger().store();
    store.keep_passed(passed, content("p")).await.unwrap();
    id(number).to_string()
}

/// One event in every state, by the state's name.
async fn one_of_each(queue: &mut Queue) -> Vec<(&'static str, String)> {
    let delivered = queue.accept("orders", "e-1").await;
    queue.app.answers(Reply::ok()).await;
    queue.until_state(&delivered, "delivered").await;
    queue.house.advance_ms(1_000);
    let delivering = queue.accept("orders", "e-2").await;
    let queued = queue.accept("orders", "e-3").await;
    let parked = queue.accept("gone", "e-4").await;
    queue.until_state(&delivering, "delivering").await;
    keep_content(&queue.home, 5, "other", Some(404), content("e-5")).await;
    let (dead, passed) = (id(5).to_string(), keep_passed(queue, 6, "other").await);
    vec![
        ("delivered", delivered),
        ("delivering", delivering),
        ("queued", queued),
        ("parked", parked),
        ("dead", dead),
        ("passed", passed),
    ]
}

#[tokio::test]
async fn events_are_listed_by_state_route_cause_and_time() {
    let mut queue = Queue::new("").await;
    let events = one_of_each(&mut queue).await;
    let of = |states: &[&str]| -> Vec<String> {
        events.iter().filter(|(state, _)| states.contains(state)).map(|(_, id)| id.clone()).collect()
    };
    let all = of(&["delivered", "delivering", "queued", "parked", "dead", "passed"]);
    assert_eq!(queue.ids("/v1/events").await, all, "in the order of arrival, and the others behind");
    for (state, id) in &events {
        assert_eq!(queue.ids(&format!("/v1/events?state={state}")).await, [&**id], "{state}");
        assert_eq!(queue.state(id).await, *state);
    }
    let second = rfc3339(START_MS + 1_000);
    let rows = [
        ("route=orders".to_owned(), of(&["delivered", "delivering", "queued"])),
        ("route=orders&state=queued".to_owned(), of(&["queued"])),
        ("route=gone&state=queued".to_owned(), of(&[])),
        ("route=gone&state=parked".to_owned(), of(&["parked"])),
        ("cause=rejected".to_owned(), of(&["dead"])),
        ("cause=too_old".to_owned(), of(&[])),
        (format!("before={second}"), of(&["delivered", "dead", "passed"])),
        (format!("before={}", rfc3339(START_MS)), of(&[])),
        (format!("before={second}&state=delivered"), of(&["delivered"])),
    ];
    for (query, expected) in rows {
        assert_eq!(queue.ids(&format!("/v1/events?{query}")).await, expected, "{query}");
    }
    for (query, expected) in [("", of(&["dead"])), ("cause=unreachable", of(&[])), ("route=orders", of(&[]))] {
        assert_eq!(queue.ids(&format!("/v1/dead-letters?{query}")).await, expected, "{query}");
    }
    // From the command line.
    let listed = run(&queue.home, &["events", "list", "--route", "orders", "--state", "delivered"]).await;
    let begin = format!("{} {} orders delivered after 1 attempt, last 200 ", all[0], rfc3339(START_MS));
    assert!(listed.exit == 0 && listed.out.starts_with(&begin) && listed.out.lines().count() == 1, "{listed:?}");
    assert_eq!(run(&queue.home, &["events"]).await.out.lines().count(), 6);
    assert_eq!(run(&queue.home, &["events", "--limit", "4"]).await.out.lines().count(), 4);
    let page = run(&queue.home, &["events", "--json", "--limit", "4"]).await.json();
    let rest = run(&queue.home, &["events", "--json", "--after", page["next"].as_str().unwrap()]).await.json();
    assert_eq!((page["items"].as_array().unwrap().len(), rest["items"].as_array().unwrap().len()), (4, 2));
    queue.app.answers(Reply::ok()).await;
    queue.app.answers(Reply::ok()).await;
    queue.end().await;
}

/// One page of the store held none of those that were asked for, and the list ended there.
#[tokio::test]
async fn parked_events_are_found_behind_many_that_are_queued_page_by_page() {
    let queue = Queue::new("").await;
    for number in 0..30 {
        let route = if number % 10 == 9 { "gone" } else { "orders" };
        queue.accept(route, &format!("e-{number}")).await;
    }
    let [first, ..] = &queue.ids("/v1/events").await[..] else { panic!("there are some") };
    queue.until_state(first, "delivering").await;
    let parked = queue.ids("/v1/events?route=gone").await;
    for (state, expected) in
        [("parked", parked.clone()), ("queued", queue.ids("/v1/events?route=orders").await[1..].to_vec())]
    {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = queue.get(&format!("/v1/events?state={state}&limit=2{after}")).await.json();
            let ids = page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
            found.extend(ids);
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(found, expected, "{state}");
    }
    assert_eq!(parked.len(), 3);
    queue.end().await;
}

#[tokio::test]
async fn an_event_is_shown_with_its_attempts_and_its_next() {
    let mut queue = Queue::new("backoff_base = \"10s\"\nbackoff_cap = \"10s\"\n").await;
    let document = document(&queue.home).await;
    let event = queue.accept("orders", "e-1").await;
    queue.app.answers(Reply::status(500)).await;
    queue.until_state(&event, "queued").await;
    let path = format!("/v1/events/{event}");
    let shown = queue.get(&path).await;
    let schema = described(&document["paths"]["/v1/events/{id}"]["get"], 200, "application/json");
    assert_eq!((shown.status, misfit(&document, schema, &shown.json())), (200, None));
    let first = json!({
        "number": 1, "at": rfc3339(START_MS), "took_ms": 0, "outcome": "answered", "status": 500,
    });
    assert_eq!(shown.json()["attempts"], json!([first]));
    let delivery = &shown.json()["deliveries"][0];
    assert_eq!(
        (&delivery["attempts"], &delivery["last_status"], &delivery["next_attempt_at"], &delivery["cause"]),
        (&json!(1), &json!(500), &json!(rfc3339(START_MS + 10_000)), &Value::Null)
    );
    let body = shown.json()["body"].as_str().unwrap().to_owned();
    assert_eq!(queue.get(&body).await.body, b"e-1");
    queue.house.advance_ms(10_000);
    let seen = queue.app.answers(Reply::ok()).await;
    assert_eq!((seen.attempt(), seen.header("onced-delivery")), ("2", Some(&*event)));
    queue.until_state(&event, "delivered").await;
    let shown = queue.get(&path).await.json();
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&shown["attempts"][1]["outcome"], &shown["deliveries"][0]["next_attempt_at"]),
        (&json!("delivered"), &Value::Null)
    );
    // From the command line.
    let said = run(&queue.home, &["events", "show", &event]).await;
    let attempt = format!("attempt 1: {}, took 0 ms, answered 500", rfc3339(START_MS));
    assert!(said.exit == 0 && said.out.lines().any(|line| line == attempt), "{said:?}");
    assert_eq!(run(&queue.home, &["events", "show", &event, "--json"]).await.json(), shown);
    assert_eq!(run(&queue.home, &["events", "body", &event]).await.out, "e-1");
    for action in ["show", "body"] {
        let absent = run(&queue.home, &["events", action, "no/id"]).await;
        assert_eq!((absent.exit, absent.out.as_str()), (1, ""), "{absent:?}");
    }
    assert_eq!(run(&queue.home, &["events", "--state", "lost"]).await.exit, 2);
    queue.end().await;
}

/// A queued event's key reads `done`, as if the app had handled it. It says which event it is, so that what became of that
/// can be looked up; and an event is found by the id that its sender knows.
#[tokio::test]
async fn a_key_that_is_done_names_the_event_that_was_accepted_with_it() {
    let mut queue = Queue::new("").await;
    let event = queue.accept("orders", "e-1").await;
    let hit = queue.app.hit().await;
    let claim = queue.home.ask(&bare("GET", "/v1/claims/route:orders/e-1")).await.json();
    assert_eq!((&claim["state"], &claim["event"]), (&json!("done"), &json!(event)));
    let said = run(&queue.home, &["get", "route:orders:e-1"]).await;
    assert!(said.out.starts_with("done: ") && said.out.contains(&format!(", event {event}, ")), "{said:?}");
    hit.answer(Reply::ok());
    queue.until_state(&event, "delivered").await;
    // A claim that an app made itself has no event.
    run(&queue.home, &["claim", "mail:m"]).await;
    run(&queue.home, &["confirm", "mail:m"]).await;
    let claim = queue.home.ask(&bare("GET", "/v1/claims/mail/m")).await.json();
    assert!(claim["state"] == "done" && claim.get("event").is_none(), "{claim}");
    queue.end().await;
}

/// `onced dead-letters discard` took whatever id it was given: a queued event was lost by it, and so was the history of a
/// delivered one.
#[tokio::test]
async fn the_command_discards_dead_letters_alone() {
    let mut queue = Queue::new("").await;
    let (first, second) = (queue.accept("orders", "e-1").await, queue.accept("orders", "e-2").await);
    let hit = queue.app.hit().await;
    let discard = async |id: &str| queue.home.ask(&bare("DELETE", &format!("/v1/events/{id}?state=dead"))).await;
    let command = async |id: &str| run(&queue.home, &["dead-letters", "discard", id]).await;
    for id in [&first, &second] {
        let refused = discard(id).await;
        assert_eq!((refused.status, refused.problem().as_str()), (409, "not_dead"));
        let said = command(id).await;
        assert_eq!((said.exit, said.err.as_str()), (1, "onced: the event is no dead letter\n"), "{said:?}");
    }
    hit.answer(Reply::ok());
    queue.until_state(&first, "delivered").await;
    assert_eq!(command(&first).await.exit, 1);
    for query in ["state=queued", "state=", "stat=dead", "state=dead&state=dead"] {
        let answer = queue.home.ask(&bare("DELETE", &format!("/v1/events/{first}?{query}"))).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{query}");
    }
    assert_eq!(queue.ids("/v1/events").await.len(), 2);
    assert_eq!(command("00000000000000000000000000000001").await.out, "discarded\n");
    queue.app.hit().await.answer(Reply::ok());
    queue.until_state(&second, "delivered").await;
    queue.end().await;
}

#[tokio::test]
async fn what_is_being_handed_over_is_not_discarded_and_what_waits_is() {
    let mut queue = Queue::new("").await;
    let (first, second) = (queue.accept("orders", "e-1").await, queue.accept("orders", "e-2").await);
    let hit = queue.app.hit().await;
    let discard = async |id: &str| queue.home.ask(&bare("DELETE", &format!("/v1/events/{id}"))).await;
    let refused = discard(&first).await;
    assert_eq!((refused.status, refused.problem().as_str()), (409, "in_progress"));
    assert_eq!(discard(&second).await.json(), json!({ "outcome": "discarded", "existed": true }));
    hit.answer(Reply::ok());
    queue.until_state(&first, "delivered").await;
    assert_eq!(discard(&first).await.json()["existed"], true);
    assert_eq!(queue.ids("/v1/events").await, [""; 0]);
    queue.app.assert_quiet();
    queue.end().await;
}
