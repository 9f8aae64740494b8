//! Bodies that are too large, too slow, cut short or broken.

use std::time::Duration;

use onced::server::{BodyError, Request, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::harness::{Raw, Server, body_limits, echo};

const HEAD: &str = "POST / HTTP/1.1\r\nHost: a\r\n";

#[tokio::test]
async fn a_body_of_many_pieces_arrives_whole_on_a_connection_that_is_kept() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    let body = "0123456789".repeat(10_000);
    for _ in 0..2 {
        client.send(format!("{HEAD}Content-Length: {}\r\n\r\n{body}", body.len())).await;
        assert_eq!(client.answer().await.body(), body);
    }
}

#[tokio::test]
async fn a_body_announced_too_large_is_413_before_it_is_read_and_never_asked_for() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Content-Length: 100001\r\nExpect: 100-continue\r\n\r\n")).await;
    let answer = client.read_to_end().await;
    assert_eq!(answer.status().as_u16(), 413);
    assert_eq!(answer.body(), "the body is longer than 100000 bytes");
}

/// A server that closes while the kernel still holds unread bytes makes it send a reset, and the client loses the
/// answer that it has not read yet.
#[tokio::test]
async fn the_413_arrives_although_megabytes_of_body_are_on_their_way() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    let body = vec![b'x'; 8_000_000];
    client.send(format!("{HEAD}Content-Length: {}\r\n\r\n", body.len())).await;
    client.send(&body).await;
    assert_eq!(client.read_to_end().await.status().as_u16(), 413);
}

#[tokio::test]
async fn a_chunked_body_is_413_as_soon_as_it_passes_the_limit() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n")).await;
    for _ in 0..11 {
        client.send(format!("2710\r\n{}\r\n", "x".repeat(10_000))).await;
    }
    assert_eq!(client.read_to_end().await.status().as_u16(), 413);
}

#[tokio::test]
async fn a_sender_that_expects_100_continue_gets_it_when_the_body_is_read() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")).await;
    assert_eq!(client.answer().await.status().as_u16(), 100);
    client.send("hi").await;
    assert_eq!(client.answer().await.body(), "hi");
}

#[tokio::test]
async fn malformed_chunks_are_400_and_the_connection_closes() {
    let server = Server::start(echo).await;
    for chunk in ["zz\r\nhi\r\n0\r\n\r\n", "2\r\nhiXX0\r\n\r\n", "-2\r\nhi\r\n0\r\n\r\n", "11111111111111111\r\nhi"] {
        let mut client = server.connect().await;
        client.send(format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunk}")).await;
        let answer = client.read_to_end().await;
        assert_eq!(answer.status().as_u16(), 400, "{chunk:?}");
        assert_eq!(answer.body(), "the body's chunks are malformed", "{chunk:?}");
    }
}

#[tokio::test]
async fn a_body_that_the_sender_cuts_short_is_never_taken_for_a_whole_one() {
    let (told, mut outcomes) = mpsc::unbounded_channel();
    let server = Server::start(move |request: Request| {
        let told = told.clone();
        async move {
            told.send(None).unwrap();
            told.send(Some(request.body.read(&body_limits()).await)).unwrap();
            Response::new("ok".into())
        }
    })
    .await;
    for start in ["Content-Length: 8\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"] {
        let mut client = server.connect().await;
        client.send(format!("{HEAD}{start}")).await;
        assert!(outcomes.recv().await.unwrap().is_none());
        drop(client);
        let outcome = outcomes.recv().await.unwrap();
        assert!(matches!(outcome, Some(Err(BodyError::Incomplete { got: 4, .. }))), "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stands_still_is_408_after_the_first_minute() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    let began = Instant::now();
    client.send(format!("{HEAD}Content-Length: 10\r\n\r\nhalf")).await;
    let answer = client.read_to_end().await;
    assert_eq!(answer.status().as_u16(), 408);
    assert_eq!(answer.body(), "the body came too slowly: 4 bytes so far");
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_may_take_its_minute() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Content-Length: 4\r\n\r\nha")).await;
    sleep(Duration::from_secs(59)).await;
    client.send("lf").await;
    assert_eq!(client.answer().await.body(), "half");
}

/// Sends 6,000 bytes every five seconds for as long as the server listens, and then nothing.
async fn trickle(client: &mut Raw<tokio::net::TcpStream>, pieces: usize) {
    for _ in 0..pieces {
        client.send("x".repeat(6_000)).await;
        sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_above_the_minimum_rate_may_take_longer_than_a_minute() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Content-Length: 96000\r\n\r\n")).await;
    let began = Instant::now();
    trickle(&mut client, 16).await;
    assert!(began.elapsed() > Duration::from_secs(60));
    assert_eq!(client.answer().await.body().len(), 96_000);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_falls_below_the_minimum_rate_later_is_408_within_two_windows() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("{HEAD}Content-Length: 96000\r\n\r\n")).await;
    trickle(&mut client, 14).await;
    let stopped = Instant::now();
    assert_eq!(client.read_to_end().await.status().as_u16(), 408);
    assert!(stopped.elapsed() <= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_head_has_75_seconds_and_so_has_an_idle_connection() {
    let server = Server::start(echo).await;
    for sent in ["", "POST / HTTP/1.1\r\nHo"] {
        let mut client = server.connect().await;
        let began = Instant::now();
        client.send(sent).await;
        client.assert_closed().await;
        assert_eq!(began.elapsed().as_secs(), 75, "{sent:?}");
    }
}
