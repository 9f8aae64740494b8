//! Stopping: what is in flight is finished, what is idle goes at once, and the deadline is kept.

use std::time::Duration;

use onced::server::{Drained, Request, Response};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::harness::{Server, echo, far};

const HALF: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf";

/// A server that echoes, and says when it has seen a head.
async fn announced() -> (Server, mpsc::UnboundedReceiver<()>) {
    let (seen, heads) = mpsc::unbounded_channel();
    let server = Server::start(move |request: Request| {
        seen.send(()).unwrap();
        echo(request)
    })
    .await;
    (server, heads)
}

#[tokio::test]
async fn a_half_sent_body_is_finished_and_its_whole_answer_arrives_before_the_end() {
    let (server, mut heads) = announced().await;
    let mut client = server.connect().await;
    client.send(HALF).await;
    heads.recv().await.unwrap();
    server.shutdown.begin();
    let draining = tokio::spawn({
        let shutdown = server.shutdown.clone();
        async move { shutdown.drain(far()).await }
    });
    client.send("done").await;
    let answer = client.read_to_end().await;
    assert_eq!((answer.status().as_u16(), answer.body()), (200, "halfdone"));
    assert_eq!(answer.header("content-length"), Some("8"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(draining.await.unwrap(), Drained { finished: 1, cut: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_cut_at_the_deadline() {
    let (server, mut heads) = announced().await;
    let (mut stuck, mut idle) = (server.connect().await, server.connect().await);
    stuck.send(HALF).await;
    idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    idle.answer().await;
    for _ in 0..2 {
        heads.recv().await.unwrap();
    }
    let began = Instant::now();
    let drained = server.shutdown.drain(began + Duration::from_secs(20)).await;
    assert_eq!(drained, Drained { finished: 1, cut: 1 });
    assert_eq!(began.elapsed().as_secs(), 20);
    stuck.assert_closed().await;
}

#[tokio::test]
async fn idle_connections_close_at_once_whether_they_have_spoken_or_not() {
    let (server, _heads) = announced().await;
    let (mut silent, mut kept) = (server.connect().await, server.connect().await);
    kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await; // accepted in order, so `silent` is in as well
    kept.answer().await;
    assert_eq!(server.shutdown.drain(far()).await, Drained { finished: 2, cut: 0 });
    silent.assert_closed().await;
    kept.assert_closed().await;
}

/// Half a head held up a stop for as long as the drain lasts.
#[tokio::test(start_paused = true)]
async fn half_a_head_has_a_second_more_and_is_answered_if_it_ends_by_then() {
    for (rest, finished) in [(None, ""), (Some("ost: a\r\n\r\n"), "HTTP/1.1 200 OK")] {
        let (server, _heads) = announced().await;
        let (mut fresh, mut kept) = (server.connect().await, server.connect().await);
        kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        kept.answer().await;
        fresh.send("GET / HTTP/1.1\r\nH").await;
        // What was sent before it on another connection has been read by now.
        kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        kept.answer().await;
        let began = Instant::now();
        server.shutdown.begin();
        if let Some(rest) = rest {
            fresh.send(rest).await;
        }
        assert_eq!(server.shutdown.drain(far()).await, Drained { finished: 2, cut: 0 });
        assert!(began.elapsed() <= Duration::from_secs(1), "{:?}", began.elapsed());
        assert!(fresh.read_to_end().await.0.starts_with(finished));
    }
}

#[tokio::test]
async fn a_request_in_flight_is_answered_after_the_stop() {
    let (seen, mut heads) = mpsc::unbounded_channel();
    let (gate, opened) = tokio::sync::watch::channel(false);
    let server = Server::start(move |_: Request| {
        let mut opened = opened.clone();
        seen.send(()).unwrap();
        async move {
            opened.wait_for(|open| *open).await.unwrap();
            Response::new("late".into())
        }
    })
    .await;
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    heads.recv().await.unwrap();
    server.shutdown.begin();
    gate.send(true).unwrap();
    let answer = client.read_to_end().await;
    assert_eq!((answer.body(), answer.header("connection")), ("late", Some("close")));
}

#[tokio::test]
async fn nothing_is_accepted_after_the_stop() {
    let (server, _heads) = announced().await;
    server.shutdown.drain(far()).await;
    assert!(TcpStream::connect(&server.address).await.is_err());
}
