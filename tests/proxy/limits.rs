//! How much senders may take: of one body, of the memory for all of them, of the descriptors.

use std::process::Command;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::binary::{Place, Process};
use crate::harness::{App, Event, Front, Reply, SECRET, Sender, route, soon};

const MIB: usize = 1 << 20;
/// The largest body that GitHub sends, and takes of the budget when it is whole.
const LARGEST: usize = 25 * MIB;

/// Bodies of this many bytes at once, each of which reaches the app as it was sent.
async fn pass(front: &Front, app: &mut App, lengths: &[usize]) {
    let mut senders = Vec::new();
    for (number, length) in lengths.iter().enumerate() {
        let id = format!("{number} of {} with {length}", lengths.len());
        let bytes = Event::github(&id, vec![b'a'; *length]).bytes();
        let mut sender = front.sender().await;
        senders.push(tokio::spawn(async move {
            sender.send(bytes).await;
            sender.answer().await
        }));
    }
    let mut arrived = Vec::new();
    for _ in lengths {
        let seen = app.answers(Reply::ok()).await;
        assert!(seen.body.iter().all(|byte| *byte == b'a'));
        arrived.push(seen.body.len());
    }
    for sender in senders {
        soon("an answer", sender).await.unwrap().assert(200, "forwarded");
    }
    arrived.sort_unstable();
    assert_eq!(arrived, lengths);
}

/// Big pushes failed because a framework's default was smaller than what the provider sends.
#[tokio::test]
async fn the_largest_bodies_that_a_provider_sends_pass_five_at_once() {
    let mut app = App::start().await;
    let front = Front::github(&app, "answer_within = \"30s\"\n").await;
    for length in [101 * 1024, MIB + 1, LARGEST] {
        pass(&front, &mut app, &[length]).await;
    }
    pass(&front, &mut app, &[LARGEST; 5]).await;

    let over = Event::github("over", vec![b'a'; LARGEST + 1]);
    let mut sender = front.sender().await;
    sender.send(over.head(&format!("Content-Length: {}\r\n", LARGEST + 1))).await;
    sender.answer().await.assert(413, "failed");
    let mut sender = front.sender().await;
    // It is refused in the middle.
    let _ = sender.0.write_all(&over.chunked(&[MIB])).await;
    sender.answer().await.assert(413, "failed");
    app.assert_quiet();
}

/// The largest that the process has been, in MiB.
fn peak_mib(process: &Process) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() / 1024
}

/// Sixty connections with 24 MiB each took 1.8 GB, before anybody had shown who they were.
#[tokio::test]
async fn a_hundred_large_bodies_of_strangers_take_a_bounded_memory_and_keep_nobody_out() {
    let mut app = App::start().await;
    let place = Place::with_route(SECRET, &route("github", &app, ""));
    let process = Process::start(&place.config);
    let (tell, mut told) = mpsc::unbounded_channel();
    let head = Event::bare("/hooks/github", "").head(&format!("Content-Length: {}\r\n", 24 * MIB));
    for _ in 0..100 {
        let (address, head, tell) = (process.hooks.clone(), head.clone(), tell.clone());
        tokio::spawn(async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(&head).await.unwrap();
            let chunk = vec![b'x'; MIB];
            // All but the last: nothing comes to be verified.
            for _ in 1..24 {
                if socket.write_all(&chunk).await.is_err() {
                    break;
                }
            }
            let mut answer = Vec::new();
            let _ = socket.read_to_end(&mut answer).await; // a reset, where it is refused in the middle of a write
            let _ = tell.send(String::from_utf8_lossy(&answer).into_owned());
        });
    }
    drop(tell);
    // Most are refused soon, since there is no room for them; while they are, small events pass, and so does a large one.
    let mut refused = 0;
    for number in 0..85 {
        let answer = soon("a refusal", told.recv()).await.unwrap();
        if !answer.is_empty() {
            assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\r\nretry-after: "), "{answer}");
            refused += 1;
        }
        if number % 10 == 0 {
            let mut sender = process.sent(&Event::github(&number.to_string(), "{}")).await;
            app.answers(Reply::ok()).await;
            sender.answer().await.assert(200, "forwarded");
        }
    }
    assert!(refused > 0, "nobody was told why");
    let event = Event::github("large", vec![b'a'; 20 * MIB]);
    let sending = process.sent(&event);
    let (mut sender, seen) = tokio::join!(sending, app.answers(Reply::ok()));
    assert_eq!(seen.body.len(), 20 * MIB);
    sender.answer().await.assert(200, "forwarded");
    let peak = peak_mib(&process);
    println!("at most {peak} MiB");
    assert!((200..600).contains(&peak), "{peak} MiB");
}

/// Idle connections took the last descriptor, and nobody's event could be handed over.
#[tokio::test]
async fn connections_that_say_nothing_do_not_take_the_descriptors_that_events_need() {
    let mut app = App::start().await;
    let place = Place::with_route(SECRET, &route("github", &app, ""));
    let mut command = Command::new("prlimit");
    command.args(["--nofile=120:120", env!("CARGO_BIN_EXE_onced")]).env_clear().env("PATH", "/usr/bin:/bin");
    if !crate::tools::has("prlimit") {
        return;
    }
    let process = Process::start_in(&place.config, &mut command);
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(&process.hooks).await.unwrap());
    }
    for number in 0..20 {
        let mut sender = process.sent(&Event::github(&number.to_string(), "{}")).await;
        let seen = app.answers(Reply::ok()).await;
        assert_eq!(seen.attempt(), "1");
        sender.answer().await.assert(200, "forwarded");
    }
    drop(silent);
    process.stop();
}

/// A stranger that sends nonsense filled the log.
#[tokio::test]
async fn what_strangers_send_is_told_some_times_a_minute_and_counted_all_the_time() {
    let mut app = App::start().await;
    let place = Place::with_route(SECRET, &route("github", &app, ""));
    let process = Process::start(&place.config);
    for _ in 0..100 {
        process.post(&Event::bare("/hooks/github", "{}")).await.assert(401, "unverified");
        let mut sender = Sender(TcpStream::connect(&process.hooks).await.unwrap());
        sender.send(Event::bare("/hooks/github", "").head("Transfer-Encoding: chunked\r\n")).await;
        sender.send("nonsense\r\n").await;
        sender.answer().await.assert(400, "failed");
    }
    app.assert_quiet();
    let metrics = process.text("/metrics").await;
    for line in ["outcome=\"unverified\"} 100", "outcome=\"failed\"} 100"] {
        assert!(metrics.contains(&format!("onced_hooks_total{{route=\"github\",{line}")), "{metrics}");
    }
    let log = process.stop();
    for said in ["refused", "a body could not be read"] {
        let lines = log.matches(&format!("\"message\":\"{said}\"")).count();
        // The minute may turn in between.
        assert!((1..=20).contains(&lines), "{said}: {lines} lines");
    }
}

/// A stop waited for heads that nobody would ever end.
#[tokio::test]
async fn a_stop_is_not_held_up_by_connections_that_are_idle_or_have_sent_half_a_head() {
    let mut app = App::start().await;
    let front = Front::github(&app, "").await;
    let mut idle = front.sent(&Event::github("e-1", "{}")).await;
    app.answers(Reply::ok()).await;
    idle.answer().await.assert(200, "forwarded");
    let (silent, mut fresh, mut kept) = (front.sender().await, front.sender().await, idle);
    for sender in [&mut fresh, &mut kept] {
        sender.send("POST /hooks/github HT").await;
    }
    // That all of it has been read is shown by what comes after it.
    let mut last = front.sent(&Event::github("e-2", "{}")).await;
    app.answers(Reply::ok()).await;
    last.answer().await.assert(200, "forwarded");
    let began = std::time::Instant::now();
    let _front = front.restarted(async {}).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    drop((silent, fresh, kept));
}
