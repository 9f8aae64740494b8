//! Several commands in one request: in order, one commit, a bad one fails alone.

use serde_json::{Value, json};

use super::harness::{Answer, House, OURS, THEIRS, on, with_headers};

fn command(command: &str, key: &str, fields: Value) -> Value {
    let mut body = on(key, fields);
    body["command"] = command.into();
    body
}

fn answers(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json = answer.json();
    assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
    json["answers"].as_array().unwrap().clone()
}

#[tokio::test]
async fn commands_are_answered_in_order_each_with_the_status_that_it_would_have_alone() {
    let house = House::new();
    let home = house.start().await;
    let ours = json!({ "token": OURS });
    let theirs = json!({ "token": THEIRS });
    let commands = [
        ("claim", "k", &ours, 201, "claimed"),
        ("claim", "k", &theirs, 409, "in_progress"),
        ("release", "k", &theirs, 409, "not_holder"),
        ("extend", "k", &ours, 200, "extended"),
        ("release", "k", &ours, 200, "released"),
        ("claim", "k", &theirs, 201, "claimed"),
        ("confirm", "k", &theirs, 200, "confirmed"),
        ("claim", "k", &ours, 200, "done"),
        ("extend", "k", &theirs, 409, "done"),
        ("claim", "l", &json!({ "token": OURS, "fingerprint": "one" }), 201, "claimed"),
        ("claim", "l", &json!({ "token": OURS, "fingerprint": "two" }), 422, "mismatch"),
    ];
    let body: Vec<_> = commands.iter().map(|(verb, key, fields, ..)| command(verb, key, (*fields).clone())).collect();
    let answers = answers(&home.post("/v1/batch", &json!({ "commands": body })).await);
    assert_eq!(answers.len(), commands.len());
    for ((verb, key, _, status, outcome), answer) in commands.into_iter().zip(&answers) {
        assert_eq!(
            (&answer["status"], &answer["outcome"]),
            (&json!(status), &json!(outcome)),
            "{verb} {key}: {answer}"
        );
        assert_eq!(answer["degraded"], false, "{answer}");
    }
    assert_eq!(answers[5]["attempt"], 2, "each sees what the ones before it did");
    assert_eq!(answers[1]["retry_after_ms"], 120_000);
    // Alone or in a batch, the fields are the same.
    let alone = home.claim("m", ours.clone()).await.json();
    for name in alone.as_object().unwrap().keys() {
        assert!(answers[0].get(name).is_some(), "{name}");
    }
    assert_eq!(answers[0].as_object().unwrap().len(), alone.as_object().unwrap().len() + 1);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_bad_command_fails_alone_with_the_problem_that_it_would_have_alone() {
    let house = House::new();
    let home = house.start().await;
    let good = |key: &str| command("claim", key, json!({ "token": OURS }));
    let reserved = json!({ "command": "claim", "namespace": "route:stripe", "key": "k" });
    let bad = [
        (json!(5), 400, "invalid_json", Value::Null),
        (json!("claim"), 400, "invalid_json", Value::Null),
        (json!(null), 400, "invalid_json", Value::Null),
        (json!([]), 400, "invalid_json", Value::Null),
        (json!(["claim", "a", "k", null, null, null, null, null]), 400, "invalid_json", Value::Null),
        (json!({}), 400, "invalid_field", json!("command")),
        (json!({ "namespace": "a", "key": "k" }), 400, "invalid_field", json!("command")),
        (command("forget", "k", json!({})), 400, "invalid_field", json!("command")),
        (command("claim", "", json!({})), 400, "invalid_field", json!("key")),
        (command("claim", "k", json!({ "processing_ttl": "0s" })), 400, "invalid_field", json!("processing_ttl")),
        (command("claim", "k", json!({ "wait": "5s" })), 400, "invalid_field", json!("wait")),
        (command("claim", "k", json!({ "colour": 1 })), 400, "invalid_field", json!("colour")),
        (command("release", "k", json!({})), 400, "invalid_field", json!("token")),
        (command("confirm", "k", json!({ "wait": "5s" })), 400, "invalid_field", json!("wait")),
        (reserved, 403, "reserved_namespace", Value::Null),
    ];
    let mut commands = vec![good("first")];
    for (number, (bad, ..)) in bad.iter().enumerate() {
        commands.extend([bad.clone(), good(&format!("good-{number}"))]);
    }
    let answers = answers(&home.post("/v1/batch", &json!({ "commands": commands })).await);
    assert_eq!(answers.len(), commands.len());
    for ((bad, status, code, field), answer) in bad.iter().zip(answers.iter().skip(1).step_by(2)) {
        assert_eq!((&answer["status"], &answer["code"]), (&json!(status), &json!(code)), "{bad}: {answer}");
        assert_eq!(&answer["field"], field, "{bad}: {answer}");
        assert!(answer["title"].is_string() && answer["detail"].is_string(), "{answer}");
    }
    for answer in answers.iter().step_by(2) {
        assert_eq!((&answer["status"], &answer["outcome"]), (&json!(201), &json!("claimed")));
    }
    assert_eq!(home.stored().await.len(), bad.len() + 1, "the good ones and no other");
    home.daemon.stop().await.unwrap();
}

/// A result may say whatever it likes, also what a problem looks like.
#[tokio::test]
async fn a_result_that_looks_like_a_problem_is_a_result() {
    let house = House::new();
    let home = house.start().await;
    let result = json!({ "title": "Bad Request", "status": 400 });
    home.confirm("k", json!({ "result": result })).await;
    let commands = json!({ "commands": [command("claim", "k", json!({}))] });
    let answers = answers(&home.post("/v1/batch", &commands).await);
    assert_eq!((&answers[0]["status"], &answers[0]["outcome"]), (&json!(200), &json!("done")), "{}", answers[0]);
    assert_eq!(answers[0]["result"], result);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_batch_holds_a_thousand_commands_and_no_more() {
    let house = House::new();
    let home = house.start().await;
    let commands = |count: usize| -> Value {
        let all: Vec<_> = (0..count).map(|number| command("claim", &format!("k{number}"), json!({}))).collect();
        json!({ "commands": all })
    };
    for count in [0, 1_001] {
        let answer = home.post("/v1/batch", &commands(count)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{count}");
        assert_eq!(answer.json()["field"], "commands");
        assert!(answer.text().contains("1000"), "{}", answer.text());
        assert_eq!(home.stored().await.len(), 0, "{count}");
    }
    let answers = answers(&home.post("/v1/batch", &commands(1_000)).await);
    assert_eq!(answers.len(), 1_000);
    let fences: Vec<_> = answers.iter().map(|answer| answer["fence"].as_u64().unwrap()).collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "decided in order");
    assert_eq!(home.stored().await.len(), 1_000);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_batch_is_one_commit() {
    let house = House::new();
    let home = house.start().await;
    let commits = || {
        let text = home.daemon.metrics().render();
        let line = text.lines().find_map(|line| line.strip_prefix("onced_commit_seconds_count ")).unwrap();
        line.parse::<u64>().unwrap()
    };
    let all: Vec<_> = (0..200).map(|number| command("claim", &format!("k{number}"), json!({}))).collect();
    let before = commits();
    home.post("/v1/batch", &json!({ "commands": all })).await;
    // The sweep of the start may add one of its own.
    assert!((1..=2).contains(&(commits() - before)), "{} commits", commits() - before);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_batch_wakes_those_who_wait() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let mut waiter = home.waiter("k", json!({ "token": OURS, "wait": "20s" })).await;
    let commands = json!({ "commands": [command("release", "k", json!({ "token": THEIRS }))] });
    home.post("/v1/batch", &commands).await;
    assert_eq!(waiter.answer().await.outcome(), "claimed");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_batch_that_is_no_batch_stores_nothing() {
    let house = House::new();
    let home = house.start().await;
    let good = command("claim", "k", json!({})).to_string();
    for (body, field) in [
        ("{}".to_owned(), "commands"),
        (format!("{{\"commands\":{good}}}"), "commands"),
        (format!("{{\"commands\":[{good}],\"commands\":[{good}]}}"), "commands"),
        (format!("{{\"commands\":[{good}],\"colour\":1}}"), "colour"),
    ] {
        let json_type = "Content-Type: application/json";
        let answer = home.ask(&with_headers("POST", "/v1/batch", &[json_type], &body)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{body}: {}", answer.text());
        assert_eq!(answer.json()["field"], field, "{body}: {}", answer.text());
        assert_eq!(home.stored().await.len(), 0, "{body}");
    }
    home.daemon.stop().await.unwrap();
}
