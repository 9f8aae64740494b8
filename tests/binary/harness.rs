//! A daemon in a process of its own, over a directory that outlives it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::Client;

/// How long a start or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A config and a store directory.
pub(crate) struct House {
    temporary: tempfile::TempDir,
    pub(crate) store: PathBuf,
    /// The socket of the control API; none where empty.
    pub(crate) socket: String,
    /// Lines of `[store]` beside `dir`.
    pub(crate) settings: String,
    /// Further tables.
    pub(crate) tables: String,
    /// Environment of the daemon.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// A program in front of the binary, with its arguments.
    pub(crate) wrapper: Vec<String>,
}

impl House {
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let store = temporary.path().join("store");
        Self::at(temporary, store)
    }

    /// With the store on a disk of its own.
    pub(crate) fn on(disk: &Path) -> Self {
        Self::at(tempfile::tempdir().unwrap(), disk.join("store"))
    }

    fn at(temporary: tempfile::TempDir, store: PathBuf) -> Self {
        Self {
            temporary,
            store,
            socket: String::new(),
            settings: String::new(),
            tables: String::new(),
            environment: Vec::new(),
            wrapper: Vec::new(),
        }
    }

    /// A place beside the store that goes with the house.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        let path = self.beside("onced.toml");
        let text = format!(
            "[api]\nlisten = \"127.0.0.1:0\"\nsocket = \"{}\"\nloopback = \"operate\"\n\
             [store]\ndir = \"{}\"\n{}\n[shutdown]\ndrain = \"3s\"\n\
             [namespace.closed]\non_store_failure = \"closed\"\n{}",
            self.socket,
            self.store.display(),
            self.settings,
            self.tables,
        );
        fs::write(&path, text).unwrap();
        path
    }

    /// What another command of the program says to this daemon: its exit code, stdout and stderr.
    pub(crate) fn ask(&self, daemon: &Daemon, words: &[&str]) -> (Option<i32>, String, String) {
        let api = format!("http://{}", daemon.address);
        let output = Command::new(env!("CARGO_BIN_EXE_onced")).args(words).args(["--api", &api]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn command(&self) -> Command {
        let binary = env!("CARGO_BIN_EXE_onced").to_owned();
        let mut words = self.wrapper.iter().cloned().chain([binary]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg("serve").arg("--config").arg(self.config());
        command.envs(self.environment.iter().cloned());
        command
    }

    pub(crate) fn start(&self) -> Daemon {
        self.try_start().unwrap_or_else(|refused| panic!("the daemon did not start: {:#?}", refused.log))
    }

    /// Starts it, or says how it refused.
    pub(crate) fn try_start(&self) -> Result<Daemon, Refused> {
        let mut child = self.command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::default();
        let (lines, to) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        let reader = thread::spawn(move || lines.lines().map_while(Result::ok).for_each(|line| to.add(line)));
        let mut daemon = Daemon { child, address: String::new(), hooks: String::new(), log };
        let deadline = Instant::now() + PATIENCE;
        while !daemon.log.wait_for("ready", Duration::from_millis(20)) {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                reader.join().unwrap();
                let log = daemon.log.lines();
                return Err(Refused { status, log });
            }
            assert!(Instant::now() < deadline, "neither ready nor ended: {:#?}", daemon.log.lines());
        }
        let listens = |listener: &str| {
            let of_it = |entry: &Value| entry["message"] == "listening" && entry["listener"] == listener;
            let entry = entries(&daemon.log.lines()).find(of_it)?;
            entry["address"].as_str().map(ToOwned::to_owned)
        };
        (daemon.address, daemon.hooks) = (listens("api").unwrap(), listens("hooks").unwrap_or_default());
        Ok(daemon)
    }
}

/// A daemon that did not start.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: ExitStatus,
    pub(crate) log: Vec<String>,
}

impl Refused {
    /// The refusal as a person reads it.
    pub(crate) fn text(&self) -> String {
        self.log.join("\n")
    }
}

/// A running daemon, killed when dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    /// The control API's.
    pub(crate) address: String,
    /// The senders'; empty without a route.
    pub(crate) hooks: String,
    pub(crate) log: Log,
}

impl Daemon {
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.address).unwrap()
    }

    /// `SIGKILL`, and waits for the end.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self, patience: Duration) -> ExitStatus {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end: {:#?}", self.log.lines());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// `SIGTERM`, and waits for a good end.
    pub(crate) fn stop(mut self) {
        self.terminate();
        let status = self.wait(PATIENCE);
        assert!(status.success(), "{status}: {:#?}", self.log.lines());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What a daemon has logged so far.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<(Mutex<Vec<String>>, Condvar)>);

impl Log {
    fn add(&self, line: String) {
        let (lines, grown) = &*self.0;
        lines.lock().unwrap().push(line);
        grown.notify_all();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }

    /// The first line with this message, as JSON.
    pub(crate) fn entry(&self, message: &str) -> Option<Value> {
        entry(&self.lines(), message)
    }

    /// Waits for a line with this message.
    pub(crate) fn wait_for(&self, message: &str, patience: Duration) -> bool {
        let (lines, grown) = &*self.0;
        let waiting = |lines: &mut Vec<String>| entry(lines, message).is_none();
        let (lines, _) = grown.wait_timeout_while(lines.lock().unwrap(), patience, waiting).unwrap();
        entry(&lines, message).is_some()
    }
}

fn entry(lines: &[String], message: &str) -> Option<Value> {
    entries(lines).find(|entry| entry["message"].as_str().is_some_and(|found| found.contains(message)))
}

fn entries(lines: &[String]) -> impl Iterator<Item = Value> {
    lines.iter().filter_map(|line| serde_json::from_str(line).ok())
}

/// Tries again and again until it holds; how long that took.
pub(crate) fn eventually(patience: Duration, what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < patience, "not within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}
