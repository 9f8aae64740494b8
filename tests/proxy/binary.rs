//! The program itself, where a process matters: it is killed in the middle of an attempt, told to stop, and read for
//! what it writes to its log.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::harness::{Answer, App, Event, Reply, SECRET, Sender, now, route};

/// A config in a directory of its own.
struct Place {
    config: PathBuf,
    _dir: TempDir,
}

impl Place {
    /// With one GitHub route, its secret in a file.
    fn new(app: &App, secret: &str, more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // The newline is everybody's habit.
        std::fs::write(path("secret"), format!("{secret}\n")).unwrap();
        let inline = format!("inline = \"{SECRET}\"");
        let file = format!("file = \"{}\"", path("secret").display());
        let text = format!(
            "[api]\nlisten = \"127.0.0.1:0\"\nsocket = \"\"\n[hooks]\nlisten = \"127.0.0.1:0\"\n[store]\ndir = \"{}\"\n{}",
            path("store").display(),
            route("github", app, more).replace(&inline, &file)
        );
        std::fs::write(path("onced.toml"), text).unwrap();
        Self { config: path("onced.toml"), _dir: dir }
    }
}

/// `onced serve`, ready.
struct Process {
    child: Child,
    api: String,
    hooks: String,
    log: Option<JoinHandle<String>>,
}

impl Process {
    fn start(config: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_onced"))
            .args(["serve", "--config"])
            .arg(config)
            .env_clear()
            .env("ONCED_LOG", "debug")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut log, mut api, mut hooks) = (String::new(), None, None);
        while !log.contains("\"ready\"") {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended early: {log}");
            log.push_str(&line);
            let said: serde_json::Value = serde_json::from_str(&line).unwrap();
            match (said["listener"].as_str(), said["address"].as_str()) {
                (Some("api"), Some(address)) => api = Some(address.to_owned()),
                (Some("hooks"), Some(address)) => hooks = Some(address.to_owned()),
                _ => {}
            }
        }
        let log = std::thread::spawn(move || {
            stderr.read_to_string(&mut log).unwrap();
            log
        });
        Self { child, api: api.unwrap(), hooks: hooks.unwrap(), log: Some(log) }
    }

    async fn sent(&self, event: &Event) -> Sender {
        let mut sender = Sender(TcpStream::connect(&self.hooks).await.unwrap());
        sender.send(event.bytes()).await;
        sender
    }

    async fn post(&self, event: &Event) -> Answer {
        self.sent(event).await.answer().await
    }

    /// What the API has at this path.
    async fn get(&self, path: &str) -> String {
        let mut api = Sender(TcpStream::connect(&self.api).await.unwrap());
        api.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        String::from_utf8(api.answer().await.body).unwrap()
    }

    /// How many commits were synced so far.
    async fn commits(&self) -> String {
        let metrics = self.get("/metrics").await;
        metrics.lines().find(|line| line.starts_with("onced_commit_seconds_count")).unwrap().to_owned()
    }

    /// Ends it as a crash of the machine's making would.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and gives its log.
    fn stop(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log.take().unwrap().join().unwrap()
    }
}

/// A test that fails leaves no daemon behind.
impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// The marker was written before the work and outlived the crash: every retry was swallowed as a duplicate.
#[tokio::test]
async fn an_attempt_that_dies_with_the_process_gives_its_event_back() {
    let mut app = App::start().await;
    let place = Place::new(&app, SECRET, "max_duration = \"1s\"\nprocessing_ttl = \"1s\"\n");
    let event = Event::github("e-1", "{}");
    let process = Process::start(&place.config);
    let handled = Event::github("e-0", "{}");
    let mut sender = process.sent(&handled).await;
    app.answers(Reply::ok()).await;
    sender.answer().await.assert(200, "forwarded");
    let synced = process.commits().await;
    let _sender = process.sent(&event).await;
    let hit = app.hit().await;
    // The app may have the event before its claim is on the disk, which takes no further word from anybody.
    while process.commits().await == synced {}
    process.kill();
    drop(hit);

    let process = Process::start(&place.config);
    process.post(&handled).await.assert(200, "duplicate");
    // It is held at most until its claim expires, and a repeat waits for that.
    let mut sender = process.sent(&event).await;
    let seen = app.answers(Reply::ok()).await;
    assert_eq!((seen.attempt(), seen.body.as_slice()), ("2", &b"{}"[..]));
    sender.answer().await.assert(200, "forwarded");
    process.post(&event).await.assert(200, "duplicate");
    app.assert_quiet();
    process.stop();
}

/// During a rotation an operator wants to know when the old secret is no longer used.
#[tokio::test]
async fn the_log_names_the_secret_that_matched() {
    let mut app = App::start().await;
    let place = Place::new(&app, "old-secret", "");
    let text = std::fs::read_to_string(&place.config).unwrap();
    let old = text.lines().find_map(|line| line.strip_prefix("secrets = [{ file = \"")?.strip_suffix("\" }]")).unwrap();
    let new = format!("{old}.new");
    std::fs::write(&new, "new-secret").unwrap();
    let both = format!("secrets = [{{ file = \"{new}\" }}, {{ file = \"{old}\" }}]");
    std::fs::write(&place.config, text.replace(&format!("secrets = [{{ file = \"{old}\" }}]"), &both)).unwrap();
    let process = Process::start(&place.config);
    let signed = |secret: &str| {
        let digest = hex::encode(crate::harness::hmac(secret.as_bytes(), &[b"{}"]));
        Event::github(secret, "{}").altered("X-Hub-Signature-256", format!("sha256={digest}"))
    };
    for secret in ["old-secret", "new-secret"] {
        let mut sender = process.sent(&signed(secret)).await;
        app.answers(Reply::ok()).await;
        sender.answer().await.assert(200, "forwarded");
    }
    process.post(&signed("third-secret")).await.assert(401, "unverified");
    let log = process.stop();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let matched: Vec<_> = lines.filter_map(|line| Some(line.get("secret")?.as_str()?.to_owned())).collect();
    assert_eq!(matched, [format!("file {old}"), format!("file {new}")]);
}

/// Trouble with signatures put secrets, digests and customers' data into shared logs.
#[tokio::test]
async fn nothing_of_a_request_a_secret_or_an_answer_is_in_the_log_or_in_the_metrics() {
    const MARK: &str = "XMARKX";
    let mut app = App::start().await;
    let secret = format!("{MARK}-secret");
    let place = Place::new(&app, &secret, "max_body = \"1KiB\"\nmax_duration = \"300ms\"\n");
    let process = Process::start(&place.config);
    let event = |id: &str| {
        let body = format!("{{\"{MARK}\":\"{MARK}\"}}");
        let digest = hex::encode(crate::harness::hmac(secret.as_bytes(), &[body.as_bytes()]));
        Event::github(&format!("{MARK}-{id}"), body)
            .altered("X-Hub-Signature-256", format!("sha256={digest}"))
            .with("Authorization", format!("Bearer {MARK}"))
            .with("Cookie", format!("session={MARK}"))
            .with(&format!("X-{MARK}"), MARK)
            .at(&format!("/hooks/github?token={MARK}"))
    };
    let body = format!("HTTP/1.1 200 OK\r\nX: {MARK}\r\nContent-Length: 99\r\n\r\n{MARK}");
    let redirect = format!("HTTP/1.1 302 Found\r\nLocation: /{MARK}\r\nContent-Length: 0\r\n\r\n");
    let failure = format!("HTTP/1.1 500 {MARK}\r\nContent-Length: 6\r\n\r\n{MARK}");
    for (id, reply, status) in [
        ("good", Some(Reply::ok()), 200),
        ("failed", Some(Reply::keep(&failure)), 500),
        ("redirected", Some(Reply::keep(&redirect)), 502),
        ("truncated", Some(Reply::Close(body.into_bytes())), 502),
        ("malformed", Some(Reply::Close(MARK.into())), 502),
        ("reset", Some(Reply::Reset(Vec::new())), 502),
        ("late", None, 504),
    ] {
        let mut sender = process.sent(&event(id)).await;
        let hit = app.hit().await;
        let answer = match reply {
            Some(reply) => {
                hit.answer(reply);
                sender.answer().await
            }
            None => sender.answer().await,
        };
        assert_eq!(answer.status(), status, "{id}");
        assert!(status == 500 || !String::from_utf8_lossy(&answer.body).contains(MARK), "{id}");
    }
    process.post(&event("good")).await.assert(200, "duplicate");
    let refused = [
        (event("a").altered("X-Hub-Signature-256", format!("sha256={MARK}")), 401),
        (event("b").with("X-GitHub-Delivery", MARK), 401),
        (event("c").at(&format!("/{MARK}?{MARK}")), 404),
        (Event::github(MARK, MARK.repeat(1_000)), 413),
        (event("d").with("Host", MARK), 400),
    ];
    for (refused, status) in refused {
        let answer = process.post(&refused).await;
        assert_eq!(answer.status(), status);
        assert!(!String::from_utf8_lossy(&answer.body).contains(MARK), "{status}");
    }
    let whole = event("e").bytes();
    let mut sender = Sender(TcpStream::connect(&process.hooks).await.unwrap());
    sender.send(&whole[..whole.len() - 5]).await;
    sender.0.shutdown().await.unwrap();
    assert_eq!(sender.answer().await.status(), 400);

    let mut reader = Sender(TcpStream::connect(&process.api).await.unwrap());
    reader.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    let metrics = String::from_utf8(reader.answer().await.body).unwrap();
    assert!(metrics.contains("onced_hooks_total{route=\"github\",outcome=\"duplicate\"} 1"), "{metrics}");
    let log = process.stop();
    for said in ["verified", "refused", "a hand-over came to no whole answer", "a body could not be read", "stopped"] {
        assert!(log.contains(&format!("\"message\":\"{said}\"")), "{said} in {log}");
    }
    let short = whole.len() - whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() - 4;
    assert!(log.contains(&format!("\"expected\":{short},\"got\":{}", short - 5)), "{log}");
    for text in [log, metrics] {
        let line = text.lines().find(|line| line.contains(MARK));
        assert_eq!(line, None);
    }
}

/// A machine whose clock had stood still refused every event for days, and nothing pointed at the clock.
#[tokio::test]
async fn ten_genuine_events_that_are_all_off_by_one_length_point_at_the_clock() {
    let app = App::start().await;
    let place = Place::new(&app, SECRET, "");
    let text = std::fs::read_to_string(&place.config).unwrap().replace("github", "stripe");
    std::fs::write(&place.config, text).unwrap();
    let process = Process::start(&place.config);
    let ahead = |number: i64| Event::stripe(now() + 600, format!("{{\"id\":\"evt_{number}\"}}"));
    for number in 0..10 {
        assert!(!process.get("/readyz").await.contains("warnings"));
        process.post(&ahead(number)).await.assert(503, "unverified");
    }
    let ready = process.get("/readyz").await;
    let warned = ready.contains("\"ready\":true") && ready.contains("clock: timestamps of stripe are off by -");
    assert!(warned, "{ready}");
    assert!(process.get("/metrics").await.contains("onced_sender_clock_skew_seconds{provider=\"stripe\"} -"));
    // One that is in time ends it; what it comes to at the app is another matter.
    drop(process.sent(&Event::stripe(now(), "{\"id\":\"evt_now\"}")).await);
    while process.get("/readyz").await.contains("warnings") {}
    process.kill();
}
