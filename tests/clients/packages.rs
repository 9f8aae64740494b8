//! The packages in processes of their own, one for each language: it signs when asked to, and is the app that judges what
//! arrives.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::families::Family;
use crate::message::{Answer, Message};

/// The address that senders were given, which some of them sign.
pub(crate) const PUBLIC_URL: &str = "https://hooks.example.com";

/// What onced has to know of a sender, and how the copy of its event is to be signed.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) provider: String,
    pub(crate) secret: String,
    pub(crate) sign_secret: Option<String>,
    /// Further lines of the route.
    pub(crate) settings: String,
}

/// A webhook as its sender would send it.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(flatten)]
    pub(crate) message: Message,
    /// The headers that the sender's signature is in or covers.
    pub(crate) sealed_by_sender: Vec<String>,
    /// Those of the copy, which the app goes by.
    pub(crate) sealed_for_app: Vec<String>,
}

/// The process of one family, up and listening.
pub(crate) struct Packages {
    pub(crate) family: &'static Family,
    pub(crate) rows: Vec<Row>,
    pub(crate) app: String,
    /// It ends with its stdin, which ends with this process.
    _child: Child,
}

impl Packages {
    /// Of every family that this machine can run, one process for all tests.
    pub(crate) fn running() -> &'static [Self] {
        static RUNNING: OnceLock<Vec<Packages>> = OnceLock::new();
        RUNNING.get_or_init(|| Family::ALL.iter().filter_map(Self::of).collect())
    }

    fn of(family: &'static Family) -> Option<Self> {
        if let Some(program) = family.missing() {
            return skipped(&format!("{program} is not installed"));
        }
        Some(Self::start(family, &installed(family)))
    }

    fn start(family: &'static Family, dir: &Path) -> Self {
        #[derive(Deserialize)]
        struct Up {
            port: u16,
            rows: Vec<Row>,
        }
        let mut child = family
            .command(family.run, dir)
            .arg(PUBLIC_URL)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Up { port, rows } = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}"));
        Self { family, rows, app: format!("127.0.0.1:{port}"), _child: child }
    }

    /// Has the row's package sign an event, now: some packages look no further back than five seconds.
    pub(crate) fn sign(&self, row: &Row) -> Event {
        let ask = Message { target: format!("/sign/{}", row.name), headers: Vec::new(), body: String::new() };
        ask.post(&self.app).read()
    }

    /// What the package says of a request that comes to the app straight.
    pub(crate) fn judge(&self, message: &Message) -> Answer {
        message.post(&self.app)
    }
}

/// A directory with the family's scripts and packages, which are installed where they are not yet.
fn installed(family: &Family) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let dir = all.join(family.name);
    let stamp = dir.join("installed");
    fs::create_dir_all(&dir).unwrap();
    // Two runs at a time must not install into one directory.
    let lock = fs::File::create(all.join("lock")).unwrap();
    lock.lock().unwrap();
    let pins = family.pins.iter().map(|name| fs::read_to_string(from.join(name)).unwrap()).collect::<String>();
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
        copy(&from, &dir, family.scripts);
        return dir;
    }
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    copy(&from, &dir, family.pins);
    copy(&from, &dir, family.scripts);
    let install = family.command(family.install, &dir).stdout(Stdio::null()).status().unwrap();
    assert!(install.success(), "the packages for {} cannot be installed: {install}", family.name);
    // Last, and gone with the directory: an install that was cut short is begun anew.
    fs::write(stamp, pins).unwrap();
    dir
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Says that a language is skipped; never in CI.
fn skipped<T>(why: &str) -> Option<T> {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI must not skip: {why}");
    println!("skipped: {why}");
    None
}
