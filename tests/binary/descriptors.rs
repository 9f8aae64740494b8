//! A daemon that has no descriptor left.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::harness::{House, eventually};
use crate::tools;

/// Idle connections took the last descriptor, the mark could not be renewed, and a disk that had nothing was declared broken:
/// every answer was degraded until the connections went.
#[test]
fn a_lack_of_descriptors_is_no_fault_of_the_disk() {
    if !tools::has("prlimit") {
        return;
    }
    let mut house = House::new();
    house.wrapper = ["prlimit", "--nofile=100:100"].map(str::to_owned).to_vec();
    let daemon = house.start();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Whoever is idle makes way, so they have to come again and again.
        scope.spawn(|| keep_connecting(&over, &daemon.address));
        let mut number = 0;
        eventually(Duration::from_secs(30), "the mark cannot be renewed", || {
            number += 1;
            let answer = daemon.client().confirm("open", &format!("k-{number}"));
            assert!(answer.status == 200 && !answer.is_degraded(), "{}", answer.text);
            daemon.log.entry("the mark could not be renewed; it is tried again").is_some()
        });
        assert_eq!(daemon.client().get("/readyz").status, 200);
        over.store(true, Ordering::Relaxed);
    });
    daemon.kill();
    let daemon = house.start();
    assert_eq!(daemon.client().confirm("open", "k-1").text_of("outcome"), "confirmed");
}

/// Keeps more connections open than the daemon has descriptors, and opens each anew that it closes.
fn keep_connecting(over: &AtomicBool, address: &str) {
    let mut idle: Vec<TcpStream> = Vec::new();
    while !over.load(Ordering::Relaxed) {
        idle.retain_mut(|stream| {
            stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        });
        while idle.len() < 150 {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nonblocking(true).unwrap();
            idle.push(stream);
        }
        thread::yield_now();
    }
}
