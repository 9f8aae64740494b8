//! What becomes of an answer: its length, its receipt, and the handler that fails to give one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onced::server::{Drained, Limits, Peer, Request, Response, ResponseBody};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};

use crate::harness::{Server, far, ok};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn every_body_has_its_length() {
    type Make = fn() -> ResponseBody;
    let bodies: [(Make, &str); 4] = [
        (ResponseBody::empty, ""),
        (|| "text".into(), "text"),
        (|| vec![b'v'; 3].into(), "vvv"),
        (|| ResponseBody::with_receipt("kept", || panic!("it was written")), "kept"),
    ];
    for (body, text) in bodies {
        let server = Server::start(move |_| async move { Response::new(body()) }).await;
        let mut client = server.connect().await;
        for _ in 0..2 {
            client.send(GET).await;
            let answer = client.answer().await;
            assert_eq!(answer.header("content-length"), Some(text.len().to_string().as_str()));
            assert_eq!(answer.body(), text);
        }
    }
}

/// A server that answers with a receipt once `gate` opens, says when it has a request, and counts unwritten answers.
struct Receipts {
    gate: Arc<Notify>,
    unwritten: Arc<AtomicUsize>,
    asked: mpsc::UnboundedReceiver<()>,
    server: Server,
}

impl Receipts {
    /// The answer is made before the gate, as by a handler that is granted a claim and then waits for the sync.
    async fn start(text: &'static str) -> Self {
        let (gate, unwritten) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (ask, asked) = mpsc::unbounded_channel();
        let service = {
            let (gate, unwritten) = (Arc::clone(&gate), Arc::clone(&unwritten));
            move |_: Request| {
                let (gate, unwritten, ask) = (Arc::clone(&gate), Arc::clone(&unwritten), ask.clone());
                async move {
                    let count = move || {
                        unwritten.fetch_add(1, Ordering::SeqCst);
                    };
                    let body = ResponseBody::with_receipt(text, count);
                    ask.send(()).unwrap();
                    gate.notified().await;
                    Response::new(body)
                }
            }
        };
        Self { gate, unwritten, asked, server: Server::start(service).await }
    }

    /// The count once every connection has ended.
    async fn unwritten(self) -> usize {
        self.server.shutdown.drain(far()).await;
        self.unwritten.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_written_answer_does_not_run_its_receipt() {
    let receipts = Receipts::start("granted").await;
    let mut client = receipts.server.connect().await;
    receipts.gate.notify_one();
    client.send(GET).await;
    assert_eq!(client.answer().await.body(), "granted");
    assert_eq!(receipts.unwritten().await, 0);
}

#[tokio::test]
async fn an_answer_to_a_connection_that_has_gone_or_half_closed_runs_its_receipt_once() {
    for half in [true, false] {
        let mut receipts = Receipts::start("granted").await;
        let mut client = receipts.server.connect().await;
        client.send(GET).await;
        receipts.asked.recv().await.unwrap();
        client.0.shutdown().await.unwrap();
        if half {
            client.assert_closed().await;
        }
        drop(client);
        assert_eq!(receipts.unwritten().await, 1);
    }
}

#[tokio::test]
async fn a_body_that_never_goes_out_counts_as_unwritten() {
    for (method, text) in [("HEAD", "granted"), ("GET", "")] {
        let receipts = Receipts::start(text).await;
        let mut client = receipts.server.connect().await;
        receipts.gate.notify_one();
        client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
        let answer = client.read_to_end().await;
        assert_eq!((answer.header("content-length"), answer.body()), (Some(text.len().to_string().as_str()), ""));
        assert_eq!(receipts.unwritten().await, 1);
    }
}

#[tokio::test]
async fn a_handler_that_panics_ends_its_own_connection_alone() {
    let server = Server::start(|request: Request| async move {
        assert_ne!(request.head.uri.path(), "/panic", "this panic belongs to the test");
        ok(request).await
    })
    .await;
    let (mut unlucky, mut other) = (server.connect().await, server.connect().await);
    other.send(GET).await;
    assert_eq!(other.answer().await.body(), "ok");
    unlucky.send("GET /panic HTTP/1.1\r\nHost: a\r\n\r\n").await;
    unlucky.assert_closed().await;
    for client in [&mut other, &mut server.connect().await] {
        client.send(GET).await;
        assert_eq!(client.answer().await.body(), "ok");
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::start(|request: Request| async move {
        Response::new(request.head.uri.path().to_owned().into_bytes().into())
    })
    .await;
    let mut client = server.connect().await;
    client.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(client.answer().await.body(), "/1");
    assert_eq!(client.answer().await.body(), "/2");
}

#[tokio::test]
async fn the_handler_knows_its_peer() {
    let server = Server::start(|request: Request| async move {
        let Peer::Tcp(address) = request.peer else { panic!("it came over TCP") };
        Response::new(address.to_string().into_bytes().into())
    })
    .await;
    let mut client = server.connect().await;
    client.send(GET).await;
    assert_eq!(client.answer().await.body(), client.0.local_addr().unwrap().to_string());
}

/// A peer that asks and never reads would keep its place for good.
#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_its_answer_is_dropped_after_the_stall() {
    let server = Server::start(|_: Request| async { Response::new(vec![0; 64 * 1024 * 1024].into()) }).await;
    let mut client = server.connect().await;
    client.send(GET).await;
    client.0.readable().await.unwrap();
    sleep(Limits::default().write_stall + Duration::from_secs(1)).await;
    assert_eq!(server.shutdown.drain(Instant::now()).await, Drained { finished: 0, cut: 0 }, "it is still there");
}
