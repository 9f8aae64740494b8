//! Dead letters: reading them back, one or many, and discarding them; over the API and from the command line.

use onced::claim::{Key, Namespace, Timestamp};
use onced::event::{AttemptOutcome, Cause, Content, EventId, Failure, HeaderLine};
use serde_json::{Value, json};

use super::command_line::run;
use super::harness::{Home, House, START_MS, bare, post, rfc3339, with_headers};
use super::operations::{described, document, misfit};

const AUDITOR: &str = "auditor-0123456789-0123456789";

/// Of an event that was not queued.
pub(crate) fn id(number: u8) -> EventId {
    let mut bytes = [number; 16];
    bytes[0] = 0x80;
    EventId::from_bytes(bytes)
}

/// Keeps an event as the proxy would: on this route, with a body of so many bytes.
async fn keep(home: &Home, number: u8, route: &str, status: Option<u16>, body_bytes: usize) {
    let line = |name: &[u8], value: &[u8]| HeaderLine { name: name.into(), value: value.into() };
    let content = Content {
        target: "/hooks?a=%20".into(),
        sender_id: Some((*b"e").into()),
        headers: vec![line(b"X-ODD-case", b"caf\xe9"), line(b"Accept", b"*/*")],
        body: vec![number; body_bytes].into(),
    };
    keep_content(home, number, route, status, content).await;
}

/// The same, with everything that was sent.
pub(crate) async fn keep_content(home: &Home, number: u8, route: &str, status: Option<u16>, content: Content) {
    let namespace = Namespace::of_route(route).unwrap();
    let failure = Failure {
        id: id(number),
        route: route.into(),
        key: status.and_then(|_| Key::new(&namespace, &format!("e-{number}")).ok()),
        namespace,
        received_at: Timestamp::from_millis(START_MS + 1),
        body_bytes: content.body.len() as u64,
        app: "127.0.0.1:3000".into(),
        attempt: 3,
        at: Timestamp::from_millis(START_MS + 250),
        took_ms: 50,
        outcome: if status.is_some() { AttemptOutcome::Answered } else { AttemptOutcome::TimedOut },
        status,
        cause: if status.is_some() { Cause::Rejected } else { Cause::Unreachable },
        excerpt: (*b"no\xff\x1b[31m tables").into(),
    };
    home.daemon.ledger().store().keep_event(failure, async || content).await.unwrap();
}

fn expected(number: u8, route: &str, status: Option<u16>, body_bytes: usize, sequence: &Value) -> Value {
    json!({
        "id": id(number).to_string(),
        "namespace": format!("route:{route}"),
        "key": status.map(|_| format!("e-{number}")),
        "route": route,
        "state": "dead",
        "received_at": rfc3339(START_MS + 1),
        "sequence": sequence,
        "body_bytes": body_bytes,
        "deliveries": [{
            "app": "127.0.0.1:3000",
            "state": "dead",
            "attempts": 3,
            "first_attempt_at": rfc3339(START_MS + 250),
            "last_attempt_at": rfc3339(START_MS + 250),
            "next_attempt_at": null,
            "last_status": status,
            "cause": if status.is_some() { "rejected" } else { "unreachable" },
            "excerpt": "no\u{fffd}\u{1b}[31m tables",
        }],
    })
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_event_is_read_back_as_it_was_kept_and_is_gone_when_it_is_discarded() {
    let house = House::new();
    let home = house.start().await;
    let document = document(&home).await;
    keep(&home, 1, "github", Some(500), 10).await;
    keep(&home, 2, "other", None, 300_000).await;
    let list = home.ask(&bare("GET", "/v1/dead-letters")).await;
    let schema = described(&document["paths"]["/v1/dead-letters"]["get"], 200, "application/json");
    let page = list.json();
    assert_eq!((list.status, misfit(&document, schema, &page)), (200, None));
    let sequences = [&page["items"][0]["sequence"], &page["items"][1]["sequence"]];
    assert!(sequences[0].as_u64() < sequences[1].as_u64());
    let rows = [expected(1, "github", Some(500), 10, sequences[0]), expected(2, "other", None, 300_000, sequences[1])];
    assert_eq!(page, json!({ "items": rows, "next": null, "degraded": false }));
    for (number, bytes) in [(1, 10), (2, 300_000)] {
        let path = format!("/v1/events/{}", id(number));
        let one = home.ask(&bare("GET", &path)).await;
        let schema = described(&document["paths"]["/v1/events/{id}"]["get"], 200, "application/json");
        assert_eq!((one.status, misfit(&document, schema, &one.json())), (200, None));
        let mut expected = rows[usize::from(number) - 1].clone();
        let more = json!({
            "target": "/hooks?a=%20",
            "sender_id": "e",
            "headers": [{ "name": "X-ODD-case", "value_base64": "Y2Fm6Q==" }, { "name": "Accept", "value": "*/*" }],
            "body": format!("{path}/body"),
            "attempts": [{
                "number": 3,
                "at": rfc3339(START_MS + 200),
                "took_ms": 50,
                "outcome": if number == 1 { "answered" } else { "timed_out" },
                "status": if number == 1 { json!(500) } else { Value::Null },
            }],
            "degraded": false,
        });
        expected.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(one.json(), expected);
        let body = home.ask(&bare("GET", &format!("{path}/body"))).await;
        assert_eq!((body.status, body.header("content-type")), (200, Some("application/octet-stream")));
        assert_eq!(body.body, vec![number; bytes]);
        for existed in [true, false] {
            let discarded = home.ask(&bare("DELETE", &path)).await;
            let answer = (discarded.status, discarded.json());
            assert_eq!(answer, (200, json!({ "outcome": "discarded", "existed": existed })));
        }
        for path in [path.clone(), format!("{path}/body")] {
            let gone = home.ask(&bare("GET", &path)).await;
            assert_eq!((gone.status, gone.problem().as_str()), (404, "absent"), "{path}");
        }
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_by_route() {
    let house = House::new();
    let home = house.start().await;
    for number in 1..=7 {
        keep(&home, number, if number % 2 == 0 { "even" } else { "odd" }, Some(500), 0).await;
    }
    let all: Vec<_> = (1..=7).map(|number| id(number).to_string()).collect();
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = home.ask(&bare("GET", &format!("/v1/dead-letters?limit=2{after}"))).await.json();
        found.extend(ids(&page).into_iter().map(ToOwned::to_owned));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(found, all);
    let even = home.ask(&bare("GET", "/v1/dead-letters?route=even")).await.json();
    assert_eq!(ids(&even), [&*all[1], &*all[3], &*all[5]]);
    let none = home.ask(&bare("GET", "/v1/dead-letters?route=no%20such")).await.json();
    assert_eq!(ids(&none), [""; 0]);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_names_no_event_or_no_page_is_refused() {
    let house = House::new();
    let home = house.start().await;
    let path = |rest: &str| format!("/v1/dead-letters?{rest}");
    let rows = [
        (path("limit=0"), 400, "invalid_field"),
        (path("limit=1001"), 400, "invalid_field"),
        (path("after=x"), 400, "invalid_field"),
        (path("route=a&route=b"), 400, "invalid_field"),
        (path("colour=a"), 400, "invalid_field"),
        (path("route=%ff"), 400, "invalid_field"),
        (path("cause=bored"), 400, "invalid_field"),
        (path("before=yesterday"), 400, "invalid_field"),
        (path("before=2027-01-15T08:00:00%2B01:00"), 400, "invalid_field"),
        (path("state=dead"), 400, "invalid_field"),
        ("/v1/events?state=lost".to_owned(), 400, "invalid_field"),
        ("/v1/events?colour=a".to_owned(), 400, "invalid_field"),
        ("/v1/audit?after=x".to_owned(), 400, "invalid_field"),
        ("/v1/audit?limit=0".to_owned(), 400, "invalid_field"),
        ("/v1/audit?route=a".to_owned(), 400, "invalid_field"),
        ("/v1/events/x".to_owned(), 404, "absent"),
        ("/v1/events/".to_owned(), 404, "absent"),
        (format!("/v1/events/{}", "A".repeat(32)), 404, "absent"),
        (format!("/v1/events/{}/head", "0".repeat(32)), 404, "not_found"),
        (format!("/v1/events/{}/body/more", "0".repeat(32)), 404, "not_found"),
        ("/v1/events/..%2f..%2fmark/body".to_owned(), 404, "absent"),
        ("/v1/dead-letters/more".to_owned(), 404, "not_found"),
    ];
    for (path, status, code) in rows {
        let answer = home.ask(&bare("GET", &path)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (status, code), "{path}");
    }
    home.daemon.stop().await.unwrap();
}

/// The content was read before anybody looked who asked: a caller of other namespaces was told of damage to an event that is
/// not there for it.
#[tokio::test]
async fn only_whoever_may_operate_sees_events_and_of_its_own_namespaces_alone() {
    let house = House::with("", "");
    let file = house.file("auditor", AUDITOR);
    let token = format!(
        "[[api.token]]\nname = \"auditor\"\nfile = {file:?}\nnamespaces = [\"route:mine\"]\nscopes = [\"operate\"]"
    );
    let house = house.with_api(&token);
    let home = house.start().await;
    keep(&home, 1, "theirs", Some(500), 300_000).await;
    std::fs::remove_dir_all(home.daemon.ledger().store().dir().join("events")).unwrap();
    keep(&home, 2, "mine", Some(500), 10).await;
    let (theirs, mine) = (format!("/v1/events/{}", id(1)), format!("/v1/events/{}", id(2)));
    let bodies = [format!("{theirs}/body"), format!("{mine}/body")];
    let replays = [format!("{theirs}/replay"), format!("{mine}/replay")];
    let requests = [
        ("GET", "/v1/dead-letters"),
        ("GET", "/v1/events"),
        ("GET", "/v1/audit"),
        ("GET", &mine),
        ("GET", &bodies[1]),
        ("POST", &replays[1]),
        ("POST", "/v1/dead-letters/redrive"),
        ("DELETE", &mine),
    ];
    for (method, path) in requests {
        let answer = home.ask(&bare(method, path)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (403, "forbidden"), "{method} {path}");
    }
    let bearer = format!("Authorization: Bearer {AUDITOR}");
    let ask = async |method: &str, path: &str| home.ask(&with_headers(method, path, &[&bearer], "")).await;
    for list in ["/v1/dead-letters", "/v1/events", "/v1/events?state=dead"] {
        assert_eq!(ids(&ask("GET", list).await.json()), [id(2).to_string()], "{list}");
    }
    let headers = [&*bearer, "Content-Type: application/json"];
    assert_eq!(home.ask(&with_headers("POST", &replays[0], &headers, "{}")).await.problem(), "absent");
    for path in [&theirs, &bodies[0]] {
        assert_eq!(ask("GET", path).await.problem(), "absent", "{path}");
    }
    assert_eq!(ask("DELETE", &theirs).await.json()["existed"], false);
    assert_eq!(ask("GET", &bodies[1]).await.body, [2; 10]);
    assert_eq!(ask("DELETE", &mine).await.json()["existed"], true);
    let store = home.daemon.ledger().store();
    assert!(store.event(id(1)).await.unwrap().is_some() && store.event(id(2)).await.unwrap().is_none());
    home.daemon.stop().await.unwrap();
}

/// The command line wrote `too%5Fold`, the daemon read it as it was written, and refused every cause of two words.
#[tokio::test]
async fn the_command_line_lists_by_every_cause_and_state() {
    let house = House::new();
    let home = house.start().await;
    keep(&home, 1, "github", Some(404), 1).await;
    for list in ["dead-letters", "events"] {
        for cause in Cause::ALL {
            let listed = run(&home, &[list, "--cause", cause.as_str()]).await;
            let lines = usize::from(cause == Cause::Rejected);
            assert_eq!((listed.exit, listed.out.lines().count()), (0, lines), "{cause:?}: {listed:?}");
        }
    }
    for written in ["/v1/events?state=de%61d&limit=%31", "/v1/dead-letters?cause=re%6Aected"] {
        assert_eq!(ids(&home.ask(&bare("GET", written)).await.json()).len(), 1, "{written}");
    }
    home.daemon.stop().await.unwrap();
}

/// "Given up on before noon" meant "arrived before noon": what had failed long after was redriven too.
#[tokio::test]
async fn before_speaks_of_when_a_dead_letter_was_given_up_on_in_lists_and_redrives() {
    let house = House::new();
    let home = house.start().await;
    // It came at 1 ms, and was given up on at 250 ms.
    keep(&home, 1, "github", Some(404), 1).await;
    house.advance_ms(10_000);
    for (before_ms, found) in [(100, 0), (250, 0), (251, 1)] {
        let before = rfc3339(START_MS + before_ms);
        for list in ["dead-letters", "events"] {
            let listed = home.ask(&bare("GET", &format!("/v1/{list}?before={before}"))).await.json();
            assert_eq!(ids(&listed).len(), found, "{list} {before}");
        }
        let redrive = post("/v1/dead-letters/redrive", &json!({ "before": before }).to_string());
        assert_eq!(home.ask(&redrive).await.json()["redriven"], found, "{before}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_command_line_lists_shows_and_discards() {
    let house = House::new();
    let home = house.start().await;
    for number in 1..=150 {
        keep(&home, number, if number == 7 { "other" } else { "github" }, Some(404), usize::from(number)).await;
    }
    keep(&home, 151, "github", None, 5).await;
    let (first, last) = (id(1).to_string(), id(151).to_string());
    let all = run(&home, &["dead-letters"]).await;
    assert_eq!((all.exit, all.out.lines().count(), all.err.as_str()), (0, 151, ""), "{}", all.out);
    let begin = format!("{first} {} github rejected after 3 attempts, last 404 ", rfc3339(START_MS + 1));
    assert!(all.out.starts_with(&begin), "{}", all.out);
    assert!(all.out.contains(&format!("{last} ")) && all.out.contains(" unreachable after 3 attempts, last - "));
    assert_eq!(run(&home, &["dead-letters", "--route", "other"]).await.out.lines().count(), 1);
    let json = run(&home, &["dead-letters", "--json"]).await.json();
    let next = json["next"].as_str().unwrap();
    assert_eq!(json["items"].as_array().unwrap().len(), 100);
    let rest = run(&home, &["dead-letters", "--json", "--after", next]).await.json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (51, &Value::Null));

    let show = run(&home, &["dead-letters", "show", &first]).await;
    assert_eq!(show.exit, 0);
    for line in
        ["app: 127.0.0.1:3000", "target: /hooks?a=%20", "header: X-ODD-case: (base64) Y2Fm6Q==", "header: Accept: */*"]
    {
        assert!(show.out.lines().any(|said| said == line), "{line} in {}", show.out);
    }
    assert!(show.out.contains("app said: no\u{fffd}\\u{1b}[31m tables"), "no terminal obeys it: {}", show.out);
    let path = format!("/v1/events/{first}");
    assert_eq!(
        run(&home, &["dead-letters", "show", &first, "--json"]).await.json(),
        home.ask(&bare("GET", &path)).await.json()
    );
    assert_eq!(run(&home, &["dead-letters", "show", &first, "--body"]).await.out, "\u{1}");
    let discard = run(&home, &["dead-letters", "discard", &first]).await;
    assert_eq!((discard.exit, discard.out.as_str()), (0, "discarded: existed true\n"));
    for args in [vec!["show", &*first], vec!["show", &first, "--body"], vec!["show", "no/id"]] {
        let absent = run(&home, &[&["dead-letters"], &args[..]].concat()).await;
        assert_eq!((absent.exit, absent.out.as_str()), (1, ""), "{args:?}");
        assert_eq!(absent.err, "onced: no event of this id is kept\n");
    }
    let absent = run(&home, &["dead-letters", "show", &first, "--json"]).await;
    assert_eq!((absent.exit, &absent.json()["code"]), (1, &json!("absent")));
    home.daemon.stop().await.unwrap();
}
