//! Requests that two parsers could read differently: each is refused or read in the one allowed way, and the
//! connection is closed, so that nothing behind it is taken for a second request.

use crate::harness::{Server, echo, ok};

const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends a head's fields and some bytes behind it and returns the status; checks that it was the only answer.
async fn status_of(fields: &str, rest: &str) -> u16 {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send(format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n{rest}")).await;
    let answer = client.read_to_end().await;
    assert_eq!(answer.0.matches("HTTP/1.1 ").count(), 1, "{fields:?} gave {answer:?}");
    assert_eq!(answer.header("connection"), Some("close"), "{fields:?} gave {answer:?}");
    answer.status().as_u16()
}

#[tokio::test]
async fn ambiguous_framing_is_refused_and_the_connection_closed() {
    let chunked = format!("2\r\nhi\r\n0\r\n\r\n{SMUGGLED}");
    let sized = format!("hi{SMUGGLED}");
    let cases = [
        ("Host: a\r\nContent-Length: 2\r\nContent-Length: 3", &sized, 400),
        ("Host: a\r\nContent-Length: 2, 2", &sized, 400),
        ("Host: a\r\nContent-Length: +2", &sized, 400),
        ("Host: a\r\nContent-Length: -2", &sized, 400),
        ("Host: a\r\nContent-Length: 0x2", &sized, 400),
        ("Host: a\r\nContent-Length: 99999999999999999999", &sized, 400),
        ("Host: a\r\nContent-Length : 2", &sized, 400),
        ("Host: a\r\nX: folded\r\n value\r\nContent-Length: 2", &sized, 400),
        ("Host: a\r\nX: nul\0\r\nContent-Length: 2", &sized, 400),
        ("Host: a\r\nTransfer-Encoding: gzip", &chunked, 400),
        ("Host: a\r\nTransfer-Encoding: chunked, gzip", &chunked, 400),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked", &chunked, 501),
        ("Host: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked", &chunked, 501),
        ("Host: a\r\nTransfer-Encoding: chunked, chunked", &chunked, 501),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", &chunked, 501),
        ("Host: a\r\nTransfer-Encoding: ,chunked", &chunked, 501),
        ("Host: a\r\nHost: b\r\nContent-Length: 2", &sized, 400),
        ("Content-Length: 2", &sized, 400),
    ];
    for (fields, rest, expected) in cases {
        assert_eq!(status_of(fields, rest).await, expected, "{fields:?}");
    }
}

#[tokio::test]
async fn with_both_lengths_transfer_encoding_alone_counts_and_the_connection_closes() {
    for fields in [
        "Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked",
        "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2",
    ] {
        let server = Server::start(echo).await;
        let mut client = server.connect().await;
        client.send(format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n5\r\nhello\r\n0\r\n\r\n{SMUGGLED}")).await;
        let answer = client.read_to_end().await;
        assert_eq!((answer.status().as_u16(), answer.body()), (200, "hello"), "{fields:?}");
    }
}

#[tokio::test]
async fn a_repeated_equal_content_length_is_one() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi").await;
    assert_eq!(client.answer().await.body(), "hi");
}

#[tokio::test]
async fn transfer_encoding_in_http_1_0_is_refused() {
    let server = Server::start(echo).await;
    let mut client = server.connect().await;
    client.send("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").await;
    assert_eq!(client.read_to_end().await.status().as_u16(), 400);
}

#[tokio::test]
async fn http_1_0_needs_no_host_and_is_closed_after_the_answer() {
    let server = Server::start(ok).await;
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(client.read_to_end().await.body(), "ok");
}

#[tokio::test]
async fn a_hundred_headers_are_taken_and_more_are_431() {
    for (headers, expected) in [(100, 200), (101, 431)] {
        let server = Server::start(ok).await;
        let mut client = server.connect().await;
        let fields: String = (2..=headers).map(|number| format!("X-{number}: y\r\n")).collect();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).await;
        assert_eq!(client.answer().await.status().as_u16(), expected, "{headers} headers");
    }
}

#[tokio::test]
async fn a_head_of_64_kib_is_taken_and_a_larger_one_is_431_which_arrives() {
    for (head_bytes, expected) in [(64 * 1024, 200), (64 * 1024 + 1, 431), (512 * 1024, 431)] {
        let server = Server::start(ok).await;
        let mut client = server.connect().await;
        let start = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ";
        let padding = "y".repeat(head_bytes - start.len() - 4);
        client.send(format!("{start}{padding}\r\n\r\n")).await;
        assert_eq!(client.read_to_end().await.status().as_u16(), expected, "{head_bytes} bytes");
    }
}
