//! The packages in a process of their own: what they signed, and the app that asks them.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::message::{Answer, Message};

/// The address that senders were given, which some of them sign.
pub(crate) const PUBLIC_URL: &str = "https://hooks.example.com";
const SCRIPTS: [&str; 3] = ["app.mjs", "senders.mjs", "verifiers.mjs"];
const PINS: [&str; 2] = ["package.json", "package-lock.json"];

/// A row: a webhook as its sender would send it, and what onced has to know of the sender.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) provider: String,
    pub(crate) secret: String,
    /// Where onced is to sign the copy.
    pub(crate) sign_secret: Option<String>,
    #[serde(flatten)]
    pub(crate) message: Message,
    /// The headers that the signature is in or covers.
    pub(crate) sealed_by_sender: Vec<String>,
    pub(crate) sealed_for_app: Vec<String>,
}

/// The process, up and listening.
pub(crate) struct Packages {
    pub(crate) events: Vec<Event>,
    pub(crate) app: String,
    /// It ends with its stdin, which ends with this process.
    _child: Child,
}

impl Packages {
    /// One process for all tests; none where there is no node.
    pub(crate) fn running() -> Option<&'static Self> {
        static RUNNING: OnceLock<Option<Packages>> = OnceLock::new();
        RUNNING.get_or_init(|| Some(Self::start(&installed()?))).as_ref()
    }

    fn start(dir: &Path) -> Self {
        #[derive(Deserialize)]
        struct Up {
            port: u16,
            events: Vec<Event>,
        }
        let mut child = Command::new("node")
            .args(["app.mjs", PUBLIC_URL])
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Up { port, events } = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
        Self { events, app: format!("127.0.0.1:{port}"), _child: child }
    }

    /// What the package says of a request that comes to the app straight.
    pub(crate) fn judge(&self, message: &Message) -> Answer {
        message.post(&self.app)
    }
}

/// The directory with the scripts and the packages, which are installed where they are not yet.
fn installed() -> Option<PathBuf> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    for program in ["node", "npm"] {
        if Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err() {
            return skipped(&format!("{program} is not installed"));
        }
    }
    fs::create_dir_all(&dir).unwrap();
    // Two runs at a time must not install into one directory.
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let pins = PINS.map(|name| fs::read_to_string(from.join(name)).unwrap()).concat();
    let stamp = dir.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
        copy(&from, &dir, &SCRIPTS);
        return Some(dir);
    }
    copy(&from, &dir, &PINS);
    copy(&from, &dir, &SCRIPTS);
    // Their install scripts have nothing to do here.
    let npm = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])
        .current_dir(&dir)
        .stdout(Stdio::null())
        .status();
    if !npm.unwrap().success() {
        return skipped("npm cannot install the packages");
    }
    // Written last: an install that was cut short is begun anew.
    fs::write(stamp, pins).unwrap();
    Some(dir)
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Says that a test is skipped; never in CI.
fn skipped<T>(why: &str) -> Option<T> {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI must not skip: {why}");
    println!("skipped: {why}");
    None
}

impl Event {
    /// The headers that the app gets as they were sent: all, but where onced signs, what is called as ours.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &(String, String)> {
        let replaced = if self.sign_secret.is_some() { self.sealed_for_app.as_slice() } else { &[] };
        self.message.headers.iter().filter(|(name, _)| !replaced.iter().any(|ours| name.eq_ignore_ascii_case(ours)))
    }
}
