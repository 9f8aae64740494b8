//! Every verb on every state: status, headers, fields and their types.

use serde_json::{Value, json};

use super::harness::{Home, House, OURS, START_MS, THEIRS, on, post, rfc3339};

/// What a key has gone through before it is asked about.
#[derive(Debug, Clone, Copy)]
enum State {
    Absent,
    Released,
    /// Claimed by others for a second that is over.
    Lapsed,
    /// The same, but it was us.
    OursLapsed,
    Ours,
    Theirs,
    /// Claimed by others with the fingerprint `one`.
    Printed,
    Done,
    DonePrinted,
    /// Confirmed for a second that is over.
    DoneLapsed,
}

impl State {
    async fn prepare(self, house: &House, home: &Home, key: &str) {
        let theirs = json!({ "token": THEIRS, "processing_ttl": "60s", "owner": "them" });
        let printed = json!({ "token": THEIRS, "processing_ttl": "60s", "fingerprint": "one" });
        let hour = json!({ "token": THEIRS, "confirmed_ttl": "1h", "result": { "n": 1 } });
        match self {
            Self::Absent => {}
            Self::Released => {
                home.claim(key, theirs).await;
                home.release(key, THEIRS).await;
            }
            Self::Lapsed => {
                home.claim(key, json!({ "token": THEIRS, "processing_ttl": "1s" })).await;
                house.advance_ms(1_000);
            }
            Self::OursLapsed => {
                home.claim(key, json!({ "token": OURS, "processing_ttl": "1s" })).await;
                house.advance_ms(1_000);
            }
            Self::Ours => drop(home.claim(key, json!({ "token": OURS, "processing_ttl": "60s" })).await),
            Self::Theirs => drop(home.claim(key, theirs).await),
            Self::Printed => drop(home.claim(key, printed).await),
            Self::Done => {
                home.claim(key, theirs).await;
                home.confirm(key, hour).await;
            }
            Self::DonePrinted => {
                home.claim(key, printed).await;
                home.confirm(key, hour).await;
            }
            Self::DoneLapsed => {
                home.claim(key, theirs).await;
                home.confirm(key, json!({ "confirmed_ttl": "1s" })).await;
                house.advance_ms(1_000);
            }
        }
    }
}

/// `"+1000"` is the point in time a second after the question.
fn filled(expected: &mut Value, now_ms: u64) {
    for value in expected.as_object_mut().unwrap().values_mut() {
        let ahead = value.as_str().and_then(|text| text.strip_prefix('+')).map(|ahead| ahead.parse::<u64>().unwrap());
        if let Some(ahead) = ahead {
            *value = rfc3339(now_ms + ahead).into();
        }
    }
}

fn claimed(attempt: u32, previous: &str, repeated: bool) -> Value {
    json!({
        "outcome": "claimed", "first_delivery": true, "token": OURS, "attempt": attempt, "previous": previous,
        "repeated": repeated, "expires_at": "+60000", "expires_in_ms": 60_000, "degraded": false,
    })
}

fn in_progress() -> Value {
    json!({
        "outcome": "in_progress", "first_delivery": false, "attempt": 1, "expires_at": "+60000",
        "expires_in_ms": 60_000, "retry_after_ms": 60_000, "degraded": false,
    })
}

fn done() -> Value {
    json!({
        "outcome": "done", "first_delivery": false, "attempt": 1, "confirmed_at": "+0", "expires_at": "+3600000",
        "result": { "n": 1 }, "degraded": false,
    })
}

fn confirmed(overrun: bool, expires_at: &str) -> Value {
    json!({ "outcome": "confirmed", "overrun": overrun, "attempt": 1, "expires_at": expires_at, "degraded": false })
}

fn extended() -> Value {
    json!({
        "outcome": "extended", "attempt": 1, "expires_at": "+90000", "expires_in_ms": 90_000, "degraded": false,
    })
}

fn released(attempt: Option<u32>) -> Value {
    let mut body = json!({ "outcome": "released", "degraded": false });
    if let Some(attempt) = attempt {
        body["attempt"] = attempt.into();
    }
    body
}

fn plain(outcome: &str) -> Value {
    json!({ "outcome": outcome, "degraded": false })
}

#[tokio::test]
async fn every_verb_on_every_state_has_its_status_and_exactly_its_fields() {
    use State::{Absent, Done, DoneLapsed, DonePrinted, Lapsed, Ours, OursLapsed, Printed, Released, Theirs};
    let claim = json!({ "token": OURS, "processing_ttl": "60s" });
    let print = |print: &str| json!({ "token": OURS, "processing_ttl": "60s", "fingerprint": print });
    let confirm = json!({ "token": OURS, "confirmed_ttl": "2h" });
    let tokenless = json!({ "confirmed_ttl": "2h" });
    let release = json!({ "token": OURS });
    let extend = json!({ "token": OURS, "processing_ttl": "90s" });
    let rows = [
        (Absent, "claim", &claim, 201, claimed(1, "none", false)),
        (Released, "claim", &claim, 201, claimed(2, "released", false)),
        (Lapsed, "claim", &claim, 201, claimed(2, "expired", false)),
        (OursLapsed, "claim", &claim, 201, claimed(2, "expired", false)),
        (DoneLapsed, "claim", &claim, 201, claimed(1, "none", false)),
        (Ours, "claim", &claim, 201, claimed(1, "none", true)),
        (Ours, "claim", &json!({ "token": OURS, "processing_ttl": "5s" }), 201, claimed(1, "none", true)),
        (Theirs, "claim", &claim, 409, in_progress()),
        (Done, "claim", &claim, 200, done()),
        (Printed, "claim", &claim, 409, in_progress()),
        (Printed, "claim", &print("one"), 409, in_progress()),
        (Printed, "claim", &print("two"), 422, plain("mismatch")),
        (DonePrinted, "claim", &claim, 200, done()),
        (DonePrinted, "claim", &print("one"), 200, done()),
        (DonePrinted, "claim", &print("two"), 422, plain("mismatch")),
        (Absent, "confirm", &confirm, 200, confirmed(true, "+7200000")),
        (Absent, "confirm", &tokenless, 200, confirmed(true, "+7200000")),
        (Released, "confirm", &confirm, 200, confirmed(true, "+7200000")),
        (OursLapsed, "confirm", &confirm, 200, confirmed(true, "+7200000")),
        (Ours, "confirm", &confirm, 200, confirmed(false, "+7200000")),
        (Theirs, "confirm", &confirm, 200, confirmed(true, "+7200000")),
        (Theirs, "confirm", &tokenless, 200, confirmed(false, "+7200000")),
        (Done, "confirm", &confirm, 200, confirmed(false, "+3600000")),
        (DoneLapsed, "confirm", &confirm, 200, confirmed(true, "+7200000")),
        (Absent, "release", &release, 200, released(None)),
        (Released, "release", &release, 200, released(Some(1))),
        (OursLapsed, "release", &release, 200, released(Some(1))),
        (Ours, "release", &release, 200, released(Some(1))),
        (Theirs, "release", &release, 409, plain("not_holder")),
        (Done, "release", &release, 409, done()),
        (Absent, "extend", &extend, 409, plain("not_holder")),
        (Released, "extend", &extend, 409, plain("not_holder")),
        (Lapsed, "extend", &extend, 409, plain("not_holder")),
        (OursLapsed, "extend", &extend, 200, extended()),
        (Ours, "extend", &extend, 200, extended()),
        (Theirs, "extend", &extend, 409, plain("not_holder")),
        (Done, "extend", &extend, 409, done()),
    ];
    let house = House::new();
    let home = house.start().await;
    let (mut now_ms, mut fence) = (START_MS, 0);
    for (row, (state, verb, fields, status, mut expected)) in rows.into_iter().enumerate() {
        let what = format!("row {row}: {verb} {fields} on {state:?}");
        let key = format!("row-{row}");
        state.prepare(&house, &home, &key).await;
        if matches!(state, Lapsed | OursLapsed | DoneLapsed) {
            now_ms += 1_000;
        }
        let answer = home.post(&format!("/v1/{verb}"), &on(&key, fields.clone())).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
        let retry_after = (expected["outcome"] == "in_progress").then_some("60");
        assert_eq!(answer.header("retry-after"), retry_after, "{what}");
        let mut body = answer.json();
        if let Some(rising) = body.as_object_mut().unwrap().remove("fence") {
            assert!(rising.as_u64().unwrap() > fence, "{what}");
            fence = rising.as_u64().unwrap();
        }
        filled(&mut expected, now_ms);
        assert_eq!(body, expected, "{what}");
    }
    assert!(fence > 0);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn both_doors_give_the_same_answer_on_a_connection_that_stays() {
    let house = House::new();
    let home = house.start().await;
    for (key, connection) in [("tcp", home.connect().await), ("unix", home.connect_unix().await)] {
        let mut connection = connection;
        let claim = post("/v1/claim", &on(key, json!({ "token": OURS })).to_string());
        let first = connection.ask(&claim).await;
        assert_eq!((first.status, first.json()["repeated"].clone()), (201, json!(false)));
        let again = connection.ask(&claim).await;
        assert_eq!((again.status, again.json()["repeated"].clone()), (201, json!(true)));
        for field in ["token", "attempt", "fence", "previous", "expires_at"] {
            assert_eq!(again.json()[field], first.json()[field], "{field}");
        }
        let other = connection.ask(post("/v1/claim", &on(key, json!({})).to_string())).await;
        assert_eq!(other.status, 409);
        let token = first.json()["token"].as_str().unwrap().to_owned();
        let confirmed = connection.ask(post("/v1/confirm", &on(key, json!({ "token": token })).to_string())).await;
        assert_eq!((confirmed.status, confirmed.json()["overrun"].clone()), (200, json!(false)));
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_that_onced_draws_is_128_bits_of_hex_and_never_the_same() {
    let house = House::new();
    let home = house.start().await;
    let mut seen = std::collections::HashSet::new();
    for number in 0..20 {
        let answer = home.claim(&format!("k{number}"), json!({})).await;
        let token = answer.json()["token"].as_str().unwrap().to_owned();
        assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
        assert!(seen.insert(token));
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn lifetimes_that_a_request_leaves_open_come_from_its_namespace() {
    let house = House::with(
        "loopback = \"operate\"",
        "[defaults]\nprocessing_ttl = \"3s\"\nconfirmed_ttl = \"4h\"\n\
         [namespace.slow]\nprocessing_ttl = \"2m\"\nconfirmed_ttl = \"9d\"",
    );
    let home = house.start().await;
    for (namespace, processing_ms, confirmed_ms) in [("a", 3_000, 14_400_000), ("slow", 120_000, 777_600_000)] {
        let body = json!({ "namespace": namespace, "key": "k", "token": OURS });
        let claimed = home.post("/v1/claim", &body).await.json();
        assert_eq!(claimed["expires_in_ms"], processing_ms, "{namespace}");
        house.advance_ms(1_000);
        let extended = home.post("/v1/extend", &body).await.json();
        assert_eq!(extended["expires_in_ms"], processing_ms, "{namespace}");
        let now_ms = house_ms(&home);
        let confirmed = home.post("/v1/confirm", &body).await.json();
        assert_eq!(confirmed["expires_at"], rfc3339(now_ms + confirmed_ms), "{namespace}");
    }
    home.daemon.stop().await.unwrap();
}

/// The timeline and the wall clock agree here: nobody steps either.
fn house_ms(home: &Home) -> u64 {
    home.daemon.ledger().clock().now().as_millis()
}

#[tokio::test]
async fn retry_after_is_in_whole_seconds_never_too_early_and_never_zero() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "processing_ttl": "2s" })).await;
    for (advance_ms, left_ms, header) in [(0, 2_000, "2"), (1, 1_999, "2"), (999, 1_000, "1"), (999, 1, "1")] {
        house.advance_ms(advance_ms);
        let answer = home.claim("k", json!({})).await;
        assert_eq!(answer.header("retry-after"), Some(header), "{left_ms} ms are left");
        assert_eq!(answer.json()["retry_after_ms"], left_ms);
        assert_eq!(answer.json()["expires_in_ms"], left_ms);
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_result_comes_back_as_it_was_written() {
    let house = House::new();
    let home = house.start().await;
    // Numbers beyond 64 bits, the order of names, escapes and blanks are the caller's own business.
    let results =
        [r#"{"z":1,"a":12345678901234567890123,"m":1.10}"#, r#"[ 1e3 , "\u00e9\n" , null ]"#, "\"text\"", "false", "0"];
    for (number, result) in results.into_iter().enumerate() {
        let key = format!("k{number}");
        let confirm = format!(r#"{{"namespace":"a","key":"{key}","result": {result} }}"#);
        assert_eq!(home.ask(&post("/v1/confirm", &confirm)).await.status, 200, "{result}");
        let done = home.claim(&key, json!({})).await;
        assert!(done.text().contains(&format!("\"result\":{result}")), "{}", done.text());
        let read = home.get(&format!("/a/{key}")).await;
        assert!(read.text().contains(&format!("\"result\":{result}")), "{}", read.text());
    }
    // None was left: the field is not there.
    home.confirm("without", json!({})).await;
    assert_eq!(home.claim("without", json!({})).await.json().get("result"), None);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn forget_says_whether_anything_was_there() {
    use State::{Absent, Done, DoneLapsed, Lapsed, Ours, Released};
    let house = House::new();
    let home = house.start().await;
    for (state, existed) in
        [(Absent, false), (Ours, true), (Released, true), (Lapsed, true), (Done, true), (DoneLapsed, false)]
    {
        state.prepare(&house, &home, "k").await;
        let answer = home.forget("/a/k").await;
        assert_eq!(answer.status, 200, "{state:?}");
        let expected = json!({ "outcome": "forgotten", "existed": existed, "degraded": false });
        assert_eq!(answer.json(), expected, "{state:?}");
        let claimed = home.claim("k", json!({ "token": OURS })).await.json();
        assert_eq!((&claimed["attempt"], &claimed["previous"]), (&json!(1), &json!("none")), "{state:?}");
        home.forget("/a/k").await;
    }
    home.daemon.stop().await.unwrap();
}
