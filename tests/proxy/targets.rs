//! Which route a request belongs to, what of its target reaches the app, and what is refused before a route sees it.

use crate::harness::{App, Event, Front, Reply, SECRET, Sender, route};

fn at(path: &str, app: &App, to: &str) -> String {
    let name = path.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
    format!(
        "[[route]]\nname = \"r{name}\"\nprovider = \"github\"\npath = \"{path}\"\n\
         secrets = [{{ inline = \"{SECRET}\" }}]\nforward_to = \"{}{to}\"\n",
        app.url()
    )
}

/// An event to a target of any bytes.
fn raw(target: &[u8], id: &str) -> Vec<u8> {
    let bytes = Event::github(id, "{}").at("").bytes();
    let rest = bytes.strip_prefix(b"POST ").unwrap();
    [b"POST ", target, rest].concat()
}

#[tokio::test]
async fn the_rest_of_the_target_reaches_the_app_byte_by_byte() {
    let mut app = App::start().await;
    let front = Front::start(&[at("/hooks/x/*", &app, "/in/"), at("/exact", &app, "/to")].concat()).await;
    for (number, (sent, seen)) in [
        ("/hooks/x/", "/in/"),
        ("/hooks/x/a", "/in/a"),
        ("/hooks/x/a%2Fb", "/in/a%2Fb"),
        ("/hooks/x/a%252Fb", "/in/a%252Fb"),
        ("/hooks/x//a//b", "/in//a//b"),
        ("/hooks/x/./b", "/in/./b"),
        ("/hooks/x/a;v=1?q=%27&&=&q", "/in/a;v=1?q=%27&&=&q"),
        ("/hooks/x/%ff", "/in/%ff"),
        ("/hooks/x/a?", "/in/a?"),
        ("/hooks/x/a?../..", "/in/a?../.."),
        ("/hooks/x/..a/b..", "/in/..a/b.."),
        ("/hooks/x/a;../b", "/in/a;../b"),
        ("/hooks/x/%252e%252e/b", "/in/%252e%252e/b"),
        ("/hooks/x/a?b?c", "/in/a?b?c"),
        ("/hooks/x/hooks/x/a", "/in/hooks/x/a"),
        ("/hooks/x/~'!$()*,|{}[]", "/in/~'!$()*,|{}[]"),
        ("/exact", "/to"),
        ("/exact?", "/to?"),
        ("/exact?a=b+c%20d", "/to?a=b+c%20d"),
        ("http://hooks.example/exact?a", "/to?a"),
        ("http://Hooks.Example:80/hooks/x/a//b", "/in/a//b"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut sender = front.sender().await;
        sender.send(raw(sent.as_bytes(), &number.to_string())).await;
        let hit = app.answers(Reply::ok()).await;
        assert_eq!(hit.target(), seen.as_bytes(), "{sent}");
        sender.answer().await.assert(200, "forwarded");
    }
}

#[tokio::test]
async fn a_target_that_would_leave_its_prefix_is_not_handed_over() {
    let mut app = App::start().await;
    let routes = [at("/hooks/x/*", &app, "/in/"), at("/*", &app, "/all/")].concat();
    let front = Front::start(&routes).await;
    for target in [
        "/hooks/x/..",
        "/hooks/x/../admin",
        "/hooks/x/a/../../admin",
        "/hooks/x/a/..",
        "/hooks/x/%2e%2e/admin",
        "/hooks/x/.%2E/admin",
        "/hooks/x/%2E./admin?a",
        "/hooks/x/a%2f..%2F../admin",
        "/hooks/x/..%5cadmin",
        "/hooks/x/..\\admin",
        "/hooks/x/..;/admin",
        "/hooks/x/a/..;v=1/../admin",
        "/hooks/x/%2E%2e;x",
        "/hooks/x/..%3bx/admin",
        "/../admin",
    ] {
        let mut sender = front.sender().await;
        sender.send(raw(target.as_bytes(), "e-1")).await;
        sender.answer().await.assert(400, "failed");
    }
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn bytes_that_no_target_may_have_are_refused() {
    let mut app = App::start().await;
    let front = Front::start(&at("/hooks/x/*", &app, "/in/")).await;
    for target in [&b"/hooks/x/a b"[..], b"/hooks/x/\x01", b"/hooks/x/\xff", b"/hooks/x/a\x7f"] {
        let mut sender = front.sender().await;
        sender.send(raw(target, "e-1")).await;
        assert_eq!(sender.answer().await.status(), 400, "{}", target.escape_ascii());
        sender.assert_closed().await;
    }
    app.assert_quiet();
}

#[tokio::test]
async fn the_exact_route_comes_first_then_the_longest_prefix() {
    let mut app = App::start().await;
    let routes = [
        at("/*", &app, "/all/"),
        at("/hooks/*", &app, "/hooks/"),
        at("/hooks/x/*", &app, "/x/"),
        at("/hooks/x/y", &app, "/y"),
    ];
    let front = Front::start(&routes.concat()).await;
    for (number, (sent, seen)) in [
        ("/", "/all/"),
        ("/hooks", "/all/hooks"),
        ("/hooks/", "/hooks/"),
        ("/hooks/x", "/hooks/x"),
        ("/hooks/x/", "/x/"),
        ("/hooks/x/y", "/y"),
        ("/hooks/x/y/", "/x/y/"),
        ("/Hooks/x/y", "/all/Hooks/x/y"),
        ("/hooks/x%2Fy", "/hooks/x%2Fy"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut sender = front.sender().await;
        sender.send(raw(sent.as_bytes(), &number.to_string())).await;
        let hit = app.answers(Reply::ok()).await;
        assert_eq!(hit.target(), seen.as_bytes(), "{sent}");
        sender.answer().await.assert(200, "forwarded");
    }
}

#[tokio::test]
async fn a_path_without_a_route_is_a_404() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for target in
        ["/", "/hooks", "/hooks/github/", "/hooks/githu", "/hooks//github", "/hooks/%67ithub", "/v1/claim", "*"]
    {
        let mut sender = front.sender().await;
        sender.send(raw(target.as_bytes(), "e-1")).await;
        sender.answer().await.assert(404, "unrouted");
    }
    app.assert_quiet();
}

#[tokio::test]
async fn only_post_reaches_an_app() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let bytes = Event::github("e-1", "{}").bytes();
    for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "QUERY"] {
        let mut sender = front.sender().await;
        sender.send([method.as_bytes(), &bytes[4..]].concat()).await;
        let answer = sender.answer().await;
        answer.assert(405, "failed");
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn a_body_above_the_limit_is_a_413_before_it_is_sent_and_one_at_the_limit_passes() {
    let mut app = App::start().await;
    let front = Front::github(&app, "max_body = \"10B\"\n").await;
    let mut sender = front.sent(&Event::github("e-1", "0123456789")).await;
    assert_eq!(app.answers(Reply::ok()).await.body, b"0123456789");
    sender.answer().await.assert(200, "forwarded");

    let over = Event::github("e-2", "0123456789a");
    let asking = over.clone().with("Expect", "100-continue");
    for bytes in
        [over.bytes(), over.chunked(&[5]), over.head("Content-Length: 11\r\n"), asking.head("Content-Length: 11\r\n")]
    {
        let mut sender = front.sender().await;
        sender.send(bytes).await;
        let answer = sender.answer().await; // no 100 before it
        answer.assert(413, "failed");
        assert_eq!(answer.header("connection"), Some("close"));
        sender.assert_closed().await;
    }
    assert_eq!(front.records().await, 1);
    app.assert_quiet();
}

#[tokio::test]
async fn chunks_that_are_none_are_a_400() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let mut sender = front.sender().await;
    let head = Event::github("e-1", "{}").head("Transfer-Encoding: chunked\r\n");
    sender.send([head.as_slice(), b"zz\r\n{}\r\n0\r\n\r\n"].concat()).await;
    sender.answer().await.assert(400, "failed");
    sender.assert_closed().await;
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
}

/// What a refused request left on the connection was parsed as another request.
#[tokio::test]
async fn no_part_of_a_refused_body_is_taken_for_a_request() {
    let mut app = App::start().await;
    let front = Front::github(&app, "max_body = \"1KiB\"\n").await;
    let inner = Event::github("inner", "{}").bytes();
    let outer = |target: &str, padding: usize| {
        let body = [inner.as_slice(), &vec![b' '; padding]].concat();
        Event::bare(target, body).bytes()
    };
    let unsigned = outer("/hooks/github", 0);
    let unrouted = outer("/nowhere", 0);
    let too_large = outer("/hooks/github", 2_000);
    let got = [b"GET", &unsigned[4..]].concat();
    // Judged on what its Content-Length covers: nothing; the rest follows on the connection.
    let short =
        [Event::bare("/hooks/github", "").head("Content-Length: 0\r\n").as_slice(), b"not a request\r\n\r\n"].concat();
    for (bytes, status) in [(unsigned, 401), (unrouted, 404), (too_large, 413), (got, 405), (short, 401)] {
        let mut sender = front.sender().await;
        sender.send(bytes).await;
        assert_eq!(sender.answer().await.status(), status);
        assert_no_more(&mut sender).await;
    }
    assert_eq!(front.records().await, 0);
    app.assert_quiet();
}

/// That the next answer, if there is one, is to what is sent next, or a refusal.
async fn assert_no_more(sender: &mut Sender) {
    use tokio::io::AsyncWriteExt as _;
    // The daemon may have closed.
    let _ = sender.0.write_all(b"GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    let mut rest = Vec::new();
    // A reset is an end, too.
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut sender.0, &mut rest).await;
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.matches("HTTP/1.1 ").count() <= 1, "{rest}");
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 404") || rest.starts_with("HTTP/1.1 400"), "{rest}");
}

#[tokio::test]
async fn one_connection_carries_events_of_several_routes_in_order() {
    let mut app = App::start().await;
    let routes = [route("github", &app, ""), at("/other", &app, "/other")].concat();
    let front = Front::start(&routes).await;
    let mut sender = front.sender().await;
    for number in 0..3 {
        let id = number.to_string();
        let event = Event::github(&id, "{}");
        sender.send([event.bytes(), event.clone().at("/other").bytes(), event.bytes()].concat()).await;
        assert_eq!(app.answers(Reply::status(201)).await.target(), b"/in");
        assert_eq!(app.answers(Reply::status(202)).await.target(), b"/other");
        sender.answer().await.assert(201, "forwarded");
        sender.answer().await.assert(202, "forwarded");
        sender.answer().await.assert(200, "duplicate");
    }
}
