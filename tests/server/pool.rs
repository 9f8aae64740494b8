//! Requests to apps: which outcome is which, what is kept, and that nothing is ever sent twice.

use std::time::Duration;

use bytes::Bytes;
use http::Request as HttpRequest;
use onced::server::{Beginning, Lost, Pool, PoolSettings, Request, Response, SendError, Target, Unreached};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::harness::{Raw, Server, far};

const OK: Reply = Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

/// What the app does when it has read a request.
#[derive(Clone, Copy)]
enum Reply {
    /// Says this and reads on.
    Keep(&'static str),
    /// Says this and closes.
    Close(&'static str),
}

/// What the app saw: the number of the connection (from 1), and a whole request or the connection's end.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Request(usize, String),
    End(usize),
}

/// An app that follows a script, its last line for ever, whatever connections the requests come on.
struct App {
    target: Target,
    seen: mpsc::UnboundedReceiver<Seen>,
}

impl App {
    async fn start(script: &'static [Reply]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = target(&listener.local_addr().unwrap().to_string());
        let (see, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let (replies, mut next) = (script.iter().chain(std::iter::repeat(&script[script.len() - 1])), 0);
            for connection in 1.. {
                let (mut socket, _) = listener.accept().await.unwrap();
                while let Some(request) = read_request(&mut socket).await {
                    see.send(Seen::Request(connection, request)).unwrap();
                    let reply = *replies.clone().nth(next).unwrap();
                    next += 1;
                    let (Reply::Keep(text) | Reply::Close(text)) = reply;
                    socket.write_all(text.as_bytes()).await.unwrap();
                    if let Reply::Close(_) = reply {
                        break;
                    }
                }
                drop(socket);
                see.send(Seen::End(connection)).unwrap();
            }
        });
        Self { target, seen }
    }

    /// The connection on which the next request came, and the request.
    async fn request(&mut self) -> (usize, String) {
        loop {
            if let Seen::Request(connection, request) = self.seen.recv().await.unwrap() {
                return (connection, request);
            }
        }
    }

    async fn assert_ended(&mut self, connection: usize) {
        assert_eq!(self.seen.recv().await, Some(Seen::End(connection)));
    }

    fn assert_nothing_more(&mut self) {
        assert!(self.seen.try_recv().is_err(), "the app saw more than was sent");
    }
}

/// Head and body, by Content-Length; None at the end.
async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(socket.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.expect("every request to an app has a Content-Length")];
    socket.read_exact(&mut body).await.ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

fn target(authority: &str) -> Target {
    Target::from_uri(&format!("http://{authority}/").parse().unwrap()).unwrap()
}

fn pool() -> Pool {
    Pool::new(PoolSettings { max_reply_bytes: 1000, ..PoolSettings::default() })
}

fn hello() -> HttpRequest<Bytes> {
    HttpRequest::post("/hooks?a=%20b").body("hello".into()).unwrap()
}

#[tokio::test]
async fn a_request_is_sent_byte_for_byte_with_host_and_length() {
    let mut app = App::start(&[OK]).await;
    let reply = pool().send(&app.target, hello(), far()).await.unwrap();
    assert_eq!((reply.status().as_u16(), &reply.body()[..]), (200, &b"ok"[..]));
    let (_, request) = app.request().await;
    let expected = format!("POST /hooks?a=%20b HTTP/1.1\r\ncontent-length: 5\r\nhost: {}\r\n\r\nhello", app.target);
    assert_eq!(request, expected);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let mut app = App::start(&[OK]).await;
    let pool = pool();
    for _ in 0..3 {
        pool.send(&app.target, hello(), far()).await.unwrap();
        assert_eq!(app.request().await.0, 1);
    }
}

#[tokio::test]
async fn a_kept_connection_that_the_app_closed_is_noticed_and_a_new_one_taken() {
    let mut app = App::start(&[Reply::Close("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]).await;
    let pool = pool();
    for connection in 1..=3 {
        pool.send(&app.target, hello(), far()).await.unwrap();
        assert_eq!(app.request().await.0, connection);
        app.assert_ended(connection).await;
    }
}

#[tokio::test]
async fn a_connection_that_the_reply_closes_is_not_kept() {
    let mut app =
        App::start(&[Reply::Keep("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")]).await;
    pool().send(&app.target, hello(), far()).await.unwrap();
    assert_eq!(app.request().await.0, 1);
    app.assert_ended(1).await;
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_its_time_without_another_request() {
    let mut app = App::start(&[OK]).await;
    let pool = pool();
    pool.send(&app.target, hello(), far()).await.unwrap();
    app.request().await;
    let began = Instant::now();
    app.assert_ended(1).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    pool.send(&app.target, hello(), far()).await.unwrap();
    assert_eq!(app.request().await.0, 2);
    app.assert_ended(2).await;
}

#[tokio::test]
async fn a_refused_connection_was_never_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(&listener.local_addr().unwrap().to_string());
    drop(listener);
    let error = pool().send(&target, hello(), far()).await.unwrap_err();
    assert!(matches!(error, SendError::NeverReached(Unreached::Connect(_))), "{error:?}");
}

#[tokio::test]
async fn a_name_without_an_address_was_never_reached() {
    let error = pool().send(&target("app.invalid:80"), hello(), far()).await.unwrap_err();
    // The machine's resolver may also be slower than the time for connecting.
    assert!(matches!(error, SendError::NeverReached(_)), "{error:?}");
}

/// The kernel drops the handshakes of those who come when the backlog is full.
#[tokio::test(start_paused = true)]
async fn a_connection_neither_refused_nor_accepted_was_never_reached() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    let _occupant = TcpStream::connect(address).await.unwrap();
    let began = Instant::now();
    let error = pool().send(&target(&address.to_string()), hello(), far()).await.unwrap_err();
    assert!(matches!(error, SendError::NeverReached(Unreached::TimedOut)), "{error:?}");
    assert_eq!(began.elapsed().as_secs(), 5);
}

/// Sends one request to an app that gives `reply`, and returns the error and whether the app closed or we did.
async fn failure(reply: &'static [Reply]) -> SendError {
    let mut app = App::start(reply).await;
    let pool = pool();
    let error = pool.send(&app.target, hello(), Instant::now() + Duration::from_secs(30)).await.unwrap_err();
    assert_eq!(app.request().await.0, 1);
    app.assert_ended(1).await; // also when the app would have read on: the connection is not kept
    app.assert_nothing_more();
    error
}

/// An event that its app had taken was handed over again because the page that said so broke off.
#[tokio::test(start_paused = true)]
async fn where_the_head_decides_the_body_may_break_off_be_too_long_or_never_end() {
    let beginning = Beginning { max_bytes: 4, patience: Duration::from_secs(1) };
    for (script, body) in [
        (Reply::Close("HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\nok"), "ok"),
        (Reply::Keep("HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\nok"), "ok"),
        (Reply::Keep("HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\nokokokoko"), "okok"),
        (Reply::Keep("HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"), "ok"),
    ] {
        let mut app = App::start(vec![script].leak()).await;
        let pool = pool();
        let reply = pool.send_for_head(&app.target, hello(), far(), beginning).await.unwrap();
        assert_eq!((reply.status().as_u16(), &reply.body()[..]), (202, body.as_bytes()));
        assert_eq!(app.request().await.0, 1);
        app.assert_ended(1).await; // what is left of the body would be taken for the next reply
        app.assert_nothing_more();
    }
    let mut app = App::start(&[Reply::Keep("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nokok")]).await;
    let pool = pool();
    for _ in 0..2 {
        let reply = pool.send_for_head(&app.target, hello(), far(), beginning).await.unwrap();
        assert_eq!(&reply.body()[..], b"okok");
        assert_eq!(app.request().await.0, 1, "a reply that is whole leaves its connection for the next request");
    }
    let error = failure_of_head(&[Reply::Keep("HTTP/1.1 2")]).await;
    assert!(matches!(error, SendError::Unknown { status: None, source: Lost::TimedOut }), "{error:?}");
}

async fn failure_of_head(reply: &'static [Reply]) -> SendError {
    let app = App::start(reply).await;
    let beginning = Beginning { max_bytes: 4, patience: Duration::from_secs(1) };
    let deadline = Instant::now() + Duration::from_secs(30);
    pool().send_for_head(&app.target, hello(), deadline, beginning).await.unwrap_err()
}

#[tokio::test]
async fn an_app_that_closes_instead_of_replying_leaves_the_outcome_unknown_and_is_not_asked_again() {
    let error = failure(&[Reply::Close("")]).await;
    assert!(matches!(error, SendError::Unknown { status: None, source: Lost::Truncated(_) }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_app_that_does_not_reply_in_time_leaves_the_outcome_unknown() {
    let error = failure(&[Reply::Keep("")]).await;
    assert!(matches!(error, SendError::Unknown { status: None, source: Lost::TimedOut }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_whose_body_does_not_come_in_time_keeps_its_status() {
    let error = failure(&[Reply::Keep("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf")]).await;
    let SendError::Unknown { status: Some(status), source: Lost::TimedOut } = error else { panic!("{error:?}") };
    assert_eq!(status, 201);
}

#[tokio::test]
async fn a_reply_cut_short_is_truncated_and_keeps_its_status() {
    for reply in [
        "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let error = failure(Box::leak(Box::new([Reply::Close(reply)]))).await;
        let SendError::Unknown { status: Some(status), source: Lost::Truncated(_) } = error else {
            panic!("{error:?}")
        };
        assert_eq!(status, 201);
    }
}

#[tokio::test]
async fn what_is_no_reply_is_malformed() {
    for reply in ["hello\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"] {
        let error = failure(Box::leak(Box::new([Reply::Keep(reply)]))).await;
        assert!(matches!(error, SendError::Unknown { status: None, source: Lost::Malformed(_) }), "{reply}: {error:?}");
    }
}

#[tokio::test]
async fn an_unasked_101_is_no_reply() {
    let error =
        failure(&[Reply::Keep("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")]);
    let error = error.await;
    assert!(matches!(error, SendError::Unknown { status: None, source: Lost::UnaskedUpgrade }), "{error:?}");
}

#[tokio::test]
async fn a_reply_over_the_limit_is_an_error_of_its_own_that_keeps_the_status() {
    for framing in ["Content-Length: 1001\r\n", ""] {
        let text = format!("HTTP/1.1 200 OK\r\n{framing}\r\n{}", "x".repeat(1001));
        let error = failure(Box::leak(Box::new([Reply::Close(text.leak())]))).await;
        let SendError::ReplyTooLong { status, limit_bytes: 1000 } = error else { panic!("{error:?}") };
        assert_eq!(status, 200);
    }
}

#[tokio::test]
async fn interim_replies_are_swallowed_and_the_final_one_counts() {
    let app = App::start(&[Reply::Keep(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok",
    )])
    .await;
    assert_eq!(pool().send(&app.target, hello(), far()).await.unwrap().status(), 202);
}

#[tokio::test]
async fn an_early_final_reply_is_taken_before_the_request_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(&listener.local_addr().unwrap().to_string());
    let app = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut app = Raw(socket);
        app.send("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
        app
    });
    let request = HttpRequest::post("/").body(vec![0; 32 * 1024 * 1024].into()).unwrap();
    assert_eq!(pool().send(&target, request, far()).await.unwrap().status(), 413);
    app.await.unwrap();
}

#[tokio::test]
async fn header_names_keep_their_letters_and_values_their_bytes_through_the_server_and_the_pool() {
    let mut app = App::start(&[OK]).await;
    let (pool, target) = (pool(), app.target.clone());
    let server = Server::start(move |request: Request| {
        let (pool, target) = (pool.clone(), target.clone());
        async move {
            let reply = pool.send(&target, HttpRequest::from_parts(request.head, Bytes::new()), far()).await.unwrap();
            Response::new(reply.into_body().into())
        }
    })
    .await;
    let mut sender = server.connect().await;
    sender.send(&b"POST http://a/x HTTP/1.1\r\nHOST: a\r\nX-CaSe: one\r\nx-cAsE: tw\xe9\r\n\r\n"[..]).await;
    assert_eq!(sender.answer().await.body(), "ok");
    let (_, request) = app.request().await;
    let expected = "POST /x HTTP/1.1\r\nHOST: a\r\nX-CaSe: one\r\nx-cAsE: tw\u{fffd}\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(request, expected);
}
