//! More connections than places: who makes way, who stays, and that those who work are served.

use std::time::Duration;

use onced::server::{Drained, Limits, Request, Response};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::harness::{Raw, Server, echo, far};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HALF_A_HEAD: &str = "POST / HTTP/1.1\r\nHo";
const HALF_A_BODY: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\nhalf";

async fn with_places(places: usize) -> Server {
    Server::with_limits(Limits { max_connections: places, ..Limits::default() }, echo).await
}

/// A connection on which this was sent.
async fn having_sent(server: &Server, bytes: &str) -> Raw<TcpStream> {
    let mut client = server.connect().await;
    client.send(bytes).await;
    client
}

/// A connection that was answered once and is idle; not for so long yet that it makes way.
async fn idle(server: &Server) -> Raw<TcpStream> {
    let mut client = having_sent(server, GET).await;
    client.answer().await;
    client
}

/// Idle connections filled a listener, and everybody else waited for over a minute.
#[tokio::test]
async fn the_connection_that_is_idle_longest_makes_way() {
    let server = with_places(3).await;
    let (mut first, mut second, mut third) = (idle(&server).await, idle(&server).await, idle(&server).await);
    second.send(GET).await;
    second.answer().await;
    let mut others = Vec::new();
    for leaver in [&mut first, &mut third] {
        others.push(idle(&server).await);
        leaver.assert_closed().await;
    }
    for stayer in others.iter_mut().chain([&mut second]) {
        stayer.send(GET).await;
        stayer.answer().await;
    }
}

#[tokio::test]
async fn nobody_leaves_while_nobody_comes() {
    let server = with_places(2).await;
    let mut clients = [idle(&server).await, idle(&server).await];
    for number in [0, 1, 0] {
        clients[number].send(GET).await;
        clients[number].answer().await;
    }
}

#[tokio::test]
async fn one_more_connection_waits_while_all_the_others_are_at_work() {
    let (seen, mut requests) = mpsc::unbounded_channel();
    let (gate, opened) = watch::channel(false);
    let limits = Limits { max_connections: 2, ..Limits::default() };
    let server = Server::with_limits(limits, move |_: Request| {
        let mut opened = opened.clone();
        seen.send(()).unwrap();
        async move {
            opened.wait_for(|open| *open).await.unwrap();
            Response::new("done".into())
        }
    })
    .await;
    let mut workers = [having_sent(&server, GET).await, having_sent(&server, GET).await];
    for _ in 0..2 {
        requests.recv().await.unwrap();
    }
    let mut waiting = having_sent(&server, GET).await;
    let silence = timeout(Duration::from_millis(300), waiting.0.readable()).await;
    assert!(silence.is_err() && requests.try_recv().is_err(), "it had no place to be served on");
    gate.send(true).unwrap();
    for client in workers.iter_mut().chain([&mut waiting]) {
        assert_eq!(client.answer().await.body(), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_head_makes_way_in_a_moment_and_half_a_body_in_a_second() {
    // Half a body is answered, and the answer has its moment, too.
    for (sent, keeps_ms, last_word) in [("", 100, ""), (HALF_A_HEAD, 100, ""), (HALF_A_BODY, 1_100, "503")] {
        let server = with_places(1).await;
        let mut slow = having_sent(&server, sent).await;
        let began = Instant::now();
        let mut client = having_sent(&server, GET).await;
        assert_eq!(client.answer().await.status().as_u16(), 200);
        let waited = began.elapsed().as_millis();
        assert!((keeps_ms..keeps_ms + 100).contains(&waited), "{sent:?} kept its place for {waited} ms");
        assert!(slow.read_to_end().await.0.contains(last_word), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_flows_keeps_its_place() {
    let server = with_places(1).await;
    let mut flowing = having_sent(&server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n").await;
    let mut waiting = server.connect().await;
    for _ in 0..9 {
        flowing.send("x".repeat(10_000)).await;
        sleep(Duration::from_millis(900)).await;
    }
    assert_eq!(flowing.answer().await.body().len(), 90_000);
    waiting.send(GET).await;
    assert_eq!(waiting.answer().await.status().as_u16(), 200);
}

/// Sends one byte each five seconds until the server has had enough; says when that was.
async fn drip(mut client: Raw<TcpStream>, byte: &'static str) {
    use tokio::io::AsyncWriteExt as _;
    while client.0.write_all(byte.as_bytes()).await.is_ok() {
        sleep(Duration::from_secs(5)).await;
    }
}

/// A handful of slow senders took every connection.
#[tokio::test(start_paused = true)]
async fn senders_are_served_beside_fifteen_hundred_that_drip_or_never_read() {
    raise_descriptor_limit();
    let server = with_places(256).await;
    let mut never_reading = Vec::new();
    for _ in 0..500 {
        tokio::spawn(drip(having_sent(&server, HALF_A_HEAD).await, "s"));
        tokio::spawn(drip(having_sent(&server, HALF_A_BODY).await, "x"));
        never_reading.push(having_sent(&server, &GET.repeat(3)).await);
    }
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < Duration::from_secs(100) {
        let start = Instant::now();
        let mut client = having_sent(&server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi").await;
        assert_eq!(client.answer().await.body(), "hi");
        took.push(start.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
    took.sort();
    assert!(took.len() > 500, "{} requests", took.len());
    let worst_of_99 = took[took.len() * 99 / 100];
    assert!(worst_of_99 < Duration::from_millis(500), "{worst_of_99:?}");
    // By now each has passed its own deadline too.
    let Drained { finished, cut } = server.shutdown.drain(far()).await;
    assert!(finished <= 1 && cut == 0, "{finished} and {cut} were still there");
}

fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }).unwrap();
}
