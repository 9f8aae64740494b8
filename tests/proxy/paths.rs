//! One request, one place: targets that two hops could read differently, and hosts that name two places.

use tokio::net::TcpListener;

use crate::harness::{App, Event, Front, Reply, SECRET};

/// A prefix route from `/hooks/x/` to the app's `/in/`.
fn prefix(url: &str) -> String {
    format!(
        "[[route]]\nname = \"x\"\nprovider = \"github\"\npath = \"/hooks/x/*\"\n\
         secrets = [{{ inline = \"{SECRET}\" }}]\nforward_to = \"{url}/in/\"\n"
    )
}

/// A signed event with this request line and these values of `Host`.
fn request(line: &str, hosts: &[&[u8]]) -> Vec<u8> {
    let mut event = Event::github("e-1", "{}").without("Host");
    for host in hosts {
        event = event.with("Host", host);
    }
    let bytes = event.bytes();
    let end = bytes.iter().position(|byte| *byte == b'\r').unwrap();
    [line.as_bytes(), &bytes[end..]].concat()
}

#[tokio::test]
async fn a_target_that_is_none_is_refused_with_400_before_a_route_sees_it() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    for target in [
        "/hooks/x/a#f",
        "/hooks/x/a?b#f",
        "/hooks/x/#",
        "http://hooks.example/hooks/x/a#f",
        "/hooks/x/caf\u{e9}",
        "/hooks/x/a?\u{1f60a}",
        "ftp://hooks.example/hooks/x/a",
        "hooks.example:80",
    ] {
        let mut sender = front.sender().await;
        sender.send(request(&format!("POST {target} HTTP/1.1"), &[b"hooks.example"])).await;
        assert_eq!(sender.answer().await.status(), 400, "{target}");
        sender.assert_closed().await;
    }
    // Wherever the line is cut, and after another request.
    let bytes = request("POST /hooks/x/a#f HTTP/1.1", &[b"hooks.example"]);
    let mut sender = front.sender().await;
    sender.0.set_nodelay(true).unwrap();
    sender.send("\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").await;
    sender.answer().await.assert(404, "unrouted");
    for byte in bytes {
        sender.send([byte]).await;
        tokio::task::yield_now().await;
    }
    sender.answer().await.assert(400, "failed");
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

/// A fragment is none where it only looks like one.
#[tokio::test]
async fn a_number_sign_elsewhere_refuses_nothing() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    let mut sender = front.sender().await;
    for (number, target) in ["/hooks/x/a%23f", "/hooks/x/a?b=%23"].into_iter().enumerate() {
        let body = "{\"#\":\"#\"}";
        sender.send(Event::github(&number.to_string(), body).at(target).with("X-Channel", "#general").bytes()).await;
        assert_eq!(app.answers(Reply::ok()).await.target(), target.replace("/hooks/x", "/in").as_bytes());
        sender.answer().await.assert(200, "forwarded");
    }
}

/// Two hops disagreed about whom a request was for.
#[tokio::test]
async fn a_request_names_one_host() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    let (origin, absolute) = ("POST /hooks/x/a HTTP/1.1", "POST http://hooks.example/hooks/x/a HTTP/1.1");
    for (line, hosts) in [
        (origin, &[][..]),
        (origin, &[&b"hooks.example"[..], b"hooks.example"]),
        (origin, &[b"hooks.example", b"other.example"]),
        (origin, &[b"a:b:c"]),
        (origin, &[b"hooks.example:80:80"]),
        (origin, &[b"hooks.example, other.example"]),
        (origin, &[b"hooks.example/x"]),
        (origin, &[b"me@hooks.example"]),
        (origin, &[b"caf\xe9.example"]),
        (absolute, &[]),
        (absolute, &[b"other.example"]),
        (absolute, &[b"hooks.example:8600"]),
        (absolute, &[b""]),
        ("POST http://me@hooks.example/hooks/x/a HTTP/1.1", &[b"hooks.example"]),
    ] {
        let mut sender = front.sender().await;
        sender.send(request(line, hosts)).await;
        sender.answer().await.assert(400, "failed");
        sender.assert_closed().await;
    }
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn an_absolute_target_that_names_the_host_counts_as_its_path() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    let absolute = "POST http://hooks.example/hooks/x/a//b?c HTTP/1.1";
    for host in ["hooks.example", "HOOKS.example", "hooks.example:80"] {
        let mut sender = front.sender().await;
        sender.send(request(absolute, &[host.as_bytes()])).await;
        let answered = sender.answer();
        if host == "hooks.example" {
            let (seen, answer) = tokio::join!(app.answers(Reply::ok()), answered);
            assert_eq!((seen.target(), seen.header("host")), (&b"/in/a//b?c"[..], Some(host)));
            answer.assert(200, "forwarded");
        } else {
            answered.await.assert(200, "duplicate");
        }
    }
}

/// What a proxy for the whole world would do, this one does not.
#[tokio::test]
async fn tunnels_and_the_server_itself_are_no_routes() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    for (line, status, outcome) in [
        ("CONNECT hooks.example:443 HTTP/1.1", 501, "failed"),
        ("CONNECT /hooks/x/a HTTP/1.1", 501, "failed"),
        ("OPTIONS * HTTP/1.1", 404, "unrouted"),
    ] {
        let mut sender = front.sender().await;
        sender.send(request(line, &[b"hooks.example:443"])).await;
        sender.answer().await.assert(status, outcome);
    }
    app.assert_quiet();
}

#[tokio::test]
async fn a_sender_of_http_1_0_may_leave_the_host_out_and_the_app_gets_its_own() {
    let mut app = App::start().await;
    let front = Front::start(&prefix(&app.url())).await;
    let mut sender = front.sender().await;
    sender.send(request("POST /hooks/x/a HTTP/1.0", &[])).await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!(seen.header("host"), app.url().strip_prefix("http://"));
    sender.answer().await.assert(200, "forwarded");
}

/// `localhost` meant ::1 to one side and 127.0.0.1 to the other. The second try has the whole body, too.
#[tokio::test]
async fn localhost_is_either_loopback_and_a_refused_first_try_costs_no_byte() {
    for (number, address) in ["127.0.0.1:0", "[::1]:0"].into_iter().enumerate() {
        let Ok(listener) = TcpListener::bind(address).await else {
            assert_ne!(number, 0, "there is no loopback at all");
            return; // a machine without IPv6
        };
        let port = listener.local_addr().unwrap().port();
        let mut app = App::on(listener);
        let front = Front::start(&prefix(&format!("http://localhost:{port}"))).await;
        let body = vec![b'a'; 5 << 20];
        let event = Event::github("e-1", &body).at("/hooks/x/a");
        let mut sender = front.sender().await;
        let (seen, ()) = tokio::join!(app.answers(Reply::ok()), sender.send(event.chunked(&[1, 1 << 20])));
        sender.answer().await.assert(200, "forwarded");
        assert_eq!((seen.attempt(), seen.header("content-length")), ("1", Some("5242880")));
        assert!(seen.body == body);
    }
}
