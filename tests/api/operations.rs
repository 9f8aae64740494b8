//! What operators and their machines read: metrics, the document, readiness.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::harness::{House, OURS, THEIRS, bare, on, post, until};

async fn samples(home: &super::harness::Home) -> Vec<String> {
    let answer = home.ask(&bare("GET", "/metrics")).await;
    assert_eq!(answer.status, 200);
    let content_type = answer.header("content-type").unwrap();
    assert!(content_type.starts_with("application/openmetrics-text; version=1.0.0"), "{content_type}");
    assert!(answer.text().ends_with("# EOF\n"), "{}", answer.text());
    answer.text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn metrics_have_their_fixed_names_and_labels() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS, "fingerprint": "one" })).await;
    home.claim("k", json!({})).await;
    home.claim("k", json!({ "fingerprint": "two" })).await;
    home.extend("k", json!({ "token": THEIRS })).await;
    home.release("k", OURS).await;
    home.release("k", THEIRS).await;
    home.confirm("k", json!({ "token": THEIRS })).await;
    home.claim("k", json!({})).await;
    home.forget("/a/k").await;
    home.claim("", json!({})).await;
    // The first sweep counts what is there.
    until(|| home.daemon.metrics().render().contains("onced_store_records{")).await;
    let samples = samples(&home).await;
    let with = |outcome: &str| format!("onced_claims_total{{namespace=\"a\",outcome=\"{outcome}\"}} 1");
    let outcomes =
        ["claimed", "in_progress", "mismatch", "extended", "not_holder", "released", "confirmed", "done", "forgotten"];
    for outcome in outcomes {
        assert!(samples.contains(&with(outcome)), "{outcome} in {samples:#?}");
    }
    let late = "onced_late_confirms_total{namespace=\"a\"} 1".to_owned();
    assert!(samples.contains(&late), "{samples:#?}");
    let claims = samples.iter().filter(|line| line.starts_with("onced_claims_total{")).count();
    assert_eq!(claims, outcomes.len(), "what was refused counts as nothing");
    for begin in [
        "onced_store_records{state=\"held\"} ",
        "onced_store_records{state=\"free\"} ",
        "onced_store_records{state=\"done\"} ",
        "onced_store_disk_bytes ",
        "onced_store_free_bytes ",
        "onced_commit_seconds_bucket{le=",
        "onced_commit_seconds_count ",
        "onced_commit_group_size_count ",
        "onced_swept_total ",
        "onced_config_loaded_seconds 1800000000",
        concat!("onced_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
    ] {
        assert!(samples.iter().any(|line| line.starts_with(begin)), "{begin} in {samples:#?}");
    }
    home.daemon.stop().await.unwrap();
}

pub(crate) async fn document(home: &super::harness::Home) -> Value {
    let answer = home.ask(&bare("GET", "/openapi.json")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// Follows a `$ref` within the document.
fn resolved<'a>(document: &'a Value, mut schema: &'a Value) -> &'a Value {
    while let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').unwrap();
        schema = document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
    }
    schema
}

/// Why a value does not fit a schema; `None` when it does. As much of JSON Schema as the document uses.
pub(crate) fn misfit(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = resolved(document, schema);
    for word in schema.as_object()?.keys() {
        let known = [
            "type",
            "description",
            "properties",
            "required",
            "items",
            "oneOf",
            "allOf",
            "anyOf",
            "enum",
            "format",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "pattern",
            "additionalProperties",
            "title",
            "examples",
            "propertyNames",
        ];
        assert!(known.contains(&word.as_str()), "this checker does not know {word}");
    }
    let parts = |word: &str| schema[word].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(why) = parts("allOf").iter().find_map(|part| misfit(document, part, value)) {
        return Some(why);
    }
    for (word, least, most) in [("oneOf", 1, 1), ("anyOf", 1, usize::MAX)] {
        let fitting = parts(word).iter().filter(|part| misfit(document, part, value).is_none()).count();
        if !parts(word).is_empty() && !(least..=most).contains(&fitting) {
            return Some(format!("{fitting} of {word} fit {value}"));
        }
    }
    if !parts("enum").is_empty() && !parts("enum").contains(value) {
        return Some(format!("{value} is none of {}", schema["enum"]));
    }
    let types: Vec<_> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        several => several.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let fits = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("this checker does not know the type {other}"),
    };
    if !types.is_empty() && !types.iter().any(fits) {
        return Some(format!("{value} is not {types:?}"));
    }
    if value.is_object() {
        let missing = parts("required").iter().find(|name| value.get(name.as_str().unwrap()).is_none());
        if let Some(missing) = missing {
            return Some(format!("{value} lacks {missing}"));
        }
        let known = |name: &str| schema["properties"].get(name).is_some();
        let odd = value.as_object().into_iter().flat_map(|object| object.keys()).find(|name| !known(name));
        if let Some(odd) = odd.filter(|_| schema["additionalProperties"] == false) {
            return Some(format!("{odd} is not known"));
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (name, part) in properties {
            if let Some(why) = value.get(name).and_then(|value| misfit(document, part, value)) {
                return Some(format!("{name}: {why}"));
            }
        }
    }
    let items = value.as_array().into_iter().flatten();
    items.filter(|_| schema.get("items").is_some()).find_map(|item| misfit(document, &schema["items"], item))
}

/// The schema of an answer: that of its status, or of its class.
pub(crate) fn described<'a>(operation: &'a Value, status: u16, content_type: &str) -> &'a Value {
    let responses = &operation["responses"];
    let class = format!("{}XX", status / 100);
    let response = responses.get(status.to_string()).or_else(|| responses.get(class));
    let response = response.unwrap_or_else(|| panic!("{status} is not described in {responses}"));
    match response.get("content") {
        Some(content) => {
            let media = content_type.split(';').next().unwrap();
            &content.get(media).unwrap_or_else(|| panic!("{media} is not described in {content}"))["schema"]
        }
        None => &Value::Null,
    }
}

#[tokio::test]
async fn the_document_is_openapi_3_1_and_every_path_of_it_answers() {
    let house = House::new();
    let home = house.start().await;
    let document = document(&home).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert_eq!(document["info"]["title"], "onced");
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            described.insert(format!("{} {path}", method.to_uppercase()));
            let path = path.replace("{namespace}", "a").replace("{key}", "k").replace("{id}", &"0".repeat(32));
            let answer = home.ask(&bare(&method.to_uppercase(), &path)).await;
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(answer.status != 404 || answer.problem() == "absent", "{method} {path}: {}", answer.text());
            assert!(answer.status < 500, "{method} {path}");
        }
    }
    let expected = [
        "DELETE /v1/claims/{namespace}/{key}",
        "DELETE /v1/events/{id}",
        "GET /healthz",
        "GET /metrics",
        "GET /openapi.json",
        "GET /readyz",
        "GET /v1/audit",
        "GET /v1/claims",
        "GET /v1/claims/{namespace}/{key}",
        "GET /v1/dead-letters",
        "GET /v1/events",
        "GET /v1/events/{id}",
        "GET /v1/events/{id}/body",
        "POST /v1/batch",
        "POST /v1/claim",
        "POST /v1/confirm",
        "POST /v1/dead-letters/redrive",
        "POST /v1/events/{id}/replay",
        "POST /v1/extend",
        "POST /v1/release",
        "POST /v1/reload",
    ];
    assert_eq!(described, expected.into_iter().map(str::to_owned).collect());
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn answers_of_every_kind_fit_their_schema() {
    let house = House::new();
    let home = house.start().await;
    let document = document(&home).await;
    let ours = json!({ "token": OURS, "fingerprint": "one", "owner": "billing" });
    let verbs: Vec<_> = ["claim", "extend", "release", "confirm"]
        .iter()
        .map(|verb| on("m", json!({ "command": verb, "token": OURS })))
        .collect();
    let rows = [
        ("POST", "/v1/claim", on("k", ours.clone()), 201),
        ("POST", "/v1/claim", on("k", json!({})), 409),
        ("POST", "/v1/claim", on("k", json!({ "fingerprint": "two" })), 422),
        ("POST", "/v1/claim", on("", json!({})), 400),
        ("POST", "/v1/claim", json!({ "namespace": "route:a", "key": "k" }), 403),
        ("GET", "/v1/claims/a/k", Value::Null, 200),
        ("POST", "/v1/extend", on("k", json!({ "token": OURS })), 200),
        ("POST", "/v1/extend", on("k", json!({ "token": THEIRS })), 409),
        ("POST", "/v1/extend", on("k", json!({})), 400),
        ("POST", "/v1/release", on("k", json!({ "token": THEIRS })), 409),
        ("POST", "/v1/release", on("k", json!({ "token": OURS })), 200),
        ("POST", "/v1/release", on("absent", json!({ "token": OURS })), 200),
        ("POST", "/v1/release", on("k", json!({ "token": 5 })), 400),
        ("GET", "/v1/claims?limit=1", Value::Null, 200),
        ("POST", "/v1/confirm", on("k", json!({ "result": { "n": 1 } })), 200),
        ("POST", "/v1/confirm", on("k", json!({ "colour": 1 })), 400),
        ("POST", "/v1/claim", on("k", json!({})), 200),
        ("POST", "/v1/release", on("k", json!({ "token": OURS })), 409),
        ("POST", "/v1/batch", json!({ "commands": [{ "command": "claim", "namespace": "a", "key": "l" }] }), 200),
        ("POST", "/v1/batch", json!({ "commands": verbs }), 200),
        ("POST", "/v1/batch", json!({ "commands": [] }), 400),
        ("GET", "/v1/claims?limit=1", Value::Null, 200),
        ("GET", "/v1/claims", Value::Null, 200),
        ("GET", "/v1/claims?limit=0", Value::Null, 400),
        ("GET", "/v1/claims/a/k", Value::Null, 200),
        ("GET", "/v1/claims/a/absent", Value::Null, 404),
        ("DELETE", "/v1/claims/a/k", Value::Null, 200),
        ("DELETE", "/v1/claims/A/k", Value::Null, 400),
        ("GET", "/readyz", Value::Null, 200),
        ("GET", "/healthz", Value::Null, 200),
    ];
    let mut outcomes = BTreeSet::new();
    for (method, path, body, status) in rows {
        let what = format!("{method} {path} {body}");
        let request = if body.is_null() { bare(method, path) } else { post(path, &body.to_string()) };
        let answer = home.ask(&request).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        let pattern = if path.starts_with("/v1/claims/") { "/v1/claims/{namespace}/{key}" } else { path };
        let pattern = pattern.split('?').next().unwrap();
        let operation = &document["paths"][pattern][method.to_lowercase()];
        let schema = described(operation, status, answer.header("content-type").unwrap());
        if !schema.is_null() {
            assert_eq!(misfit(&document, schema, &answer.json()), None, "{what}");
        }
        // A request that was taken fits what the document says of requests.
        if !body.is_null() && status != 400 {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            assert_eq!(misfit(&document, schema, &body), None, "{what}");
            let mut odd = body.clone();
            odd["colour"] = 1.into();
            assert!(misfit(&document, schema, &odd).is_some(), "{what}");
        }
        outcomes.extend(answer.json()["outcome"].as_str().map(str::to_owned));
    }
    assert_eq!(outcomes.len(), 9, "{outcomes:?}");
    home.daemon.stop().await.unwrap();
}

/// The checker itself: it must find what is wrong.
#[tokio::test]
async fn an_answer_with_a_field_missing_or_wrong_does_not_fit() {
    let house = House::new();
    let home = house.start().await;
    let document = document(&home).await;
    let schema = described(&document["paths"]["/v1/claim"]["post"], 201, "application/json");
    let good = home.claim("k", json!({})).await.json();
    assert_eq!(misfit(&document, schema, &good), None);
    for (field, wrong) in
        [("token", json!(5)), ("attempt", json!("1")), ("previous", json!("lost")), ("outcome", json!("x"))]
    {
        let mut bad = good.clone();
        bad[field] = wrong;
        assert!(misfit(&document, schema, &bad).is_some(), "{field}");
        bad.as_object_mut().unwrap().remove(field);
        assert!(misfit(&document, schema, &bad).is_some(), "without {field}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_is_live_and_ready_and_says_so() {
    let house = House::new();
    let home = house.start().await;
    assert_eq!(home.ask(&bare("GET", "/healthz")).await.json(), json!({ "status": "ok" }));
    let ready = home.ask(&bare("GET", "/readyz")).await;
    assert_eq!((ready.status, ready.json()), (200, json!({ "ready": true, "reasons": [] })));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_that_stops_is_not_ready_and_says_why() {
    let house = House::with("loopback = \"operate\"", "");
    let home = house.start().await;
    // Half a head: the connection is busy, so the drain lets it finish its request.
    let mut late = home.connect().await;
    late.send("GET /readyz HTTP/1.1\r\n").await;
    // By the time that a later connection was answered, the daemon has read it.
    assert_eq!(home.ask(&bare("GET", "/healthz")).await.status, 200);
    let mut live = home.connect().await;
    live.send("GET /healthz HTTP/1.1\r\n").await;
    assert_eq!(home.ask(&bare("GET", "/healthz")).await.status, 200);
    let stopping = tokio::spawn(home.daemon.stop());
    tokio::task::yield_now().await;
    late.send("Host: localhost\r\n\r\n").await;
    let answer = late.answer().await;
    assert_eq!((answer.status, answer.json()), (503, json!({ "ready": false, "reasons": ["stopping"] })));
    assert_eq!(answer.header("connection"), Some("close"));
    live.send("Host: localhost\r\n\r\n").await;
    assert_eq!(live.answer().await.status, 200, "it lives while it stops");
    stopping.await.unwrap().unwrap();
}
