//! What went wrong elsewhere, and must not here: the life of a claim over HTTP, with injected time and restarts.

use serde_json::{Value, json};

use super::harness::{House, OURS, START_MS, THEIRS, bare, on, rfc3339};

/// A worker timed out or was killed; its mark never cleared, and every later attempt was refused until somebody deleted
/// the key by hand.
#[tokio::test]
async fn a_holder_that_died_holds_the_key_until_its_deadline_and_no_longer() {
    for restarts in [false, true] {
        let house = House::new();
        let mut home = house.start().await;
        let first = home.claim("k", json!({ "processing_ttl": "3s" })).await.json();
        house.advance_ms(1_000);
        if restarts {
            home.daemon.stop().await.unwrap();
            home = house.start().await;
        }
        let busy = home.claim("k", json!({})).await;
        assert_eq!((busy.status, busy.outcome().as_str()), (409, "in_progress"), "restarts: {restarts}");
        assert_eq!(busy.json()["retry_after_ms"], 2_000, "the original deadline, restarts: {restarts}");
        assert_eq!(busy.json()["expires_at"], rfc3339(START_MS + 3_000));
        house.advance_ms(1_999);
        assert_eq!(home.claim("k", json!({})).await.outcome(), "in_progress", "restarts: {restarts}");
        house.advance_ms(1);
        let second = home.claim("k", json!({})).await.json();
        assert_eq!(second["outcome"], "claimed", "restarts: {restarts}");
        assert_ne!(second["token"], first["token"]);
        assert_eq!((&second["attempt"], &second["previous"]), (&json!(2), &json!("expired")));
        assert!(second["fence"].as_u64() > first["fence"].as_u64(), "the fence rises over restarts");
        home.daemon.stop().await.unwrap();
    }
}

/// The mark expired while the slow job still ran; a second run started, and nobody was told.
#[tokio::test]
async fn work_that_outlives_its_claim_lands_and_is_told_that_it_overran() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": OURS, "processing_ttl": "2s" })).await;
    house.advance_ms(2_500);
    assert_eq!(home.claim("k", json!({ "token": THEIRS })).await.outcome(), "claimed");
    house.advance_ms(1_500);
    let late = home.confirm("k", json!({ "token": OURS })).await;
    assert_eq!((late.outcome().as_str(), &late.json()["overrun"]), ("confirmed", &json!(true)));
    assert_eq!(home.claim("k", json!({})).await.outcome(), "done", "a third run is stopped");
    house.advance_ms(1_000);
    let own = home.confirm("k", json!({ "token": THEIRS })).await;
    assert_eq!((own.status, own.outcome().as_str()), (200, "confirmed"));
    let release = home.release("k", THEIRS).await;
    assert_eq!((release.status, release.outcome().as_str()), (409, "done"));
    let metrics = home.ask(&bare("GET", "/metrics")).await;
    assert!(metrics.text().contains("onced_late_confirms_total{namespace=\"a\"} 1\n"), "{}", metrics.text());
    home.daemon.stop().await.unwrap();
}

/// The other way out of the same story: the slow job asks for more time while it has some.
#[tokio::test]
async fn work_that_takes_longer_extends_its_claim_and_keeps_others_out() {
    let house = House::new();
    let mut home = house.start().await;
    home.claim("k", json!({ "token": OURS, "processing_ttl": "2s" })).await;
    house.advance_ms(1_000);
    let extended = home.extend("k", json!({ "token": OURS, "processing_ttl": "5s" })).await;
    assert_eq!(extended.json()["expires_at"], rfc3339(START_MS + 6_000), "from now, not on top");
    house.advance_ms(1_500);
    assert_eq!(home.claim("k", json!({ "token": THEIRS })).await.outcome(), "in_progress");
    home.daemon.stop().await.unwrap();
    home = house.start().await;
    house.advance_ms(3_499);
    assert_eq!(home.claim("k", json!({ "token": THEIRS })).await.outcome(), "in_progress");
    house.advance_ms(1);
    assert_eq!(home.claim("k", json!({ "token": THEIRS })).await.outcome(), "claimed");
    home.daemon.stop().await.unwrap();
}

/// A's claim lapsed, B had it, A's clean-up deleted the key, C came in beside B.
#[tokio::test]
async fn a_late_release_does_not_free_somebody_elses_claim() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": OURS, "processing_ttl": "1s" })).await;
    house.advance_ms(1_500);
    let theirs = json!({ "token": THEIRS, "processing_ttl": "60s" });
    assert_eq!(home.claim("k", theirs).await.outcome(), "claimed");
    house.advance_ms(500);
    let before = home.get("/a/k").await.json();
    for late in [home.release("k", OURS).await, home.extend("k", json!({ "token": OURS })).await] {
        assert_eq!((late.status, late.outcome().as_str()), (409, "not_holder"));
    }
    assert_eq!(home.get("/a/k").await.json(), before, "nothing has changed");
    house.advance_ms(100);
    assert_eq!(home.claim("k", json!({})).await.outcome(), "in_progress");
    let confirmed = home.confirm("k", json!({ "token": THEIRS })).await.json();
    assert_eq!((&confirmed["outcome"], &confirmed["overrun"]), (&json!("confirmed"), &json!(false)));
    home.daemon.stop().await.unwrap();
}

/// A record that lacked an optional field was taken for abandoned, and a second caller had it at once.
#[tokio::test]
async fn a_claim_without_any_optional_field_excludes_as_well_as_one_with_all() {
    let house = House::with("loopback = \"operate\"", "[defaults]\nprocessing_ttl = \"60s\"");
    let mut home = house.start().await;
    let options =
        [("token", OURS), ("processing_ttl", "60s"), ("fingerprint", "one"), ("owner", "billing"), ("wait", "1s")];
    let keys: Vec<_> = (0..1 << options.len()).map(|set| format!("k{set}")).collect();
    for (set, key) in keys.iter().enumerate() {
        let chosen = options.iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0);
        let fields: serde_json::Map<_, _> =
            chosen.map(|(_, (name, value))| ((*name).to_owned(), Value::from(*value))).collect();
        assert_eq!(home.claim(key, fields.clone().into()).await.outcome(), "claimed", "{fields:?}");
    }
    house.advance_ms(10);
    for restart in [false, true] {
        if restart {
            home.daemon.stop().await.unwrap();
            home = house.start().await;
            house.advance_ms(59_989);
        }
        for key in &keys {
            assert_eq!(home.claim(key, json!({})).await.outcome(), "in_progress", "{key}, restart: {restart}");
        }
    }
    house.advance_ms(1);
    for key in &keys {
        assert_eq!(home.claim(key, json!({})).await.outcome(), "claimed", "{key}");
    }
    home.daemon.stop().await.unwrap();
}

/// The job failed cleanly and at once, but its lock stayed for the whole period and new work was thrown away.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_released_key_can_be_claimed_at_once_by_exactly_one_of_twenty() {
    let house = House::new();
    let home = std::sync::Arc::new(house.start().await);
    home.claim("k", json!({ "token": OURS, "processing_ttl": "10m" })).await;
    house.advance_ms(100);
    assert_eq!(home.release("k", OURS).await.outcome(), "released");
    let gate = std::sync::Arc::new(tokio::sync::Barrier::new(20));
    let race = (0..20).map(|_| {
        let (home, gate) = (std::sync::Arc::clone(&home), std::sync::Arc::clone(&gate));
        tokio::spawn(async move {
            let mut connection = home.connect().await;
            gate.wait().await;
            let request = super::harness::post("/v1/claim", &on("k", json!({})).to_string());
            connection.ask(request).await.outcome()
        })
    });
    let mut outcomes = Vec::new();
    for caller in race.collect::<Vec<_>>() {
        outcomes.push(caller.await.unwrap());
    }
    outcomes.sort();
    assert_eq!(outcomes[0], "claimed");
    assert!(outcomes[1..].iter().all(|outcome| outcome == "in_progress"), "{outcomes:?}");
    std::sync::Arc::into_inner(home).unwrap().daemon.stop().await.unwrap();
}

/// A repeated event set its status back to pending, so that a finished one ran again.
#[tokio::test]
async fn nothing_that_comes_late_reopens_a_finished_key_or_moves_its_end() {
    let house = House::new();
    let home = house.start().await;
    let late: [(&str, Value, &str); 6] = [
        ("claim", json!({}), "done"),
        ("claim", json!({ "token": OURS }), "done"),
        ("release", json!({ "token": OURS }), "done"),
        ("extend", json!({ "token": OURS, "processing_ttl": "24h" }), "done"),
        ("confirm", json!({ "token": OURS, "confirmed_ttl": "1s", "result": "late" }), "confirmed"),
        ("confirm", json!({ "confirmed_ttl": "90d" }), "confirmed"),
    ];
    // Each of them may come first: every rotation.
    for first in 0..late.len() {
        let key = format!("k{first}");
        home.claim(&key, json!({ "token": OURS })).await;
        home.confirm(&key, json!({ "token": OURS, "confirmed_ttl": "1h", "result": "first" })).await;
        let finished = home.get(&format!("/a/{key}")).await.json();
        assert_eq!((&finished["state"], &finished["result"]), (&json!("done"), &json!("first")));
        for (verb, fields, outcome) in late.iter().cycle().skip(first).take(late.len()) {
            house.advance_ms(100);
            let answer = home.post(&format!("/v1/{verb}"), &on(&key, fields.clone())).await.json();
            assert_eq!(answer["outcome"], *outcome, "{verb} {fields}");
            assert_eq!(answer["expires_at"], finished["expires_at"], "{verb} {fields}");
            assert_eq!(home.get(&format!("/a/{key}")).await.json(), finished, "{verb} {fields}");
        }
    }
    home.daemon.stop().await.unwrap();
}

/// After the window every repeat counted as the first, because the old stamp stayed; elsewhere each look moved the
/// window on.
#[tokio::test]
async fn polling_does_not_lengthen_the_window_and_its_end_lets_exactly_one_in() {
    let house = House::new();
    let home = house.start().await;
    home.confirm("k", json!({ "confirmed_ttl": "2s" })).await;
    let mut outcomes = Vec::new();
    for _ in 0..=40 {
        outcomes.push(home.claim("k", json!({ "processing_ttl": "10s" })).await.outcome());
        house.advance_ms(100);
    }
    assert!(outcomes[..20].iter().all(|outcome| outcome == "done"), "{outcomes:?}");
    assert_eq!(outcomes[20], "claimed", "{outcomes:?}");
    assert!(outcomes[21..].iter().all(|outcome| outcome == "in_progress"), "{outcomes:?}");
    home.daemon.stop().await.unwrap();
}

/// Ids that had been seen lived in the process; a restart ran their events again.
#[tokio::test]
async fn what_was_answered_is_remembered_over_a_restart() {
    let house = House::new();
    let mut home = house.start().await;
    home.claim("done", json!({ "token": OURS, "fingerprint": "one", "owner": "billing" })).await;
    home.confirm("done", json!({ "token": OURS, "confirmed_ttl": "1h", "result": { "n": 1 } })).await;
    home.claim("free", json!({ "token": OURS })).await;
    home.release("free", OURS).await;
    home.claim("held", json!({ "token": OURS, "processing_ttl": "1h" })).await;
    let before = home.stored().await;
    let claim = json!({ "token": OURS, "processing_ttl": "5s" });
    let repeated = home.claim("held", claim.clone()).await.json();
    for round in 0..3 {
        home.daemon.stop().await.unwrap();
        home = house.start().await;
        assert_eq!(home.stored().await, before, "round {round}");
        let done = home.claim("done", json!({})).await.json();
        assert_eq!((&done["outcome"], &done["result"]), (&json!("done"), &json!({ "n": 1 })), "round {round}");
        let mismatch = home.claim("done", json!({ "fingerprint": "two" })).await;
        assert_eq!(mismatch.outcome(), "mismatch", "round {round}");
        assert_eq!(home.claim("held", claim.clone()).await.json(), repeated, "round {round}");
    }
    let again = home.claim("free", json!({})).await.json();
    assert_eq!((&again["attempt"], &again["previous"]), (&json!(2), &json!("released")));
    home.daemon.stop().await.unwrap();
}

/// While the daemon was down its windows went on, by the boot clock; across a reboot by the wall clock.
#[tokio::test]
async fn time_passes_while_the_daemon_is_down_whatever_the_wall_clock_says() {
    let house = House::new();
    let mut home = house.start().await;
    home.confirm("k", json!({ "confirmed_ttl": "1h" })).await;
    for (step_ms, advance_ms, outcome) in [
        (365 * 86_400_000, 1_000, "done"),
        (-2 * 365 * 86_400_000, 1_000, "done"),
        (0, 3_597_999, "done"),
        (0, 1, "claimed"),
    ] {
        home.daemon.stop().await.unwrap();
        house.time.step_wall(step_ms);
        house.advance_ms(advance_ms);
        home = house.start().await;
        assert_eq!(home.claim("k", json!({ "processing_ttl": "10s" })).await.outcome(), outcome, "{step_ms}");
    }
    home.daemon.stop().await.unwrap();
    house.time.reboot("boot-2");
    home = house.start().await;
    assert_eq!(home.claim("k", json!({})).await.outcome(), "in_progress", "no time has passed");
    home.daemon.stop().await.unwrap();
    house.time.reboot("boot-3");
    house.time.step_wall(10_000);
    home = house.start().await;
    assert_eq!(home.claim("k", json!({})).await.outcome(), "claimed", "the wall clock says so");
    home.daemon.stop().await.unwrap();
}

/// Length was checked in characters but stored in bytes, long keys hit an index limit and gave 500, and spellings were
/// folded into one.
#[tokio::test]
async fn a_byte_limit_decides_which_keys_are_taken_and_every_spelling_is_its_own() {
    let house = House::new();
    let mut home = house.start().await;
    let long = |length: usize| "x".repeat(length);
    let taken = [
        long(255),
        long(256),
        long(512),
        "\u{1f600}".repeat(63) + "xyz",
        "\u{1f600}".repeat(128),
        "a/b".into(),
        "a%2Fb".into(),
        "a%252Fb".into(),
        "..".into(),
        "../..".into(),
        "a b".into(),
        "a+b".into(),
        "K".into(),
        "k".into(),
        "\u{e9}".into(),
        "e\u{301}".into(),
        "k ".into(),
        " k".into(),
        "\u{feff}k".into(),
        "\u{200b}".into(),
        "null".into(),
        "0".into(),
        "00".into(),
        "\u{10ffff}".into(),
        "\"".into(),
        "\\".into(),
    ];
    for key in &taken {
        let claimed = home.claim(key, json!({})).await;
        assert_eq!((claimed.status, &claimed.json()["attempt"]), (201, &json!(1)), "{key:?}");
    }
    let refused = [
        long(0),
        long(513),
        long(2_048),
        "\u{1f600}".repeat(129),
        "a\n".into(),
        "\0".into(),
        "a\0b".into(),
        "\u{7f}".into(),
        "\u{9f}".into(),
    ];
    for key in &refused {
        let answer = home.claim(key, json!({})).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{key:?}");
    }
    home.daemon.stop().await.unwrap();
    home = house.start().await;
    let stored: Vec<_> = home.stored().await.iter().map(|claim| claim["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!(stored.len(), taken.len());
    assert!(taken.iter().all(|key| stored.contains(key)), "byte for byte");
    home.daemon.stop().await.unwrap();
}

/// Ids are unique only inside their producer; joined with a delimiter, one tenant's id suppressed another's event.
#[tokio::test]
async fn the_same_id_in_two_namespaces_is_two_keys_however_they_are_spelled() {
    let house = House::new();
    let home = house.start().await;
    let pairs = [
        ("ns1", "1"),
        ("ns2", "1"),
        ("a", "b:c"),
        ("a.b", "c"),
        ("a", "b.c"),
        ("a-b", "c"),
        ("a", "b-c"),
        ("a", "b/c"),
        ("ab", "c"),
        ("a", "bc"),
        ("abc", "d"),
        ("a", "route:x"),
        ("route", "x"),
    ];
    for (namespace, key) in pairs {
        let body = json!({ "namespace": namespace, "key": key, "token": OURS });
        let claimed = home.post("/v1/claim", &body).await.json();
        assert_eq!(
            (&claimed["outcome"], &claimed["repeated"]),
            (&json!("claimed"), &json!(false)),
            "{namespace} {key}"
        );
    }
    // The joiner itself is no part of a name.
    let body = json!({ "namespace": "a:b", "key": "c" });
    assert_eq!(home.post("/v1/claim", &body).await.status, 400);
    assert_eq!(home.stored().await.len(), pairs.len());
    // What happens to one happens to no other.
    let body = json!({ "namespace": "ns1", "key": "1" });
    home.post("/v1/confirm", &body).await;
    assert_eq!(home.get("/ns1/1").await.json()["state"], "done");
    assert_eq!(home.get("/ns2/1").await.json()["state"], "held");
    home.daemon.stop().await.unwrap();
}
