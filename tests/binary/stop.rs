//! `SIGTERM`: what was begun is finished, in order and in time.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::token;
use crate::harness::{House, eventually};

/// The drain of the test's config.
const DRAIN: Duration = Duration::from_secs(3);

const HEAD: &[u8] =
    b"POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n";
const BODY: &[u8; 33] = b"{\"namespace\":\"a\",\"key\":\"stopped\"}";

#[test]
fn a_request_that_was_half_sent_is_finished_and_the_stop_goes_in_order() {
    let house = House::new();
    let mut daemon = house.start();
    let first = daemon.client().claim("a", "first", &token(1), "1h").number("fence");
    let mut client = daemon.client();
    client.write(HEAD);
    client.write(&BODY[..10]);
    thread::sleep(Duration::from_millis(100));
    daemon.terminate();
    assert!(daemon.log.wait_for("stopping", DRAIN));
    eventually(DRAIN, "nothing more is accepted", || TcpStream::connect(&daemon.address).is_err());
    client.write(&BODY[10..]);
    let answer = client.receive().unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text);
    let status = daemon.wait(DRAIN);
    assert_eq!(status.code(), Some(0));
    let order: Vec<String> = daemon
        .log
        .lines()
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["message"].as_str().unwrap().to_owned())
        .skip_while(|message| message != "ready")
        .collect();
    let expected = ["ready", "stopping", "drained", "workers stopped", "the store is closed", "stopped"];
    assert_eq!(order.len(), expected.len(), "{order:?}");
    assert!(order.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{order:?}");

    let daemon = house.start();
    let mut client = daemon.client();
    assert_eq!(client.claim("a", "stopped", &token(2), "1h").outcome(), "in_progress");
    let next = client.claim("a", "next", &token(2), "1h").number("fence");
    assert_eq!(next, first + 2, "a start after a stop in order needs no jump");
}

#[test]
fn a_request_that_is_never_finished_does_not_hold_up_the_stop() {
    let house = House::new();
    let mut daemon = house.start();
    let mut client = daemon.client();
    client.write(HEAD);
    client.write(&BODY[..10]);
    thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    daemon.terminate();
    let status = daemon.wait(DRAIN + Duration::from_secs(3));
    assert_eq!(status.code(), Some(0));
    assert!(begun.elapsed() >= DRAIN, "it was given its time: {:?}", begun.elapsed());
    assert_eq!(daemon.log.entry("drained").unwrap()["cut"], 1);
}
