//! A disk whose writes or syncs fail, once or for good, or never come back.
//!
//! A library in front of the C library does it ([`fault.c`](fault.c)), at a word in a control file.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, token};
use crate::full_disk::{BACK, afterwards, before_stays, during, is_ready, prepare, until_degraded};
use crate::harness::{House, eventually};
use crate::sync::{Trace, is_sync, is_write_of_record};
use crate::tools;

pub(crate) const EIO: u32 = 5;
pub(crate) const EROFS: u32 = 30;
const DEADLINE: Duration = Duration::from_secs(1);

/// The library, built once.
fn library() -> Option<&'static PathBuf> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        if !tools::has("cc") {
            return None;
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/binary/fault.c");
        let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fault-{}.so", std::process::id()));
        let arguments = ["-shared", "-fPIC", "-O1", "-o", library.to_str().unwrap(), source, "-ldl"];
        assert!(tools::run("cc", &arguments), "the library can be built");
        Some(library)
    };
    LIBRARY.get_or_init(build).as_ref()
}

/// A house whose disk can be broken.
pub(crate) struct Broken {
    pub(crate) house: House,
    control: PathBuf,
}

impl Broken {
    fn new() -> Option<Self> {
        Self::in_house(House::new())
    }

    /// Takes over a house; its settings become those of this kind of disk.
    pub(crate) fn in_house(mut house: House) -> Option<Self> {
        let library = library()?;
        let control = house.beside("fault");
        house.settings += &format!("\ncommit_deadline = \"{}s\"", DEADLINE.as_secs());
        house.environment = vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("ONCED_FAULT", control.display().to_string()),
            ("ONCED_FAULT_DIR", house.store.display().to_string()),
        ];
        Some(Self { house, control })
    }

    pub(crate) fn fault(&self, text: &str) {
        // Renamed into place: half a word must not be read.
        let beside = self.house.beside("fault.new");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, &self.control).unwrap();
    }

    pub(crate) fn heal(&self) {
        fs::remove_file(&self.control).unwrap();
    }
}

/// What some claims were answered.
#[derive(Debug, Default)]
struct Told {
    plain: Vec<String>,
    degraded: Vec<String>,
}

/// Confirms from several connections; keys that were plainly or only provisionally confirmed.
fn confirm_many(address: &str, name: &str, each: usize) -> Told {
    let work = |thread: usize| {
        let mut client = Client::connect(address).unwrap();
        let mut told = Told::default();
        for number in 0..each {
            let key = format!("{name}-{thread}-{number}");
            let answer = client.confirm("open", &key);
            assert_eq!(answer.status, 200, "{}", answer.text);
            if answer.is_degraded() {
                told.degraded.push(key);
            } else {
                told.plain.push(key);
            }
        }
        told
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().fold(Told::default(), |mut all, thread| {
            let told = thread.join().unwrap();
            all.plain.extend(told.plain);
            all.degraded.extend(told.degraded);
            all
        })
    })
}

fn all_done(client: &mut Client, keys: &[String]) {
    let claims: Vec<_> = keys.iter().map(|key| json!({"command": "claim", "namespace": "open", "key": key})).collect();
    for (key, answer) in keys.iter().zip(client.batch(&claims)) {
        assert_eq!(answer["outcome"], json!("done"), "{key}: {answer}");
    }
}

#[test]
fn one_failed_sync_or_write_is_told_and_mended_and_takes_nothing_along() {
    let Some(broken) = Broken::new() else { return };
    let daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    let mut acknowledged = confirm_many(&daemon.address, "before", 10).plain;
    for calls in ["sync", "write"] {
        for round in 0..3 {
            broken.fault(&format!("{calls} {EIO} once"));
            let told = confirm_many(&daemon.address, &format!("{calls}-{round}"), 25);
            // Out of the failed database: sled cannot read a leaf that it had yet to split when it failed.
            all_done(&mut client, &acknowledged);
            assert!(!broken.control.exists(), "the fault was met");
            assert!(!told.degraded.is_empty(), "{calls}: the answers of the failed commit say so");
            acknowledged.extend(told.plain);
            eventually(BACK, "ready again", || is_ready(&mut client));
            // Written back, and as good as the others now.
            acknowledged.extend(told.degraded);
        }
        all_done(&mut client, &acknowledged);
        before_stays(&mut client, false);
    }
    daemon.kill();
    let daemon = broken.house.start();
    all_done(&mut daemon.client(), &acknowledged);
    before_stays(&mut daemon.client(), false);
}

#[test]
fn what_was_plainly_answered_is_there_after_a_kill_in_the_middle_of_lasting_errors() {
    for calls in ["sync", "write"] {
        let Some(broken) = Broken::new() else { return };
        let mut acknowledged = Vec::new();
        for round in 0..3 {
            let daemon = broken.house.start();
            let mut client = daemon.client();
            if round == 0 {
                prepare(&mut client);
            }
            acknowledged.extend(confirm_many(&daemon.address, &format!("{round}-before"), 10).plain);
            broken.fault(&format!("{calls} {EIO}"));
            let told = confirm_many(&daemon.address, &format!("{round}-during"), 25);
            assert_eq!(told.plain.len(), 0, "{calls}: nothing is plainly answered");
            all_done(&mut client, &told.degraded);
            before_stays(&mut client, true);
            daemon.kill();
            broken.heal();
            let daemon = broken.house.start();
            all_done(&mut daemon.client(), &acknowledged);
            before_stays(&mut daemon.client(), false);
            daemon.stop();
        }
    }
}

#[test]
fn a_disk_that_turns_read_only_is_served_from_memory_and_service_comes_back_by_itself() {
    let Some(broken) = Broken::new() else { return };
    let daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    broken.fault(&format!("all {EROFS}"));
    until_degraded(&mut client);
    during(&mut client, &["read_only"]);
    thread::sleep(Duration::from_secs(3));
    before_stays(&mut client, true);
    broken.heal();
    eventually(BACK, "ready again", || is_ready(&mut client));
    afterwards(&mut client);
    daemon.kill();
    afterwards(&mut broken.house.start().client());
}

#[test]
fn a_start_whose_syncs_fail_is_refused_and_harmless() {
    let Some(broken) = Broken::new() else { return };
    let daemon = broken.house.start();
    prepare(&mut daemon.client());
    daemon.kill();
    for calls in ["sync", "write", "all"] {
        broken.fault(&format!("{calls} {EIO}"));
        match broken.house.try_start() {
            Ok(daemon) => {
                let mut client = daemon.client();
                assert!(!is_ready(&mut client), "{calls}: it says that it cannot sync");
                before_stays(&mut client, true);
                daemon.kill();
            }
            Err(refused) => {
                assert_eq!(refused.status.code(), Some(1), "{}", refused.text());
                assert!(refused.text().contains("os error 5"), "{calls}: {}", refused.text());
            }
        }
        broken.heal();
    }
    before_stays(&mut broken.house.start().client(), false);
}

/// After a failed sync the kernel takes the pages for written. The store synced the next commit well, counted on what lay
/// before it, and the loss of power would have shown that it never got to the disk.
#[test]
fn after_a_failed_sync_the_records_are_written_anew_before_they_are_trusted() {
    let Some(broken) = Broken::new().filter(|_| tools::has("strace")) else {
        return;
    };
    let daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    let trace = Trace::attach(&broken.house, &daemon);
    broken.fault(&format!("sync {EIO} once"));
    eventually(BACK, "a sync fails", || client.confirm("open", &format!("k-{}", fastrand::u64(..))).is_degraded());
    let bytes = fs::metadata(broken.house.store.join("records/db")).unwrap().len();
    eventually(BACK, "ready again", || is_ready(&mut client));
    let lines = trace.end();
    let last_sync = lines.iter().rposition(|line| is_sync(line)).unwrap();
    let written = |line: &String| line.rsplit("= ").next().unwrap().trim().parse::<u64>().unwrap();
    let rewritten: u64 = lines[..last_sync].iter().filter(|line| is_write_of_record(line)).map(written).sum();
    assert!(rewritten >= bytes, "{rewritten} of {bytes} bytes");
}

/// A commit that hangs: callers are answered by its deadline, what this process knows counts, and the process ends.
#[test]
fn a_commit_that_hangs_is_answered_by_its_deadline_and_ends_the_process() {
    let Some(broken) = Broken::new() else { return };
    let mut daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    broken.fault("sync hang");
    let begun = Instant::now();
    thread::scope(|scope| {
        let ask = |namespace: &'static str, key: &'static str| {
            let mut client = daemon.client();
            scope.spawn(move || {
                let answer = client.claim(namespace, key, &token(9), "1h");
                (answer, begun.elapsed())
            })
        };
        let fresh = ask("open", "fresh");
        // What asks for nothing new is answered plainly until a commit hangs.
        eventually(DEADLINE, "the commit hangs", || broken.control.with_added_extension("hanging").exists());
        let questions = [
            (fresh, 201),
            (ask("closed", "fresh"), 503),
            (ask("open", "done-1"), 200),
            (ask("closed", "done-1"), 200),
            (ask("open", "held"), 409),
        ];
        for (question, status) in questions {
            let (answer, took) = question.join().unwrap();
            assert_eq!(answer.status, status, "{}", answer.text);
            assert!(answer.is_degraded(), "{}", answer.text);
            assert_eq!(answer.text_of("reason"), "commit_deadline", "{}", answer.text);
            assert!(took < DEADLINE * 2, "{took:?}");
        }
    });
    // It hangs for a little less long than its callers have waited.
    eventually(DEADLINE / 2, "not ready", || {
        let ready = client.send("GET", "/readyz", "").unwrap();
        ready.status == 503 && ready.text.contains("commit_deadline")
    });
    let status = daemon.wait(DEADLINE * 2 + Duration::from_secs(3));
    assert_eq!(status.code(), Some(1));
    assert!(daemon.log.entry("a commit hangs").is_some());
    broken.heal();
    before_stays(&mut broken.house.start().client(), false);
}

/// The stop waited for the commit for ever, and the watch that ends a process over a hanging commit was stopped before.
#[test]
fn a_stop_does_not_wait_for_ever_for_a_commit_that_hangs() {
    let Some(broken) = Broken::new() else { return };
    let mut daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    broken.fault("sync hang");
    daemon.terminate();
    let status = daemon.wait(Duration::from_secs(3) + DEADLINE * 2 + Duration::from_secs(3));
    assert_eq!(status.code(), Some(1), "{:#?}", daemon.log.lines());
    broken.heal();
    before_stays(&mut broken.house.start().client(), false);
}

/// What was confirmed in the outage was lost at the stop, though the disk was back, and the exit said that all was well.
#[test]
fn a_stop_in_an_outage_writes_back_what_was_answered_if_the_disk_is_back() {
    let Some(broken) = Broken::new() else { return };
    let mut daemon = broken.house.start();
    let mut client = daemon.client();
    prepare(&mut client);
    broken.fault(&format!("all {EIO}"));
    until_degraded(&mut client);
    assert_eq!(client.confirm("open", "late").status, 200);
    broken.heal();
    daemon.terminate();
    let status = daemon.wait(Duration::from_secs(10));
    assert_eq!(status.code(), Some(0), "{:#?}", daemon.log.lines());
    let daemon = broken.house.start();
    let mut client = daemon.client();
    assert_eq!(client.claim("open", "late", &token(3), "1h").outcome(), "done");
    before_stays(&mut client, false);
}

#[test]
fn a_stop_while_the_disk_fails_ends_and_loses_nothing() {
    let Some(broken) = Broken::new() else { return };
    let mut daemon = broken.house.start();
    prepare(&mut daemon.client());
    broken.fault(&format!("all {EIO}"));
    daemon.terminate();
    let status = daemon.wait(Duration::from_secs(10));
    assert_eq!(status.code(), Some(1), "who started it is told: {:#?}", daemon.log.lines());
    assert!(daemon.log.wait_for("did not end in order", Duration::ZERO), "{:#?}", daemon.log.lines());
    broken.heal();
    before_stays(&mut broken.house.start().client(), false);
}
