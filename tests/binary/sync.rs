//! What the kernel sees of a commit: the record is written, synced, and only then answered.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::client::token;
use crate::harness::{Daemon, House, eventually};
use crate::tools;

/// The system calls of a daemon, from now on.
pub(crate) struct Trace {
    strace: Child,
    output: std::path::PathBuf,
    /// Bytes of the output that belong to what came before.
    before: usize,
}

impl Trace {
    pub(crate) fn attach(house: &House, daemon: &Daemon) -> Self {
        let output = house.beside("trace");
        let mut strace = Command::new("strace")
            .args(["-f", "-y", "-s", "64"])
            .args(["-e", "trace=fsync,fdatasync,sync_file_range,write,sendto,writev,sendmsg,pwrite64"])
            .args(["-p", &daemon.child.id().to_string(), "-o"])
            .arg(&output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says so when it has asked all threads to stop, which some may do a system call later.
        let mut said = String::new();
        BufReader::new(strace.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert!(said.contains("attached"), "{said}");
        Self { strace, output, before: 0 }
    }

    /// Asks something until its answer, which begins like this, is seen, so that every thread that answers is traced; what
    /// follows is kept.
    pub(crate) fn warm_up(&mut self, answer: &str, mut ask: impl FnMut()) {
        eventually(Duration::from_secs(20), "an answer is seen in the trace", || {
            ask();
            let text = fs::read_to_string(&self.output).unwrap();
            self.before = text.len();
            text.contains(answer)
        });
    }

    /// Lets go of the daemon; one line a call, in the order in which they began or, if they blocked, ended.
    pub(crate) fn end(mut self) -> Vec<String> {
        let pid = i32::try_from(self.strace.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.strace.wait().unwrap();
        joined(&fs::read_to_string(&self.output).unwrap()[self.before..])
    }
}

/// Puts the halves of interrupted lines together, at the place of the second one.
fn joined(text: &str) -> Vec<String> {
    let mut begun = std::collections::HashMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        // The first line may be the end of one.
        let Some((pid, call)) = line.trim_start().split_once(' ') else { continue };
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            // Process ids of different lengths are padded.
            begun.insert(pid.to_owned(), start.trim_start().to_owned());
        } else if let Some((_, end)) = call.split_once("resumed>") {
            lines.push(format!("{}{end}", begun.remove(pid).unwrap_or_default()));
        } else {
            lines.push(call.trim_start().to_owned());
        }
    }
    lines
}

pub(crate) fn is_write_of_record(line: &str) -> bool {
    line.starts_with("pwrite64(") && line.contains("/records/db>")
}

pub(crate) fn is_sync(line: &str) -> bool {
    (line.starts_with("fsync(") || line.starts_with("fdatasync("))
        && line.contains("/records/db>")
        && line.ends_with("= 0")
}

fn is_answer(line: &str) -> bool {
    is_sent(line, "HTTP/1.1 201")
}

/// Whether it sends an answer that begins like this.
pub(crate) fn is_sent(line: &str, answer: &str) -> bool {
    ["write(", "sendto(", "writev(", "sendmsg("].iter().any(|call| line.starts_with(call)) && line.contains(answer)
}

fn claim_traced(house: &House) -> Vec<String> {
    let daemon = house.start();
    let mut client = daemon.client();
    let mut trace = Trace::attach(house, &daemon);
    let mut asked = 0;
    trace.warm_up("HTTP/1.1 201", || {
        asked += 1;
        assert_eq!(client.claim("a", &format!("warm-{asked}"), &token(1), "1h").status, 201);
    });
    assert_eq!(client.claim("a", "traced", &token(1), "1h").status, 201);
    // Past the second after which the interval mode syncs.
    std::thread::sleep(Duration::from_millis(2_200));
    trace.end()
}

fn place(lines: &[String], what: &str, is: impl Fn(&str) -> bool) -> usize {
    let found = lines.iter().position(|line| is(line));
    found.unwrap_or_else(|| panic!("no {what} in {lines:#?}"))
}

#[test]
fn a_claim_is_synced_before_it_is_answered() {
    if !tools::has("strace") {
        return;
    }
    let lines = claim_traced(&House::new());
    let written = place(&lines, "write of the record", is_write_of_record);
    let answered = place(&lines, "answer", is_answer);
    let synced = place(&lines, "sync", is_sync);
    assert!(written < synced && synced < answered, "{lines:#?}");
    let last_write = lines[..answered].iter().rposition(|line| is_write_of_record(line)).unwrap();
    let last_sync = lines[..answered].iter().rposition(|line| is_sync(line)).unwrap();
    assert!(last_write < last_sync, "nothing is written between the sync and the answer: {lines:#?}");
    let ranges: Vec<_> = lines.iter().filter(|line| line.starts_with("sync_file_range(")).collect();
    assert!(!ranges.is_empty(), "sled tries it each time: {lines:#?}");
    assert!(ranges.iter().all(|line| line.contains("ENOSYS")), "the filter is in force: {ranges:#?}");
}

#[test]
fn with_sync_by_interval_the_answer_comes_first_and_the_sync_within_a_second_or_two() {
    if !tools::has("strace") {
        return;
    }
    let mut house = House::new();
    house.settings = "sync = \"interval\"".into();
    let lines = claim_traced(&house);
    let answered = place(&lines, "answer", is_answer);
    assert!(lines[answered..].iter().any(|line| is_sync(line)), "it is synced after the answer: {lines:#?}");
    let written = lines[..answered].iter().rposition(|line| is_write_of_record(line));
    let synced = lines[..answered].iter().rposition(|line| is_sync(line));
    assert!(written.is_none() || written > synced, "no sync of it before the answer: {lines:#?}");
}
