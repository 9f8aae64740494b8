//! Who did what to events.

use serde_json::Value;

use super::apps::Reply;
use super::command_line::run;
use super::harness::{START_MS, bare, post, rfc3339, with_headers};
use super::letters::{id, keep_content};
use super::operations::{described, document, misfit};
use super::queue::{Queue, content};

const AUDITOR: &str = "auditor-0123456789-0123456789";

/// Loopback may operate, and so may `auditor`, in `route:mine`.
async fn queue() -> Queue {
    let api = |house: &super::harness::House| {
        let file = house.file("auditor", AUDITOR);
        format!(
            "loopback = \"operate\"\n[[api.token]]\nname = \"auditor\"\nfile = {file:?}\n\
             namespaces = [\"route:mine\"]\nscopes = [\"operate\"]"
        )
    };
    Queue::open(api, "", "").await
}

fn entries(page: &Value) -> Vec<[&str; 3]> {
    let items = page["items"].as_array().unwrap_or_else(|| panic!("{page}")).iter();
    items.map(|entry| ["actor", "action", "target"].map(|field| entry[field].as_str().unwrap())).collect()
}

#[tokio::test]
async fn each_action_is_listed_with_its_time_and_its_actor_the_newest_first() {
    let mut queue = queue().await;
    let document = document(&queue.home).await;
    for (number, route) in [(1, "orders"), (2, "mine"), (3, "mine")] {
        keep_content(&queue.home, number, route, Some(500), content("e")).await;
    }
    let [one, two, three] = [1, 2, 3].map(|number| id(number).to_string());
    let bearer = format!("Authorization: Bearer {AUDITOR}");
    // On the socket, on loopback without a token, and with one.
    let mut socket = queue.home.connect_unix().await;
    let replay = post(&format!("/v1/events/{one}/replay"), "{}");
    let (replayed, _) = tokio::join!(socket.ask(&replay), queue.app.answers(Reply::ok()));
    assert_eq!(replayed.status, 200, "{replayed:?}");
    queue.house.advance_ms(5_000);
    let discarded = queue.home.ask(&bare("DELETE", &format!("/v1/events/{two}"))).await;
    assert_eq!(discarded.json()["existed"], true);
    // What was not there is no action.
    assert_eq!(queue.home.ask(&bare("DELETE", &format!("/v1/events/{two}"))).await.json()["existed"], false);
    let headers = [&*bearer, "Content-Type: application/json"];
    let redrive = with_headers(
        "POST",
        "/v1/dead-letters/redrive",
        &headers,
        "{\"cause\":\"rejected\",\"before\":\"2028-01-01T00:00:00Z\"}",
    );
    let redriven = queue.home.ask(&redrive).await.json();
    assert_eq!(redriven["redriven"], 1, "the other dead letters are not its: {redriven}");
    let page = queue.get("/v1/audit").await;
    let schema = described(&document["paths"]["/v1/audit"]["get"], 200, "application/json");
    assert_eq!((page.status, misfit(&document, schema, &page.json())), (200, None));
    let page = page.json();
    let rows = entries(&page);
    assert_eq!((rows[1], rows[2]), (["loopback", "discard", &*two], ["socket", "replay", &*one]));
    assert_eq!((rows.len(), rows[0][0], rows[0][1]), (3, "auditor", "redrive_many"));
    let words = format!("route=* cause=rejected before=2028-01-01T00:00:00.000Z (redrive {})", redriven["job"]);
    assert_eq!(rows[0][2], words);
    let times = [5_000, 5_000, 0].map(|millis| Value::from(rfc3339(START_MS + millis)));
    assert_eq!([0, 1, 2].map(|at| page["items"][at]["at"].clone()), times);
    assert_eq!(page["next"], Value::Null);
    // Page by page.
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = queue.get(&format!("/v1/audit?limit=1{after}")).await.json();
        paged.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(Value::from(paged), page["items"]);
    // Whoever is confined sees its own.
    let theirs = queue.home.ask(&with_headers("GET", "/v1/audit", &[&bearer], "")).await.json();
    assert_eq!(entries(&theirs), [rows[0], rows[1]]);
    let said = run(&queue.home, &["audit"]).await;
    let last = format!("{} socket replay {one}", rfc3339(START_MS));
    assert_eq!((said.exit, said.out.lines().count(), said.out.lines().last()), (0, 3, Some(&*last)));
    assert_eq!(run(&queue.home, &["audit", "--json"]).await.json(), page);
    let _still_kept = three;
    queue.end().await;
}
