//! Every field of every request at its limits and past them: a 4xx that names the field and the limit, nothing stored,
//! the connection in a defined state.

use serde_json::json;

use super::harness::{Answer, Connection, Home, House, OURS, assert_defined, assert_nothing_stored};

/// A verb's path and the fields that it takes.
const VERBS: [(&str, &[&str]); 4] = [
    ("claim", &["namespace", "key", "token", "processing_ttl", "fingerprint", "owner", "wait"]),
    ("confirm", &["namespace", "key", "token", "confirmed_ttl", "result"]),
    ("release", &["namespace", "key", "token"]),
    ("extend", &["namespace", "key", "token", "processing_ttl"]),
];

const TEXTS: [&str; 7] = ["namespace", "key", "token", "processing_ttl", "fingerprint", "owner", "wait"];

/// A request in which one field is as given, in raw bytes; without it where there are none.
fn request(verb: &str, field: &str, raw: Option<&[u8]>) -> Vec<u8> {
    let token = format!("\"{OURS}\"");
    let mut fields = vec![("namespace", b"\"a\"".to_vec()), ("key", b"\"k\"".to_vec()), ("token", token.into_bytes())];
    fields.retain(|(name, _)| *name != field);
    fields.extend(raw.map(|raw| (field, raw.to_vec())));
    let mut body = Vec::new();
    for (name, raw) in fields {
        body.push(if body.is_empty() { b'{' } else { b',' });
        body.extend(format!("\"{name}\":").bytes());
        body.extend(raw);
    }
    body.push(b'}');
    in_post(verb, &body)
}

fn in_post(verb: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/{verb} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Values that a field does not take, and what the answer says of the limit.
fn bad_values(field: &str) -> Vec<(Vec<u8>, &'static str)> {
    let text = |text: &str| serde_json::to_vec(text).unwrap();
    let long = |length: usize| text(&"x".repeat(length));
    let wrong_types: &[&[u8]] = &[b"5", b"-1", b"1e30", b"true", b"[]", b"[\"x\"]", b"{}", b"{\"x\":1}"];
    let mut rows: Vec<(Vec<u8>, &str)> = match field {
        "result" => Vec::new(),
        _ => wrong_types.iter().map(|raw| (raw.to_vec(), "a string")).collect(),
    };
    let durations = ["", "5", "-1", "-1s", "1e30", "1e30s", "1.5s", " 1s", "1s ", "1h30m", "NaN", "inf", "s", "\0"];
    match field {
        "namespace" => {
            rows.extend([text(""), long(65)].map(|raw| (raw, "1 to 64")));
            let odd = ["A", "a b", "é", "a\0", ".a", "-a", "a:b", "a/b"];
            rows.extend(odd.map(|odd| (text(odd), "a-z, 0-9")));
            rows.push((b"null".to_vec(), "a string"));
        }
        "key" => {
            rows.push((text(""), "must not be empty"));
            rows.push((long(513), "512 bytes"));
            // 128 emoji are 512 bytes.
            rows.push((text(&format!("{}x", "\u{1f600}".repeat(128))), "512 bytes"));
            rows.extend(["\0", "a\n", "\u{7f}", "\u{85}"].map(|odd| (text(odd), "control characters")));
            rows.push((b"null".to_vec(), "a string"));
        }
        "token" => {
            rows.extend([text(""), long(21), long(129)].map(|raw| (raw, "22 to 128")));
            let odd = [" ".repeat(22), "é".repeat(22), "\0".repeat(22), format!("{OURS}\n")];
            rows.extend(odd.map(|odd| (text(&odd), "visible ASCII")));
        }
        "processing_ttl" | "confirmed_ttl" | "wait" => {
            rows.extend(durations.map(|odd| (text(odd), "a whole number and a unit")));
            rows.push((text("99999999999999999999s"), "too large"));
        }
        "fingerprint" | "owner" => {
            rows.extend([text(""), long(129), text("\0"), text("\u{9b}")].map(|raw| (raw, "1 to 128 bytes")));
        }
        "result" => {
            rows.push((long(2047), "2048 bytes"));
            rows.push((br#"{"a":1,"a":2}"#.to_vec(), "a key twice"));
            rows.push((br#"[{"b":{"a":1,"\u0061":2}}]"#.to_vec(), "a key twice"));
        }
        other => panic!("{other}"),
    }
    match field {
        "processing_ttl" => rows.extend([text("0s"), text("0ms"), text("86400001ms")].map(|raw| (raw, "at most 1d"))),
        "confirmed_ttl" => rows.extend([text("0d"), text("7776000001ms")].map(|raw| (raw, "at most 90d"))),
        _ => {}
    }
    if field != "result" {
        rows.push((b"\"\xff\xff\"".to_vec(), ""));
        rows.push((b"\"a\0\"".to_vec(), ""));
        rows.push((br#""\ud800""#.to_vec(), ""));
    }
    rows
}

/// The row's answer names the field and the limit, and repeats nobody's secret.
fn assert_names(answer: &Answer, field: &str, limit: &str, what: &str) {
    assert_eq!(answer.status, 400, "{what}: {}", answer.text());
    let code = answer.problem();
    assert!(["invalid_field", "invalid_json"].contains(&code.as_str()), "{what}: {code}");
    let json = answer.json();
    let detail = json["detail"].as_str().unwrap();
    assert_eq!(json["field"], field, "{what}: {detail}");
    assert!(detail.contains(field), "{what}: {detail}");
    assert!(detail.contains(limit), "{what}: {detail} lacks {limit:?}");
    assert!(!answer.text().contains(OURS), "{what}: a token is repeated");
}

/// Sends a request over either door, by turns.
async fn sent(home: &Home, turn: usize, request: &[u8]) -> (Connection, Answer) {
    let mut connection = if turn.is_multiple_of(2) { home.connect().await } else { home.connect_unix().await };
    let answer = connection.ask(request).await;
    (connection, answer)
}

#[tokio::test]
async fn every_field_of_every_verb_is_refused_past_its_limits_by_name() {
    let house = House::new();
    let home = house.start().await;
    let mut rows = 0;
    for (verb, fields) in VERBS {
        for field in fields {
            for (raw, limit) in bad_values(field) {
                let what = format!("{verb}, {field}: {}", String::from_utf8_lossy(&raw));
                let (connection, answer) = sent(&home, rows, &request(verb, field, Some(&raw))).await;
                assert_names(&answer, field, limit, &what);
                assert_defined(connection, &answer, &what).await;
                assert_nothing_stored(&home, &what).await;
                rows += 1;
            }
        }
    }
    assert!(rows > 300, "{rows} rows");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn every_field_is_taken_at_its_limits() {
    let house = House::new();
    let home = house.start().await;
    let text = |length: usize| format!("\"{}\"", "x".repeat(length));
    let emoji = format!("\"{}\"", "\u{1f600}".repeat(128));
    let rows = [
        ("claim", "namespace", text(1)),
        ("claim", "namespace", text(64)),
        ("claim", "key", text(1)),
        ("claim", "key", text(512)),
        ("claim", "key", emoji),
        ("claim", "token", text(22)),
        ("claim", "token", text(128)),
        ("claim", "processing_ttl", "\"1ms\"".into()),
        ("claim", "processing_ttl", "\"24h\"".into()),
        ("claim", "fingerprint", text(1)),
        ("claim", "fingerprint", text(128)),
        ("claim", "owner", text(128)),
        ("claim", "wait", "\"0s\"".into()),
        ("claim", "wait", "\"365d\"".into()),
        ("confirm", "confirmed_ttl", "\"1ms\"".into()),
        ("confirm", "confirmed_ttl", "\"90d\"".into()),
        ("confirm", "result", text(2046)),
        ("release", "token", text(128)),
        // Absent and null are the same.
        ("claim", "token", "null".into()),
        ("claim", "wait", "null".into()),
        ("confirm", "result", "null".into()),
    ];
    for (verb, field, raw) in rows {
        let answer = home.connect().await.ask(request(verb, field, Some(raw.as_bytes()))).await;
        assert!(answer.status < 300, "{verb}, {field} of {} bytes: {}", raw.len(), answer.text());
        for claim in home.stored().await {
            let path = format!("/{}/{}", claim["namespace"].as_str().unwrap(), encoded(claim["key"].as_str().unwrap()));
            assert_eq!(home.forget(&path).await.status, 200);
        }
    }
    home.daemon.stop().await.unwrap();
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn a_field_that_is_unknown_missing_or_there_twice_is_named() {
    let house = House::new();
    let home = house.start().await;
    let mut rows = 0;
    for (verb, fields) in VERBS {
        let mut cases = Vec::new();
        for unknown in ["colour", "Key", "confirmed_ttl", "processing_ttl", "wait", "result", "owner"] {
            if !fields.contains(&unknown) {
                cases.push((unknown, request(verb, unknown, Some(b"\"5s\"")), "unknown"));
            }
        }
        let needed: &[&str] = match verb {
            "release" | "extend" => &["namespace", "key", "token"],
            _ => &["namespace", "key"],
        };
        for missing in needed {
            cases.push((*missing, request(verb, missing, None), "missing"));
        }
        for twice in fields {
            let value: &[u8] = if TEXTS.contains(twice) { b"\"5s\"" } else { b"\"5d\"" };
            let again = [value, format!(",\"{twice}\":").as_bytes(), value].concat();
            cases.push((*twice, request(verb, twice, Some(&again)), "must not come twice"));
        }
        for (field, request, reason) in cases {
            let what = format!("{verb}, {field} {reason}");
            let (connection, answer) = sent(&home, rows, &request).await;
            assert_names(&answer, field, reason, &what);
            assert_defined(connection, &answer, &what).await;
            assert_nothing_stored(&home, &what).await;
            rows += 1;
        }
    }
    assert!(rows > 40, "{rows} rows");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused_and_not_repeated() {
    let house = House::new();
    let home = house.start().await;
    let secret = format!("\"{OURS}\"");
    let deep = [vec![b'['; 10_000], vec![b']'; 10_000]].concat();
    let result = [br#"{"namespace":"a","key":"k","result":"#, deep.as_slice(), b"}"].concat();
    let list = format!("[null,\"a\",\"k\",\"{OURS}\",null,null,null,null]");
    let bodies: [&[u8]; 14] = [
        b"",
        b" ",
        b"null",
        b"5",
        secret.as_bytes(),
        b"[]",
        // The fields in order are no request either.
        list.as_bytes(),
        b"{",
        br#"{"namespace":"a","key":"k"}x"#,
        br#"{"namespace":"a","key":"k"}{"namespace":"a","key":"l"}"#,
        br#"{"namespace":"a" "key":"k"}"#,
        b"\xff\xfe",
        b"\xef\xbb\xbf{\"namespace\":\"a\",\"key\":\"k\"}",
        &result,
    ];
    let mut turn = 0;
    for verb in ["claim", "confirm", "release", "extend", "batch"] {
        for body in bodies {
            let what = format!("{verb}: {}", String::from_utf8_lossy(&body[..body.len().min(60)]));
            let (connection, answer) = sent(&home, turn, &in_post(verb, body)).await;
            assert_eq!(answer.status, 400, "{what}: {}", answer.text());
            let code = answer.problem();
            assert!(["invalid_field", "invalid_json"].contains(&code.as_str()), "{what}: {code}");
            assert!(!answer.text().contains(OURS), "{what}: a token is repeated");
            assert_defined(connection, &answer, &what).await;
            assert_nothing_stored(&home, &what).await;
            turn += 1;
        }
    }
    home.daemon.stop().await.unwrap();
}

/// A value in the wrong place may be a secret: what is wrong with it is said without it.
#[tokio::test]
async fn a_value_of_the_wrong_type_is_not_repeated() {
    let house = House::new();
    let home = house.start().await;
    let rows: [(&str, &str); 7] = [
        ("token", "314159265358979323"),
        ("token", "-314159265358979323"),
        ("token", "3.14159265358979323"),
        ("command", "\"314159265358979323\""),
        ("command", "{\"314159265358979323\":null}"),
        ("command", "{\"claim\":\"314159265358979323\"}"),
        ("token", "{\"314159265358979323\":null}"),
    ];
    for (verb, _) in VERBS {
        for (field, raw) in rows {
            let answer = home.connect().await.ask(request(verb, field, Some(raw.as_bytes()))).await;
            assert_names(&answer, field, "", raw);
            assert!(!answer.text().contains("1415926535"), "{verb}: {}", answer.text());
        }
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_name_of_an_unknown_field_is_not_repeated_at_any_length() {
    let house = House::new();
    let home = house.start().await;
    let name = "y".repeat(20_000);
    let answer = home.connect().await.ask(request("claim", &name, Some(b"1"))).await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"));
    assert!(answer.text().len() < 1_000, "{} bytes", answer.text().len());
    let answer = home.get(&format!("?{name}=1")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"));
    assert!(answer.text().len() < 1_000, "{} bytes", answer.text().len());
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_command_that_contradicts_its_path_is_refused() {
    let house = House::new();
    let home = house.start().await;
    for (verb, _) in VERBS {
        for (command, _) in VERBS {
            let body = json!({ "command": command, "namespace": "a", "key": "k", "token": OURS });
            let answer = home.post(&format!("/v1/{verb}"), &body).await;
            if verb == command {
                assert_ne!(answer.status, 400, "{verb}: {}", answer.text());
                home.forget("/a/k").await;
            } else {
                assert_names(&answer, "command", verb, command);
                assert_nothing_stored(&home, verb).await;
            }
        }
    }
    home.daemon.stop().await.unwrap();
}
