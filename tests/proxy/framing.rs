//! Where a request ends, what a sender may expect, and that nothing behind a refused request is taken for another one.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{App, Event, Front, Reply, Sender, soon};

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// An event with this version in its request line.
fn version(version: &str, event: &Event, framing: &str) -> Vec<u8> {
    let head = String::from_utf8(event.head(framing)).unwrap();
    let [before, after] = head.split("HTTP/1.1").collect::<Vec<_>>()[..] else { panic!("{head}") };
    let bytes = [before, version, after].concat();
    [bytes.as_bytes(), &event.body].concat()
}

/// Everything until the daemon closes; a reset is an end, too.
async fn rest(sender: &mut Sender) -> String {
    let mut rest = Vec::new();
    let _ = soon("the end", sender.0.read_to_end(&mut rest)).await;
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test]
async fn nothing_but_100_continue_can_be_expected() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for values in [&["200-ok"][..], &["100-continue, 200-ok"], &["100-continue", "200-ok"], &[""]] {
        let mut event = Event::github("e-1", "{}");
        for value in values {
            event = event.with("Expect", value);
        }
        let mut sender = front.sender().await;
        sender.send(event.head("Content-Length: 2\r\n")).await;
        sender.answer().await.assert(417, "failed");
        sender.assert_closed().await;
    }
    app.assert_quiet();
    for (number, value) in ["100-continue", "100-Continue"].into_iter().enumerate() {
        let event = Event::github(&number.to_string(), "{}").with("Expect", value);
        let mut sender = front.sender().await;
        sender.send(event.head("Content-Length: 2\r\n")).await;
        let mut interim = [0; CONTINUE.len()];
        soon("a 100", sender.0.read_exact(&mut interim)).await.unwrap();
        assert_eq!(interim, CONTINUE);
        sender.send("{}").await;
        assert_eq!(app.answers(Reply::ok()).await.header("expect"), None);
        sender.answer().await.assert(200, "forwarded");
    }
}

/// HTTP/1.0 knows neither the header nor interim answers.
#[tokio::test]
async fn a_sender_of_http_1_0_is_told_nothing_in_between() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for (number, value) in ["100-continue", "200-ok"].into_iter().enumerate() {
        let event = Event::github(&number.to_string(), "{}").with("Expect", value);
        let mut sender = front.sender().await;
        sender.send(version("HTTP/1.0", &event, "Content-Length: 2\r\n")).await;
        assert_eq!(app.answers(Reply::ok()).await.header("expect"), None);
        let answer = sender.answer().await;
        answer.assert(200, "forwarded");
        sender.assert_closed().await;
    }
}

#[tokio::test]
async fn a_body_that_is_not_wanted_is_not_asked_for() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}").with("Expect", "100-continue");
    let put = [b"PUT".as_slice(), &event.head("Content-Length: 2\r\n")[4..]].concat();
    for (head, status) in [(event.clone().at("/nowhere").head("Content-Length: 2\r\n"), 404), (put, 405)] {
        let mut sender = front.sender().await;
        sender.send(head).await;
        assert_eq!(sender.answer().await.status(), status); // no 100 before it
    }
    app.assert_quiet();
}

/// A sender counted characters instead of bytes. What its Content-Length did not cover was parsed as another request.
#[tokio::test]
async fn what_a_length_does_not_cover_is_not_a_request() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let body = "{\"m\":\"caf\u{e9} \u{1f60a} and what follows\"}";
    let event = Event::github("e-1", body);
    let next = Event::github("e-2", "{}").bytes();
    for covered in [body.len() - 12, 1, 0] {
        let head = event.head(&format!("Content-Length: {covered}\r\n"));
        let mut sender = front.sender().await;
        sender.send([head.as_slice(), body.as_bytes(), &next].concat()).await;
        let answer = sender.answer().await;
        answer.assert(401, "unverified");
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(rest(&mut sender).await, "", "{covered} bytes");
    }
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

/// Reading stopped at a refusal and the connection stayed open: the rest of the body became a request.
#[tokio::test]
async fn every_refusal_before_verification_is_the_connections_last_or_reads_the_body_to_its_end() {
    let mut app = App::start().await;
    let front = Front::github(&app, "max_body = \"1KiB\"\n").await;
    let inner = Event::github("inner", "{}").bytes();
    let long = [inner.as_slice(), &vec![b' '; 300_000]].concat();
    for body in [inner.clone(), long] {
        let outer = Event::bare("/hooks/github", &body);
        let get = [b"GET".as_slice(), &outer.bytes()[4..]].concat();
        for bytes in [outer.bytes(), outer.chunked(&[1]), outer.clone().at("/nowhere").bytes(), get] {
            let mut sender = front.sender().await;
            // The daemon may have refused and closed in the middle of it.
            let _ = sender.0.write_all(&bytes).await;
            let _ = sender.0.write_all(b"GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
            let told = rest(&mut sender).await;
            let answers: Vec<_> = told.match_indices("HTTP/1.1 ").map(|(at, _)| &told[at + 9..at + 12]).collect();
            let first_alone = matches!(answers[..], ["401" | "404" | "405" | "413"]);
            let with_the_probe = matches!(answers[..], ["404" | "405", "404"]);
            assert!(first_alone || with_the_probe, "{answers:?}");
        }
    }
    app.assert_quiet();
    assert_eq!(front.records().await, 0);
}

#[tokio::test]
async fn trailers_go_no_further_in_either_direction() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let event = Event::github("e-1", "{}");
    let mut sender = front.sender().await;
    let head = event.head("Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n");
    sender.send([head.as_slice(), b"2\r\n{}\r\n0\r\nX-Sum: 1\r\nOnced-Attempt: 9\r\n\r\n"].concat()).await;
    let reply =
        "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n";
    let seen = app.answers(Reply::keep(reply)).await;
    assert_eq!((seen.header("x-sum"), seen.header("trailer"), seen.attempt()), (None, None, "1"));
    assert_eq!((seen.body.as_slice(), seen.header("content-length")), (&b"{}"[..], Some("2")));
    let answer = sender.answer().await;
    answer.assert(200, "forwarded");
    assert_eq!((answer.body.as_slice(), answer.header("trailer")), (&b"ok"[..], None));
    // Both connections can be used again.
    sender.send(Event::github("e-2", "{}").bytes()).await;
    assert_eq!(app.answers(Reply::ok()).await.connection, 1);
    sender.answer().await.assert(200, "forwarded");
}

/// The label of a body was taken for a gate: a charset behind it made receivers skip the body.
#[tokio::test]
async fn no_content_type_keeps_an_event_from_its_id_and_it_arrives_as_it_came() {
    let app = App::start().await;
    let url = app.url();
    let route = format!(
        "[[route]]\nname = \"it\"\npath = \"/in\"\nverify = \"none\"\nevent_id = {{ pointer = \"/id\" }}\n\
         forward_to = \"{url}/\"\n"
    );
    let (mut app, front) = (app, Front::start(&route).await);
    for (number, types) in [
        &["application/json; charset=utf-8"][..],
        &["APPLICATION/JSON"],
        &["application/vnd.x+json"],
        &["text/plain; charset=UTF-8"],
        &["application/octet-stream"],
        &[],
        &["text/plain", "application/xml"],
        &["not a type"],
    ]
    .into_iter()
    .enumerate()
    {
        let mut event = Event::bare("/in", format!("{{\"id\":\"e-{number}\"}}"));
        for value in types {
            event = event.with("Content-Type", value);
        }
        let mut sender = front.sent(&event).await;
        let seen = app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
        assert_eq!(seen.header("onced-event-id"), Some(format!("e-{number}").as_str()), "{types:?}");
        let passed: Vec<_> = types.iter().map(|value| value.as_bytes()).collect();
        assert_eq!(seen.values("content-type"), passed);
    }
}

/// The app refused a large body before it had read it, and closed with a reset: the refusal counts where it arrived.
#[tokio::test]
async fn an_early_refusal_that_ends_in_a_reset_is_relayed_or_a_502_and_harms_nobody_else() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut app = App::start().await;
    let route = crate::harness::route("github", &app, "");
    let early = route.replace(&app.url(), &format!("http://{}", listener.local_addr().unwrap()));
    let early = early.replace("\"github\"\nprovider", "\"early\"\nprovider").replace("/hooks/github", "/early");
    let front = Front::start(&[route, early].concat()).await;
    for number in 0..5 {
        let event = Event::github(&format!("e-{number}"), vec![b'a'; 20 << 20]).at("/early");
        let refusing = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut byte = [0; 4];
            while &byte != b"\r\n\r\n" {
                byte.rotate_left(1);
                byte[3] = socket.read_u8().await.unwrap();
            }
            socket.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            socket.set_zero_linger().unwrap();
        };
        let (sender, ()) = tokio::join!(front.sent(&event), refusing);
        let mut sender = sender;
        let answer = sender.answer().await;
        match answer.status() {
            413 => answer.assert(413, "forwarded"),
            _ => answer.assert(502, "failed"),
        }
        let mut sender = front.sent(&Event::github(&format!("f-{number}"), "{}")).await;
        app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
    }
}
