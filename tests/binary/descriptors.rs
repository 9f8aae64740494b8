//! A daemon that has no descriptor left.

use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::harness::{Daemon, House, eventually};

/// Idle connections took the last descriptor, the mark could not be renewed, and a disk that had nothing was declared broken:
/// every answer was degraded until the connections went.
#[test]
fn a_lack_of_descriptors_is_no_fault_of_the_disk() {
    let house = House::new();
    let daemon = house.start();
    let mut client = daemon.client();
    assert_eq!(client.confirm("open", "k-0").status, 200);
    // What is open stays so; nothing more can be opened.
    let before = limit_descriptors(&daemon, Some(3));
    let mut number = 0;
    eventually(Duration::from_secs(60), "the mark cannot be renewed", || {
        number += 1;
        let answer = client.confirm("open", &format!("k-{number}"));
        assert!(answer.status == 200 && !answer.is_degraded(), "{}", answer.text);
        daemon.log.entry("the mark could not be renewed; it is tried again").is_some()
    });
    assert_eq!(client.get("/readyz").status, 200);
    limit_descriptors(&daemon, before);
    assert_eq!(daemon.client().confirm("open", "after").text_of("outcome"), "confirmed");
    daemon.kill();
    let daemon = house.start();
    assert_eq!(daemon.client().confirm("open", "k-1").text_of("outcome"), "confirmed");
}

/// Lets the daemon have so many descriptors from now on; how many it might have before.
fn limit_descriptors(daemon: &Daemon, limit: Option<u64>) -> Option<u64> {
    let pid = Pid::from_raw(i32::try_from(daemon.child.id()).unwrap());
    let unchanged = rustix::process::getrlimit(Resource::Nofile);
    prlimit(pid, Resource::Nofile, Rlimit { current: limit, maximum: unchanged.maximum }).unwrap().current
}
