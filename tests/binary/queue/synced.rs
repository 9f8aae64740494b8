//! What the kernel sees of an acceptance: what was sent and the record of it are synced, and only then is it acknowledged.

use super::app::App;
use super::event::Event;
use super::place::{accepted, queueing};
use crate::sync::{Trace, is_sent, is_sync, is_write_of_record};
use crate::tools;

/// The calls of one acceptance, up to its acknowledgement.
fn calls(settings: &str, bytes: usize) -> Vec<String> {
    // Nobody is there: the breaker is open by then, and nothing but the acceptance is written.
    let app = App::new();
    let mut house = queueing(&app, "[route.delivery]\nbreaker_failures = 1\n");
    house.settings = settings.to_owned();
    let daemon = house.start();
    let mut sender = daemon.sender();
    let mut trace = Trace::attach(&house, &daemon);
    let mut sent = 0;
    trace.warm_up("HTTP/1.1 202", || {
        sent += 1;
        accepted(&Event::new(format!("warm-{sent}"), 2_000).send(&mut sender, "github").unwrap());
    });
    accepted(&Event::new("traced", bytes).send(&mut sender, "github").unwrap());
    // Once this is answered, the answer before it is in the trace as a whole.
    assert_eq!(sender.send("GET", "/hooks/github", "").unwrap().status, 405);
    let mut lines = trace.end();
    let is_acknowledgement = |line: &String| is_sent(line, "HTTP/1.1 202");
    let answered = lines.iter().rposition(is_acknowledgement);
    lines.truncate(answered.unwrap_or_else(|| panic!("no acknowledgement in {lines:#?}")));
    // What is left of the warm-up's.
    let before = lines.iter().rposition(is_acknowledgement).map_or(0, |place| place + 1);
    lines.split_off(before)
}

/// The places of the last write to, and the last sync of, what lies in this directory of the store.
fn last(lines: &[String], directory: &str) -> (usize, usize) {
    let of_it = |line: &&String| line.contains(&format!("/store/{directory}/"));
    let last = |what: &str, calls: &[&str]| {
        let is = |line: &String| calls.iter().any(|call| line.starts_with(call)) && of_it(&line);
        lines.iter().rposition(is).unwrap_or_else(|| panic!("no {what} of {directory} in {lines:#?}"))
    };
    (last("write", &["write(", "pwrite64(", "writev("]), last("sync", &["fsync(", "fdatasync("]))
}

/// `sync = "interval"` lets claims wait for their sync; an event that was acknowledged has no second chance.
#[test]
fn an_event_and_its_record_are_synced_before_it_is_acknowledged_whatever_the_setting() {
    if !tools::has("strace") {
        return;
    }
    for settings in ["", "sync = \"interval\""] {
        for (bytes, directory) in [(0, "contents"), (2_000, "contents"), (300_000, "events")] {
            let lines = calls(settings, bytes);
            let (written, synced) = last(&lines, directory);
            let recorded = lines.iter().rposition(|line| is_write_of_record(line));
            let recorded = recorded.unwrap_or_else(|| panic!("no record in {lines:#?}"));
            let kept = lines.iter().rposition(|line| is_sync(line));
            let kept = kept.unwrap_or_else(|| panic!("no sync of the record in {lines:#?}"));
            assert!(written < synced && synced < kept, "{settings} {bytes}: {lines:#?}");
            assert!(synced < recorded && recorded < kept, "{settings} {bytes}: {lines:#?}");
            if directory == "events" {
                let named = |line: &String| line.starts_with("fsync(") && line.contains("/store/events>");
                assert!(lines[..recorded].iter().any(named), "the name is synced too: {lines:#?}");
            }
        }
    }
}
