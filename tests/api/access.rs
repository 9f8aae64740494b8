//! Who may call, and what for.

use serde_json::{Value, json};

use super::harness::{Answer, Home, House, OURS, bare, on, with_headers};

const BILLING: &str = "billing-0123456789-0123456789";
const OPERATOR: &str = "operator-0123456789-0123456789";
const AUDITOR: &str = "auditor-0123456789-0123456789";
const STRANGER: &str = "stranger-0123456789-0123456789";

/// `billing` may claim in `a` and `b`, `operator` may do everything, `auditor` may do everything in `b` and a route.
fn guarded(loopback: &str) -> House {
    let house = House::with("", "");
    let mut api = format!("loopback = \"{loopback}\"\n");
    for (name, token, rest) in [
        ("billing", BILLING, "namespaces = [\"a\", \"b\"]\nscopes = [\"claim\"]"),
        ("operator", OPERATOR, "scopes = [\"operate\"]"),
        ("auditor", AUDITOR, "namespaces = [\"b\", \"route:r\", \"ccc\"]\nscopes = [\"operate\", \"claim\"]"),
    ] {
        let file = house.file(name, &format!("{token}\n"));
        api.push_str(&format!("[[api.token]]\nname = \"{name}\"\nfile = {file:?}\n{rest}\n"));
    }
    house.with_api(&api)
}

/// One request of each kind: method, path, body.
fn requests(namespace: &str) -> [(&'static str, String, String); 9] {
    let body = json!({ "namespace": namespace, "key": "k", "token": OURS });
    let mut command = body.clone();
    command["command"] = "claim".into();
    let verb = |verb: &str| ("POST", format!("/v1/{verb}"), body.to_string());
    [
        verb("claim"),
        verb("extend"),
        verb("release"),
        verb("confirm"),
        ("POST", "/v1/batch".into(), json!({ "commands": [command] }).to_string()),
        ("GET", format!("/v1/claims/{namespace}/k"), String::new()),
        ("GET", "/openapi.json".into(), String::new()),
        ("GET", format!("/v1/claims?namespace={namespace}"), String::new()),
        ("DELETE", format!("/v1/claims/{namespace}/k"), String::new()),
    ]
}

async fn asked(home: &Home, headers: &[&str], (method, path, body): &(&str, String, String)) -> Answer {
    let headers = [headers, &["Content-Type: application/json"]].concat();
    home.ask(&with_headers(method, path, &headers, body)).await
}

/// The statuses of [`requests`], with those inside the batch.
async fn statuses(home: &Home, headers: &[&str], namespace: &str) -> Vec<u16> {
    let mut statuses = Vec::new();
    for request in requests(namespace) {
        let answer = asked(home, headers, &request).await;
        let inner = (answer.status == 200).then(|| answer.json()["answers"][0]["status"].as_u64()).flatten();
        statuses.push(inner.map_or(answer.status, |status| u16::try_from(status).unwrap()));
        if answer.status >= 400 && answer.status != 409 {
            answer.problem();
        }
    }
    statuses
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

#[tokio::test]
async fn each_caller_may_do_what_its_scope_and_its_namespaces_allow() {
    // claim, extend, release, confirm, claim in a batch, read; the document; list, forget.
    let all = vec![201, 200, 200, 200, 200, 200, 200, 200, 200];
    let claims = vec![201, 200, 200, 200, 200, 200, 200, 403, 403];
    let none = vec![401; 9];
    let foreign = vec![403, 403, 403, 403, 403, 403, 200, 403, 403];
    let (billing, operator, auditor) = (bearer(BILLING), bearer(OPERATOR), bearer(AUDITOR));
    let rows = [
        ("claim", None, "a", &claims),
        ("operate", None, "a", &all),
        ("none", None, "a", &none),
        ("none", Some(&billing), "a", &claims),
        ("none", Some(&billing), "b", &claims),
        ("none", Some(&billing), "c", &foreign),
        ("none", Some(&operator), "a", &all),
        ("none", Some(&auditor), "b", &all),
        ("none", Some(&auditor), "a", &foreign),
        // Whoever proves to be somebody is that one, and not what loopback is.
        ("operate", Some(&billing), "a", &claims),
        ("claim", Some(&operator), "a", &all),
    ];
    for (loopback, token, namespace, expected) in rows {
        let house = guarded(loopback);
        let home = house.start().await;
        let headers: Vec<_> = token.into_iter().map(String::as_str).collect();
        let what = format!("loopback {loopback}, {token:?} on {namespace}");
        assert_eq!(&statuses(&home, &headers, namespace).await, expected, "{what}");
        if expected.iter().all(|status| *status >= 401) || *expected == foreign {
            assert!(home.stored().await.is_empty(), "{what}");
        }
        home.daemon.stop().await.unwrap();
    }
}

#[tokio::test]
async fn loopback_may_claim_when_nothing_is_said() {
    let house = House::with("", "");
    let home = house.start().await;
    assert_eq!(statuses(&home, &[], "a").await, [201, 200, 200, 200, 200, 200, 200, 403, 403]);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn the_unix_socket_may_do_everything_and_never_needs_a_token() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = guarded("none");
    let home = house.start().await;
    let mode = std::fs::metadata(&home.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660, "its mode is all that guards it");
    let stranger = bearer(STRANGER);
    for headers in [vec![], vec![stranger.as_str()], vec!["Authorization: Basic eDp5"]] {
        for ((method, path, body), status) in requests("a").iter().zip([201, 200, 200, 200, 200, 200, 200, 200, 200]) {
            let headers = [&headers, &["Content-Type: application/json"][..]].concat();
            let answer = home.connect_unix().await.ask(with_headers(method, path, &headers, body)).await;
            assert_eq!(answer.status, status, "{method} {path} with {headers:?}");
        }
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn an_authorization_that_proves_nothing_is_a_401_even_where_none_is_needed() {
    let house = guarded("operate");
    let home = house.start().await;
    let (good, stranger, longer) = (bearer(BILLING), bearer(STRANGER), format!("{}x", bearer(BILLING)));
    let shorter = bearer(&BILLING[..BILLING.len() - 1]);
    let basic = format!("Authorization: Basic {BILLING}");
    let bare_token = format!("Authorization: {BILLING}");
    let two_blanks = format!("Authorization: Bearer  {BILLING}");
    let rows: [&[&str]; 11] = [
        &[&stranger],
        &[&longer],
        &[&shorter],
        &[&basic],
        &[&bare_token],
        &[&two_blanks],
        &["Authorization:"],
        &["Authorization: Bearer"],
        &[&good, &good],
        &[&good, &stranger],
        &[&stranger, &good],
    ];
    for headers in rows {
        let answer = asked(&home, headers, &requests("a")[0]).await;
        assert_eq!((answer.status, answer.problem().as_str()), (401, "unauthorized"), "{headers:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{headers:?}");
        for secret in [BILLING, STRANGER] {
            assert!(!answer.text().contains(secret), "{headers:?}");
        }
    }
    assert!(home.stored().await.is_empty());
    // The scheme is no matter of case.
    let shouted = format!("authorization: BEARER {BILLING}");
    assert_eq!(asked(&home, &[&shouted], &requests("a")[0]).await.status, 201);
    home.daemon.stop().await.unwrap();
}

/// Reads all pages of a list and says which namespaces and cursors were in them.
async fn pages(home: &Home, token: &str, query: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut keys, mut cursors, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let path = format!("/v1/claims?{query}{after}");
        let answer = home.ask(&with_headers("GET", &path, &[&bearer(token)], "")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json();
        for claim in page["claims"].as_array().unwrap() {
            let text = |field: &str| claim[field].as_str().unwrap().to_owned();
            keys.push((text("namespace"), text("key")));
        }
        let Some(next) = page["next"].as_str() else {
            return (keys, cursors);
        };
        cursors.push(next.to_owned());
        after = format!("&after={next}");
    }
}

/// A list used to walk over everybody's records and leave out the foreign ones: its pages came short, and its cursor
/// was the name of somebody else's key.
#[tokio::test]
async fn a_list_of_a_confined_caller_neither_shows_nor_names_foreign_keys() {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let house = guarded("operate");
    let home = house.start().await;
    for namespace in ["a", "b", "bb", "ccc", "d"] {
        let claim = |number| json!({ "command": "claim", "namespace": namespace, "key": format!("secret-{number}") });
        let commands: Vec<_> = (0..5).map(claim).collect();
        home.post("/v1/batch", &json!({ "commands": commands })).await;
    }
    let own: Vec<_> = ["b", "ccc"]
        .iter()
        .flat_map(|namespace| (0..5).map(|number| ((*namespace).to_owned(), format!("secret-{number}"))))
        .collect();
    for limit in [1, 2, 3, 4, 5, 6, 10, 100] {
        let (keys, cursors) = pages(&home, AUDITOR, &format!("limit={limit}")).await;
        assert_eq!(keys, own, "limit {limit}");
        for cursor in cursors {
            let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap()).unwrap();
            assert!(["\u{1}b", "\u{3}ccc"].iter().any(|mine| name.starts_with(mine)), "{name:?}");
        }
    }
    assert_eq!(pages(&home, AUDITOR, "namespace=ccc&limit=2").await.0, own[5..]);
    assert_eq!(pages(&home, AUDITOR, "state=done").await.0, []);
    assert_eq!(pages(&home, OPERATOR, "limit=4").await.0.len(), 25);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_for_a_route_may_read_and_forget_there_but_not_claim() {
    let house = guarded("none");
    let home = house.start().await;
    assert_eq!(statuses(&home, &[&bearer(AUDITOR)], "route:r").await, [403, 403, 403, 403, 403, 404, 200, 200, 200]);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_browser_would_send_for_somebody_else_is_refused() {
    let house = guarded("operate");
    let home = house.start().await;
    let port = home.tcp.rsplit(':').next().unwrap();
    let raw = |host: &str, headers: &str, request: &(&str, String, String)| {
        let (method, path, body) = request;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let own = format!("localhost:{port}");
    let own_origin = format!("Origin: http://{own}\r\n");
    let other_port = "Origin: http://localhost:3000\r\n";
    let refused = [
        ("evil.example", "", "foreign_host"),
        ("127.0.0.1.evil.example", "", "foreign_host"),
        ("localhost.evil.example", "", "foreign_host"),
        ("192.168.1.5", "", "foreign_host"),
        ("[2001:db8::1]", "", "foreign_host"),
        ("", "", "foreign_host"),
        (&*own, "Origin: null\r\n", "foreign_origin"),
        (&*own, "Origin: https://evil.example\r\n", "foreign_origin"),
        (&*own, "Origin:\r\n", "foreign_origin"),
        (&*own, "Origin: localhost\r\n", "foreign_origin"),
        (&*own, other_port, "foreign_origin"),
        (&*own, &*format!("{own_origin}Origin: null\r\n"), "foreign_origin"),
        (&*own, "Sec-Fetch-Site: cross-site\r\n", "cross_site"),
        (&*own, "Sec-Fetch-Site: same-site\r\n", "cross_site"),
        (&*own, "Sec-Fetch-Site:\r\n", "cross_site"),
    ];
    for (host, headers, code) in refused {
        for request in &requests("a") {
            let what = format!("{} {} from {host} {headers}", request.0, request.1);
            let answer = home.ask(&raw(host, headers, request)).await;
            assert_eq!((answer.status, answer.problem().as_str()), (403, code), "{what}");
        }
    }
    assert!(home.stored().await.is_empty());
    let taken = [
        ("localhost", ""),
        ("LOCALHOST:1", ""),
        (&*own, ""),
        ("127.0.0.1:8601", ""),
        ("127.8.8.8", ""),
        ("[::1]:8601", ""),
        (&*own, &*own_origin),
        (&*own, "Sec-Fetch-Site: same-origin\r\n"),
        (&*own, "Sec-Fetch-Site: none\r\n"),
        // Somebody else's name, but with a proof that no page can send.
        ("onced.internal", &*format!("{}\r\n", bearer(OPERATOR))),
    ];
    for (host, headers) in taken {
        let request = ("POST", "/v1/confirm".to_owned(), on("k", json!({})).to_string());
        let answer = home.ask(&raw(host, headers, &request)).await;
        assert_eq!(answer.status, 200, "{host} {headers}: {}", answer.text());
    }
    // Metrics are read by browsers as little as the rest; a proof of another origin does not help over the socket.
    let answer = home.ask(&raw("evil.example", "", &("GET", "/metrics".into(), String::new()))).await;
    assert_eq!(answer.status, 403);
    let mut socket = home.connect_unix().await;
    let request = ("POST", "/v1/claim".to_owned(), on("l", json!({})).to_string());
    let answer = socket.ask(raw(&own, "Origin: null\r\n", &request)).await;
    assert_eq!((answer.status, answer.problem().as_str()), (403, "foreign_origin"));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn health_and_readiness_are_open_and_metrics_on_loopback_too() {
    let house = guarded("none");
    let home = house.start().await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(home.ask(&bare("GET", path)).await.status, 200, "{path}");
        let mut socket = home.connect_unix().await;
        assert_eq!(socket.ask(bare("GET", path)).await.status, 200, "{path} on the socket");
    }
    for path in ["/healthz", "/readyz"] {
        let probe = format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.7:8601\r\n\r\n");
        assert_eq!(home.ask(&probe).await.status, 200, "{path} under any name");
        let old = format!("GET {path} HTTP/1.0\r\n\r\n");
        assert_eq!(home.ask(&old).await.status, 200, "{path} without a name");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_confined_batch_fails_command_by_command() {
    let house = guarded("none");
    let home = house.start().await;
    let command = |namespace: &str| json!({ "command": "claim", "namespace": namespace, "key": "k" });
    let body = json!({ "commands": [command("a"), command("c"), command("b")] }).to_string();
    let request = ("POST", "/v1/batch".to_owned(), body);
    let answers = asked(&home, &[&bearer(BILLING)], &request).await.json();
    let statuses: Vec<_> = answers["answers"].as_array().unwrap().iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, [&json!(201), &json!(403), &json!(201)]);
    let stored: Vec<Value> = home.stored().await.iter().map(|claim| claim["namespace"].clone()).collect();
    assert_eq!(stored, ["a", "b"]);
    home.daemon.stop().await.unwrap();
}
