//! A daemon that has no descriptor left.

use std::net::TcpStream;
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
    let mut client = daemon.client();
    let idle: Vec<_> = (0..150).map(|_| TcpStream::connect(&daemon.address).unwrap()).collect();
    let mut number = 0;
    eventually(Duration::from_secs(20), "the mark cannot be renewed", || {
        number += 1;
        let answer = client.confirm("open", &format!("k-{number}"));
        assert!(answer.status == 200 && !answer.is_degraded(), "{}", answer.text);
        daemon.log.entry("the mark could not be renewed; it is tried again").is_some()
    });
    assert_eq!(client.get("/readyz").status, 200);
    drop(idle);
    daemon.kill();
    let daemon = house.start();
    assert_eq!(daemon.client().confirm("open", "k-1").text_of("outcome"), "confirmed");
}
