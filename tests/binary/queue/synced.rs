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

/// Where the first line from `from` on is that is such.
fn place(lines: &[String], from: usize, what: &str, is: impl Fn(&str) -> bool) -> usize {
    let found = lines[from..].iter().position(|line| is(line));
    from + found.unwrap_or_else(|| panic!("no {what} after {from} in {lines:#?}"))
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
            let of_it = |line: &str| line.contains(&format!("/store/{directory}/"));
            let is_write = |line: &str| ["write(", "writev("].iter().any(|call| line.starts_with(call)) && of_it(line);
            let is_own_sync =
                |line: &str| ["fsync(", "fdatasync("].iter().any(|call| line.starts_with(call)) && of_it(line);
            let written = lines.iter().rposition(|line| is_write(line));
            let written = written.unwrap_or_else(|| panic!("{settings} {bytes}: not written in {lines:#?}"));
            let synced = place(&lines, written, "sync of what was sent", is_own_sync);
            if directory == "events" {
                let names = |line: &str| line.starts_with("fsync(") && line.contains("/store/events>");
                place(&lines, synced, "sync of its name", names);
            }
            // A hand-over that begins is written down as well, so there may be more after these.
            let recorded = place(&lines, synced, "record", is_write_of_record);
            place(&lines, recorded, "sync of the record", is_sync);
        }
    }
}
