//! Kept connections to the app: an answer is never taken for another event's, and a dead connection costs none.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::harness::{App, End, Event, Front, Reply};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn events_share_a_connection_and_each_gets_its_own_answer() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for number in 0..20 {
        let mut sender = front.sent(&Event::github(&number.to_string(), "{}")).await;
        let body = number.to_string();
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        assert_eq!(app.answers(Reply::keep(&reply)).await.connection, 1);
        assert_eq!(sender.answer().await.body, body.as_bytes());
    }
}

/// An idle connection that the app closed was used for the next event, which then failed.
#[tokio::test]
async fn a_connection_that_died_while_idle_is_not_used() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for number in 0..40 {
        let end = if number % 2 == 0 { End::Close } else { End::Reset };
        let mut sender = front.sent(&Event::github(&number.to_string(), "{}")).await;
        let (let_go, told) = oneshot::channel();
        let seen = app.answers(Reply::Later(OK.into(), told, end)).await;
        assert_eq!((seen.connection, seen.attempt()), (number + 1, "1"));
        sender.answer().await.assert(200, "forwarded");
        let_go.send(()).unwrap();
        assert_eq!(app.ended().await, number + 1);
    }
    app.assert_quiet();
}

/// The connection took the request and died: nobody knows what the app did, and only the sender may try again.
#[tokio::test]
async fn a_request_that_a_kept_connection_took_is_not_sent_again() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    for (number, reply) in [Reply::Close(Vec::new()), Reply::Reset(Vec::new())].into_iter().enumerate() {
        let mut sender = front.sent(&Event::github(&format!("a-{number}"), "{}")).await;
        let kept = app.answers(Reply::ok()).await.connection;
        sender.answer().await.assert(200, "forwarded");
        let event = Event::github(&format!("b-{number}"), "{}");
        let mut sender = front.sent(&event).await;
        assert_eq!(app.answers(reply).await.connection, kept);
        sender.answer().await.assert(502, "failed");
        app.assert_quiet();
        let mut sender = front.sent(&event).await;
        assert_eq!(app.answers(Reply::ok()).await.attempt(), "2");
        sender.answer().await.assert(200, "forwarded");
    }
}

/// Waiting for a body that a 204 never has stalled; one that wrongly carried bytes shifted every later answer.
#[tokio::test]
async fn answers_without_a_body_and_answers_with_too_much_do_not_shift_the_next_ones() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let (mut number, mut last) = (0, 0);
    for (reply, status, is_kept) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", 204, false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, true),
        ("HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n", 205, true),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 502, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", 200, false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n", 200, false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 200, false),
    ] {
        for _ in 0..10 {
            number += 1;
            let mut sender = front.sent(&Event::github(&format!("a-{number}"), "{}")).await;
            let first = app.answers(Reply::keep(reply)).await.connection;
            assert_eq!(sender.answer().await.status(), status, "{reply}");

            let mut sender = front.sent(&Event::github(&format!("b-{number}"), "{}")).await;
            let own = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{number:4}");
            last = app.answers(Reply::keep(&own)).await.connection;
            assert!(!is_kept || first == last, "{reply}");
            assert!(is_kept || first != last, "{reply}");
            let answer = sender.answer().await;
            answer.assert(200, "forwarded");
            assert_eq!(answer.body, format!("{number:4}").into_bytes(), "{reply}");
        }
    }
    assert!(last > 30);
}

/// An app may answer before it has read all, as those do that refuse a large body.
#[tokio::test]
async fn an_early_final_answer_is_relayed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let routes = format!(
        "[[route]]\nname = \"it\"\nprovider = \"github\"\npath = \"/hooks/github\"\n\
         secrets = [{{ inline = \"{}\" }}]\nforward_to = \"http://{}/\"\n",
        crate::harness::SECRET,
        listener.local_addr().unwrap()
    );
    let front = Front::start(&routes).await;
    let event = Event::github("e-1", vec![b'a'; 8 << 20]);
    let (mut sender, bytes) = (front.sender().await, event.bytes());
    let app = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(socket.read_u8().await.unwrap());
        }
        let refusal = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        socket.write_all(refusal).await.unwrap();
        socket.shutdown().await.unwrap();
        // It lingers, so that its answer is not lost to a reset.
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).await;
    };
    let answer = async {
        sender.send(bytes).await;
        sender.answer().await
    };
    let ((), answer) = tokio::join!(app, answer);
    answer.assert(413, "forwarded");
}
