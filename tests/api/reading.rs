//! Reading claims back, one or many, and forgetting them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use onced::claim::{Key, Namespace};
use onced::ledger::{Ask, AskClaim};
use serde_json::{Value, json};

use super::harness::{Home, House, OURS, START_MS, THEIRS, bare, rfc3339};

/// Puts a claim into a namespace that no caller may name: as the proxy does.
async fn claim_for_route(home: &Home, namespace: &str, id: &str) {
    let key = Key::new(&Namespace::parse_any(namespace).unwrap(), id).unwrap();
    home.daemon.ledger().ask(key, Ask::Claim(AskClaim::default())).await.unwrap();
}

#[tokio::test]
async fn a_claim_is_read_back_in_each_state_and_never_with_its_token() {
    let house = House::new();
    let home = house.start().await;
    let absent = home.get("/a/k").await;
    assert_eq!((absent.status, absent.problem().as_str()), (404, "absent"));

    let fields = json!({ "token": OURS, "owner": "billing", "fingerprint": "one", "processing_ttl": "10s" });
    home.claim("k", fields).await;
    house.advance_ms(1_000);
    let held = home.get("/a/k").await;
    assert_eq!((held.status, held.header("content-type")), (200, Some("application/json")));
    let expected = json!({
        "namespace": "a", "key": "k", "state": "held", "attempt": 1, "claimed_at": rfc3339(START_MS),
        "expires_at": rfc3339(START_MS + 10_000), "owner": "billing", "degraded": false,
    });
    assert_eq!(held.json(), expected);

    home.release("k", OURS).await;
    let week_ms = 7 * 86_400_000;
    let expected = json!({
        "namespace": "a", "key": "k", "state": "free", "attempt": 1,
        "expires_at": rfc3339(START_MS + 1_000 + week_ms), "degraded": false,
    });
    assert_eq!(home.get("/a/k").await.json(), expected);

    home.claim("k", json!({ "token": OURS, "owner": "billing" })).await;
    home.confirm("k", json!({ "confirmed_ttl": "1h", "result": [1, "two"] })).await;
    let done = home.get("/a/k").await;
    let expected = json!({
        "namespace": "a", "key": "k", "state": "done", "attempt": 2, "confirmed_at": rfc3339(START_MS + 1_000),
        "expires_at": rfc3339(START_MS + 3_601_000), "owner": "billing", "result": [1, "two"], "degraded": false,
    });
    assert_eq!(done.json(), expected);
    let listed = home.get("").await;
    assert_eq!(listed.json(), json!({ "claims": [expected], "next": null, "degraded": false }));
    for answer in [held, done, listed] {
        assert!(!answer.text().contains(OURS));
    }

    house.advance_ms(3_600_000);
    assert_eq!(home.get("/a/k").await.status, 404, "expired, swept or not");
    assert!(home.stored().await.is_empty(), "expired, swept or not");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_expired_claim_reads_as_free() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "processing_ttl": "1s" })).await;
    house.advance_ms(999);
    assert_eq!(home.get("/a/k").await.json()["state"], "held");
    house.advance_ms(1);
    let free = home.get("/a/k").await.json();
    assert_eq!((&free["state"], &free["attempt"]), (&json!("free"), &json!(1)));
    assert_eq!(free.get("claimed_at"), None);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn keys_in_paths_are_percent_decoded_exactly_once() {
    let house = House::new();
    let home = house.start().await;
    let rows = [
        ("a/b", "a%2Fb"),
        ("a/b", "a%2fb"),
        ("a%2Fb", "a%252Fb"),
        ("..", ".."),
        (".", "%2E"),
        ("a b", "a%20b"),
        ("a+b", "a+b"),
        ("é", "%C3%A9"),
        ("e\u{301}", "e%CC%81"),
        ("a ", "a%20"),
        ("?q=1", "%3Fq=1"),
        ("#", "%23"),
        ("50%", "50%25"),
        (":", ":"),
    ];
    for (key, _) in rows {
        home.claim(key, json!({ "owner": key })).await;
    }
    for (key, path) in rows {
        let read = home.get(&format!("/a/{path}")).await;
        assert_eq!(read.status, 200, "{key}: {}", read.text());
        assert_eq!((&read.json()["key"], &read.json()["owner"]), (&json!(key), &json!(key)), "{path}");
    }
    // A namespace is decoded too.
    assert_eq!(home.get("/%61/a%20b").await.status, 200);
    let distinct: BTreeSet<_> = rows.iter().map(|(key, _)| *key).collect();
    for (count, key) in distinct.iter().enumerate() {
        let path = rows.iter().find(|(one, _)| one == key).unwrap().1;
        assert_eq!(home.forget(&format!("/a/{path}")).await.json()["existed"], true, "{key}");
        assert_eq!(home.stored().await.len(), distinct.len() - count - 1, "{key}: it and no other");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_path_that_is_no_key_is_a_400_that_names_the_part() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({})).await;
    let long = "x".repeat(513);
    let rows = [
        ("/a/", "key", "must not be empty"),
        ("/a/%00", "key", "control characters"),
        ("/a/%0A", "key", "control characters"),
        ("/a/%C2%85", "key", "control characters"),
        ("/a/%FF", "key", "UTF-8"),
        (&*format!("/a/{long}"), "key", "512 bytes"),
        ("//k", "namespace", "1 to 64"),
        ("/A/k", "namespace", "a-z"),
        ("/%FF/k", "namespace", "UTF-8"),
        ("/route:/k", "namespace", "1 to 64"),
        ("/route:route:a/k", "namespace", "a-z"),
    ];
    for (path, field, limit) in rows {
        for answer in [home.get(path).await, home.forget(path).await] {
            assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{path}");
            assert_eq!(answer.json()["field"], field, "{path}");
            assert!(answer.json()["detail"].as_str().unwrap().contains(limit), "{path}: {}", answer.text());
        }
    }
    assert_eq!(home.stored().await.len(), 1);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_list_is_filtered_by_namespace_and_state() {
    let house = House::new();
    let home = house.start().await;
    for namespace in ["a", "ab", "b"] {
        for (key, verb) in [("held", "claim"), ("free", "claim"), ("done", "confirm")] {
            let body = json!({ "namespace": namespace, "key": key, "token": OURS });
            home.post(&format!("/v1/{verb}"), &body).await;
            if key == "free" {
                home.post("/v1/release", &body).await;
            }
        }
    }
    let rows = [
        ("", 9),
        ("?", 9),
        ("?namespace=a", 3),
        ("?namespace=ab", 3),
        ("?namespace=%61b", 3),
        ("?namespace=c", 0),
        ("?state=held", 3),
        ("?state=free", 3),
        ("?state=done", 3),
        ("?namespace=b&state=done", 1),
        ("?state=done&namespace=b&limit=5", 1),
    ];
    for (query, count) in rows {
        let page = home.get(query).await.json();
        let claims = page["claims"].as_array().unwrap();
        assert_eq!(claims.len(), count, "{query}");
        for claim in claims {
            // Each was named for its state.
            assert_eq!(claim["key"], claim["state"], "{query}");
            if let Some((_, namespace)) = query.split_once("namespace=") {
                assert!(["a", "ab", "b"].contains(&claim["namespace"].as_str().unwrap()), "{namespace}");
            }
        }
    }
    let page = home.get("?namespace=ab&state=done").await.json();
    assert_eq!((&page["claims"][0]["namespace"], &page["claims"][0]["key"]), (&json!("ab"), &json!("done")));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_list_refuses_what_it_does_not_know_by_name() {
    let house = House::new();
    let home = house.start().await;
    let foreign = BASE64_URL_SAFE_NO_PAD.encode("no key");
    let rows = [
        ("?limit=0", "limit", "1 to 1000"),
        ("?limit=1001", "limit", "1 to 1000"),
        ("?limit=-1", "limit", "1 to 1000"),
        ("?limit=1e2", "limit", "1 to 1000"),
        ("?limit=", "limit", "1 to 1000"),
        ("?limit", "limit", "1 to 1000"),
        ("?limit=99999999999999999999999", "limit", "1 to 1000"),
        ("?state=", "state", "held, free or done"),
        ("?state=HELD", "state", "held, free or done"),
        ("?namespace=", "namespace", "1 to 64"),
        ("?namespace=A", "namespace", "1 to 64"),
        ("?namespace=%FF", "namespace", "UTF-8"),
        ("?after=", "after", "next"),
        ("?after=%%%", "after", "next"),
        (&*format!("?after={foreign}"), "after", "next"),
        ("?colour=red", "colour", "not known"),
        ("?limit=1&limit=1", "limit", "twice"),
    ];
    for (query, field, limit) in rows {
        let answer = home.get(query).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{query}: {}", answer.text());
        assert_eq!(answer.json()["field"], field, "{query}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(limit), "{query}: {}", answer.text());
    }
    home.daemon.stop().await.unwrap();
}

async fn fill(home: &Home, namespace: &str, prefix: &str, count: usize) {
    let claim = |number| json!({ "command": "claim", "namespace": namespace, "key": format!("{prefix}{number:05}") });
    for from in (0..count).step_by(1_000) {
        let commands: Vec<_> = (from..count.min(from + 1_000)).map(claim).collect();
        assert_eq!(home.post("/v1/batch", &json!({ "commands": commands })).await.status, 200);
    }
}

#[tokio::test]
async fn a_page_holds_100_records_unless_asked_for_1_to_1000() {
    let house = House::new();
    let home = house.start().await;
    fill(&home, "a", "k", 1_200).await;
    for (query, count) in [("", 100), ("?limit=1", 1), ("?limit=1000", 1_000)] {
        let page = home.get(query).await.json();
        assert_eq!(page["claims"].as_array().unwrap().len(), count, "{query}");
        assert!(page["next"].is_string(), "{query}");
    }
    home.daemon.stop().await.unwrap();
}

/// What was there all the time is seen exactly once, whatever writers do around it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pages_give_each_record_once_while_writers_run() {
    let house = House::new();
    let home = Arc::new(house.start().await);
    fill(&home, "a", "stays-", 600).await;
    let enough = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (home, enough) = (Arc::clone(&home), Arc::clone(&enough));
        async move {
            let mut round = 0_u32;
            while !enough.load(Ordering::Relaxed) {
                // New ones before, between and behind; the old ones change their state.
                let commands: Vec<Value> = (0..50)
                    .flat_map(|number: u32| {
                        let stays = format!("stays-{:05}", (round * 50 + number) % 600);
                        let comes =
                            format!("{}-{}-{number}", ["aaa", "stays-00300-x", "zzz"][number as usize % 3], round % 10);
                        [
                            json!({ "command": "confirm", "namespace": "a", "key": stays }),
                            json!({ "command": "claim", "namespace": "a", "key": comes }),
                        ]
                    })
                    .collect();
                assert_eq!(home.post("/v1/batch", &json!({ "commands": commands })).await.status, 200);
                round += 1;
            }
            round
        }
    });
    for limit in [7, 100] {
        let (mut seen, mut after) = (BTreeMap::new(), String::new());
        loop {
            let page = home.get(&format!("?namespace=a&limit={limit}{after}")).await.json();
            let claims = page["claims"].as_array().unwrap();
            assert!(claims.len() <= limit);
            for claim in claims {
                *seen.entry(claim["key"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            }
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert!(seen.values().all(|times| *times == 1), "limit {limit}");
        let stayed = seen.keys().filter(|key| key.starts_with("stays-") && key.len() == 11).count();
        assert_eq!(stayed, 600, "limit {limit}");
    }
    enough.store(true, Ordering::Relaxed);
    assert!(writer.await.unwrap() > 0, "there was a writer");
    Arc::into_inner(home).unwrap().daemon.stop().await.unwrap();
}

#[tokio::test]
async fn namespaces_of_routes_can_be_read_and_forgotten_but_not_claimed() {
    let house = House::new();
    let home = house.start().await;
    claim_for_route(&home, "route:stripe", "evt_1").await;
    for verb in ["claim", "confirm", "release", "extend"] {
        for namespace in ["route:stripe", "route:", "route:other"] {
            let body = json!({ "namespace": namespace, "key": "evt_1", "token": THEIRS });
            let answer = home.post(&format!("/v1/{verb}"), &body).await;
            assert_eq!((answer.status, answer.problem().as_str()), (403, "reserved_namespace"), "{verb} {namespace}");
        }
    }
    let read = home.get("/route:stripe/evt_1").await.json();
    assert_eq!(
        (&read["namespace"], &read["state"], &read["attempt"]),
        (&json!("route:stripe"), &json!("held"), &json!(1))
    );
    assert_eq!(home.get("/route%3Astripe/evt_1").await.status, 200);
    let listed = home.get("?namespace=route%3Astripe").await.json();
    assert_eq!(listed["claims"], json!([read]));
    // The same id under the name without the prefix is another key.
    assert_eq!(home.get("/stripe/evt_1").await.status, 404);
    assert_eq!(home.forget("/route:stripe/evt_1").await.json()["existed"], true);
    assert_eq!(home.get("/route:stripe/evt_1").await.status, 404);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_cursor_goes_on_within_the_namespace_that_is_asked_for_next() {
    let house = House::new();
    let home = house.start().await;
    fill(&home, "a", "k", 3).await;
    fill(&home, "bb", "k", 3).await;
    let mut connection = home.connect().await;
    let page = connection.ask(bare("GET", "/v1/claims?limit=2")).await.json();
    let next = page["next"].as_str().unwrap();
    let rest = connection.ask(bare("GET", &format!("/v1/claims?namespace=bb&after={next}"))).await.json();
    assert_eq!(rest["claims"].as_array().unwrap().len(), 3, "all of them come after the cursor: {rest}");
    home.daemon.stop().await.unwrap();
}
