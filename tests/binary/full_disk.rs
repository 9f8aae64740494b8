//! A disk that is full, or read-only, and comes back: what is answered meanwhile, and what is there afterwards.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, token};
use crate::harness::{Daemon, House, eventually};
use crate::tools::SmallDisk;

/// Service is back this soon after the cause is gone.
pub(crate) const BACK: Duration = Duration::from_secs(5);
/// What the log may grow by in one outage.
const MAX_LINES: usize = 100;

/// Finishes and holds some keys while all is well.
pub(crate) fn prepare(client: &mut Client) {
    for namespace in ["open", "closed"] {
        for key in ["done-1", "done-2"] {
            assert_eq!(client.claim(namespace, key, &token(1), "1h").status, 201);
            assert_eq!(client.confirm(namespace, key).status, 200);
        }
        assert_eq!(client.claim(namespace, "held", &token(1), "1h").status, 201);
    }
}

/// Claims until the daemon has noticed; the records that went through are plainly claimed.
pub(crate) fn until_degraded(client: &mut Client) {
    let mut number = 0;
    eventually(Duration::from_secs(30), "the disk is full", || {
        let commands: Vec<_> = (0..200)
            .map(|_| {
                number += 1;
                json!({"command": "claim", "namespace": "open", "key": format!("fill-{number}"), "processing_ttl": "1h",
                       "owner": "o".repeat(100)})
            })
            .collect();
        client.batch(&commands).iter().any(|answer| answer["degraded"] == json!(true))
    });
}

/// What is answered while the store is down.
pub(crate) fn during(client: &mut Client, reasons: &[&str]) {
    let fresh = client.claim("open", "fresh", &token(1), "1h");
    assert_eq!(fresh.status, 201, "{}", fresh.text);
    assert!(fresh.is_degraded(), "{}", fresh.text);
    assert!(reasons.contains(&fresh.text_of("reason").as_str()), "{}", fresh.text);
    let other = client.claim("open", "fresh", &token(2), "1h");
    assert_eq!((other.status, other.outcome().as_str()), (409, "in_progress"));
    assert!(other.is_degraded());
    for key in ["fresh-done", "fresh-released"] {
        assert_eq!(client.claim("open", key, &token(1), "1h").status, 201);
    }
    assert_eq!(client.confirm("open", "fresh-done").outcome(), "confirmed");
    assert_eq!(client.claim("open", "fresh-done", &token(2), "1h").outcome(), "done");
    let release = json!({"namespace": "open", "key": "fresh-released", "token": token(1)});
    assert_eq!(client.post("release", &release).unwrap().outcome(), "released");

    let refused = client.claim("closed", "fresh", &token(1), "1h");
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(refused.text_of("code"), "store_unavailable");
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);

    before_stays(client, true);
    let ready = client.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(reasons.iter().any(|reason| ready.text.contains(reason)), "{}", ready.text);
    assert_eq!(client.get("/healthz").status, 200);
    assert!(client.metric("onced_degraded_total", "namespace=\"open\"") > 0);
    assert!(client.metric("onced_degraded_total", "namespace=\"closed\"") > 0);
}

/// What was so before the outage.
pub(crate) fn before_stays(client: &mut Client, degraded: bool) {
    for namespace in ["open", "closed"] {
        for key in ["done-1", "done-2"] {
            let answer = client.claim(namespace, key, &token(3), "1h");
            assert_eq!((answer.status, answer.outcome().as_str()), (200, "done"), "{}", answer.text);
            assert_eq!(answer.is_degraded(), degraded, "{}", answer.text);
        }
        let answer = client.claim(namespace, "held", &token(3), "1h");
        assert_eq!((answer.status, answer.outcome().as_str()), (409, "in_progress"), "{}", answer.text);
    }
}

pub(crate) fn is_ready(client: &mut Client) -> bool {
    client.get("/readyz").status == 200
}

/// What was decided during the outage.
pub(crate) fn afterwards(client: &mut Client) {
    before_stays(client, false);
    assert_eq!(client.claim("open", "fresh", &token(3), "1h").outcome(), "in_progress");
    let own = client.claim("open", "fresh", &token(1), "1h");
    assert_eq!(own.get("repeated"), json!(true), "{}", own.text);
    assert_eq!(client.claim("open", "fresh-done", &token(3), "1h").outcome(), "done");
    let read = client.get("/v1/claims/open/fresh-released");
    assert_eq!(read.text_of("state"), "free", "{}", read.text);
    assert!(!own.is_degraded());
}

fn lines(daemon: &Daemon) -> usize {
    daemon.log.lines().len()
}

#[test]
fn a_full_disk_is_served_from_memory_and_service_comes_back_by_itself() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let house = House::on(disk.path());
    let daemon = house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    let before = lines(&daemon);
    disk.fill(0);
    until_degraded(&mut client);
    during(&mut client, &["disk_full"]);
    // Some attempts to come back, while it is asked.
    let hold = Instant::now();
    while hold.elapsed() < Duration::from_secs(4) {
        before_stays(&mut client, true);
        thread::sleep(Duration::from_millis(50));
    }
    disk.free();
    let took = eventually(BACK, "ready again", || is_ready(&mut client));
    println!("back after {took:?}");
    assert!(lines(&daemon) - before < MAX_LINES, "{:#?}", daemon.log.lines());
    afterwards(&mut client);
    assert_eq!(client.claim("closed", "fresh", &token(5), "1h").status, 201);
    daemon.kill();
    afterwards(&mut house.start().client());
}

/// Somebody else eats each byte that gets free, but for a little: the store comes and goes.
#[test]
fn a_disk_that_is_nearly_full_makes_no_noise_and_forgets_nothing() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let house = House::on(disk.path());
    let daemon = house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    let (before, begun) = (lines(&daemon), Instant::now());
    let (mut degraded, mut round) = (0, 0);
    let mut confirmed = Vec::new();
    while begun.elapsed() < Duration::from_secs(10) {
        disk.fill([0, 1_100_000, 1_600_000][round % 3]);
        round += 1;
        for _ in 0..20 {
            let key = format!("k-{}", confirmed.len());
            let answer = client.confirm("open", &key);
            degraded += u32::from(answer.is_degraded());
            confirmed.push(key);
            for namespace in ["open", "closed"] {
                let answer = client.claim(namespace, "done-1", &token(3), "1h");
                assert_eq!(answer.outcome(), "done", "{}", answer.text);
            }
            until_full(&mut client, round);
        }
    }
    assert!(degraded > 0, "the disk was full now and then");
    // 100 lines a minute.
    let grown = lines(&daemon) - before;
    assert!(grown < 17, "{grown} lines in ten seconds: {:#?}", daemon.log.lines());
    disk.free();
    eventually(BACK, "ready again", || is_ready(&mut client));
    daemon.kill();
    let daemon = house.start();
    let mut client = daemon.client();
    for key in confirmed {
        assert_eq!(client.claim("open", &key, &token(3), "1h").outcome(), "done", "{key}");
    }
    before_stays(&mut client, false);
}

/// Writes some.
fn until_full(client: &mut Client, round: usize) {
    let commands: Vec<_> = (0..50)
        .map(|number| json!({"command": "claim", "namespace": "open", "key": format!("eat-{round}-{number}"), "processing_ttl": "1h", "owner": "o".repeat(100)}))
        .collect();
    client.batch(&commands);
}

#[test]
fn a_daemon_killed_while_the_disk_is_full_starts_or_says_what_to_do() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let house = House::on(disk.path());
    let daemon = house.start();
    prepare(&mut daemon.client());
    disk.fill(0);
    until_degraded(&mut daemon.client());
    daemon.kill();
    for _ in 0..3 {
        match house.try_start() {
            Ok(daemon) => {
                let mut client = daemon.client();
                let degraded = !is_ready(&mut client);
                before_stays(&mut client, degraded);
                daemon.kill();
            }
            Err(refused) => {
                println!("refused: {}", refused.text());
                assert_eq!(refused.status.code(), Some(1));
                assert!(refused.text().contains("disk is full: free some space"), "{}", refused.text());
            }
        }
    }
    disk.free();
    before_stays(&mut house.start().client(), false);
}

#[test]
fn a_new_store_and_an_old_one_start_in_24_mebibytes() {
    let Some(disk) = SmallDisk::mount(24) else { return };
    let house = House::on(disk.path());
    let daemon = house.start();
    prepare(&mut daemon.client());
    daemon.kill();
    let daemon = house.start();
    before_stays(&mut daemon.client(), false);
    let reserve = std::fs::metadata(house.store.join("reserve"));
    assert!(reserve.map_or(0, |file| file.len()) <= 4 << 20);
    daemon.stop();
    before_stays(&mut house.start().client(), false);
}

/// A first start on a full disk leaves nothing that is later taken for a store.
#[test]
fn a_first_start_on_a_full_disk_is_refused_and_works_when_there_is_room() {
    let Some(disk) = SmallDisk::mount(24) else { return };
    let house = House::on(disk.path());
    for leave in [0, 100_000, 600_000, 1_100_000, 2_000_000] {
        disk.fill(leave);
        match house.try_start() {
            Ok(daemon) => daemon.kill(),
            Err(refused) => {
                println!("{leave}: {}", refused.text());
                assert_eq!(refused.status.code(), Some(1));
                assert!(refused.text().contains("No space left"), "{}", refused.text());
            }
        }
        disk.free();
    }
    prepare(&mut house.start().client());
}

#[test]
fn a_start_on_a_read_only_disk_is_refused_with_the_cause() {
    let Some(disk) = SmallDisk::mount(48) else { return };
    let house = House::on(disk.path());
    let daemon = house.start();
    prepare(&mut daemon.client());
    daemon.stop();
    assert!(disk.remount("ro"));
    let refused = house.try_start().err().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.text().contains("Read-only file system"), "{}", refused.text());
    assert!(disk.remount("rw"));
    before_stays(&mut house.start().client(), false);
}
