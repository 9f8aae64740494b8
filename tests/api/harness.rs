//! A daemon on free ports in a temporary directory, and a client that sees every byte.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use http::StatusCode;
use onced::clock::{ManualTime, Source};
use onced::config::{self, Environment};
use onced::daemon::{Daemon, Surroundings};
use onced::metrics::ByOutcome;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::RwLock;

/// The wall clock of every test at its beginning: 2027-01-15T08:00:00Z.
pub(crate) const START_MS: u64 = 1_800_000_000_000;
/// A claim's token of the caller's own.
pub(crate) const OURS: &str = "ours-0123456789-0123456789";
/// Somebody else's.
pub(crate) const THEIRS: &str = "theirs-0123456789-0123456789";
/// Only for what would otherwise wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// A child between fork and exec has a copy of every descriptor, and with it the lock of any store that is being opened
/// in this process: stores are opened with a read lock on this, children started with a write lock.
pub(crate) static DESCRIPTORS: RwLock<()> = RwLock::const_new(());

/// What outlives a daemon: its directory, its config and the clock.
pub(crate) struct House {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) time: ManualTime,
    /// Lines of `[api]`.
    api: String,
    /// Whole tables.
    tables: String,
}

impl House {
    /// Callers on loopback may do everything.
    pub(crate) fn new() -> Self {
        Self::with("loopback = \"operate\"", "")
    }

    pub(crate) fn with(api: &str, tables: &str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            time: ManualTime::new(START_MS),
            api: api.to_owned(),
            tables: tables.to_owned(),
        }
    }

    /// The same house with other lines of `[api]`.
    pub(crate) fn with_api(self, api: &str) -> Self {
        Self { api: api.to_owned(), ..self }
    }

    /// Writes a file into the directory and says where it is.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Starts a daemon over the directory; the one before must have stopped.
    pub(crate) async fn start(&self) -> Home {
        let text = format!(
            "[shutdown]\ndrain = \"100ms\"\n[store]\ndir = {:?}\n{}\n[api]\nlisten = \"127.0.0.1:0\"\n{}\n",
            self.dir.path().join("store"),
            self.tables,
            self.api,
        );
        let none: [(std::ffi::OsString, std::ffi::OsString); 0] = [];
        let environment = Environment::new(none);
        let config = config::parse(&text, Path::new("test.toml"), &environment).unwrap();
        let surroundings = Surroundings { source: Source::manual(&self.time), real_sync: false };
        let _no_child_begins = DESCRIPTORS.read().await;
        let daemon = Daemon::start(config, surroundings).await.unwrap();
        Home { tcp: daemon.bound().api[0].clone(), socket: daemon.bound().socket.clone().unwrap(), daemon }
    }

    pub(crate) fn advance_ms(&self, millis: u64) {
        self.time.advance(Duration::from_millis(millis));
    }
}

/// A running daemon.
pub(crate) struct Home {
    pub(crate) daemon: Daemon,
    pub(crate) tcp: String,
    pub(crate) socket: PathBuf,
}

impl Home {
    pub(crate) async fn connect(&self) -> Connection {
        Connection(Box::new(TcpStream::connect(&self.tcp).await.unwrap()))
    }

    pub(crate) async fn connect_unix(&self) -> Connection {
        Connection(Box::new(UnixStream::connect(&self.socket).await.unwrap()))
    }

    /// One request of our own making, over TCP.
    pub(crate) async fn ask(&self, request: &str) -> Answer {
        self.connect().await.ask(request).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(&post(path, &body.to_string())).await
    }

    /// Claims `a`/`key` with further fields.
    pub(crate) async fn claim(&self, key: &str, fields: Value) -> Answer {
        self.post("/v1/claim", &on(key, fields)).await
    }

    pub(crate) async fn confirm(&self, key: &str, fields: Value) -> Answer {
        self.post("/v1/confirm", &on(key, fields)).await
    }

    pub(crate) async fn release(&self, key: &str, token: &str) -> Answer {
        self.post("/v1/release", &on(key, json!({ "token": token }))).await
    }

    pub(crate) async fn extend(&self, key: &str, fields: Value) -> Answer {
        self.post("/v1/extend", &on(key, fields)).await
    }

    /// `path` is below `/v1/claims`, with its query.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(&bare("GET", &format!("/v1/claims{path}"))).await
    }

    pub(crate) async fn forget(&self, path: &str) -> Answer {
        self.ask(&bare("DELETE", &format!("/v1/claims{path}"))).await
    }

    /// All records, as an operator on the socket sees them.
    pub(crate) async fn stored(&self) -> Vec<Value> {
        let mut connection = self.connect_unix().await;
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/claims?limit=1000{after}");
            let page = connection.ask(&bare("GET", &path)).await;
            assert_eq!(page.status, 200, "{page:?}");
            let page = page.json();
            all.extend(page["claims"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    }

    /// How often commands on a namespace came to an outcome.
    pub(crate) fn count(&self, namespace: &str, outcome: &'static str) -> u64 {
        let namespace = namespace.to_owned();
        let by = ByOutcome { namespace, outcome };
        self.daemon.metrics().claims.get_or_create(&by).get()
    }

    /// A claim that waits; when this returns it has been told that somebody else is the holder, and takes its place.
    pub(crate) async fn waiter(&self, key: &str, fields: Value) -> Connection {
        let before = self.count("a", "in_progress");
        let mut connection = self.connect().await;
        connection.send(&post("/v1/claim", &on(key, fields).to_string())).await;
        until(|| self.count("a", "in_progress") > before).await;
        connection
    }
}

/// Lets the others work until something is so.
pub(crate) async fn until(mut so: impl FnMut() -> bool) {
    let yielding = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    in_time(yielding).await;
}

/// Waits for something that must come.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

/// A command on `a`/`key`.
pub(crate) fn on(key: &str, fields: Value) -> Value {
    let mut body = json!({ "namespace": "a", "key": key });
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    body
}

/// A request with a JSON body.
pub(crate) fn post(path: &str, body: &str) -> String {
    with_headers("POST", path, &["Content-Type: application/json"], body)
}

/// A request without a body.
pub(crate) fn bare(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// A request with headers besides `Host` and `Content-Length`.
pub(crate) fn with_headers(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// A point in time as answers have it.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(unix_ms)).to_string()
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection to the daemon.
pub(crate) struct Connection(Box<dyn Wire>);

impl Connection {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// Sends no more.
    pub(crate) async fn hang_up(&mut self) {
        self.0.shutdown().await.unwrap();
    }

    /// The next answer.
    pub(crate) async fn answer(&mut self) -> Answer {
        in_time(async {
            let head = self.head().await;
            let (status, headers) = parse_head(&head);
            let mut answer = Answer { status, headers, body: Vec::new() };
            let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
            answer.body = vec![0; length];
            self.0.read_exact(&mut answer.body).await.unwrap();
            answer
        })
        .await
    }

    /// The next head, interim ones included, without its empty line.
    pub(crate) async fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = in_time(self.0.read_u8()).await;
            head.push(byte.unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&head))));
        }
        String::from_utf8(head).unwrap()
    }

    /// Whether the daemon has said its last; fails when it says more.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut rest = [0; 64];
        let read = in_time(self.0.read(&mut rest)).await;
        matches!(read, Ok(0) | Err(_))
    }
}

fn parse_head(head: &str) -> (u16, Vec<(String, String)>) {
    let mut lines = head.trim_end().split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_ascii_lowercase(), value.to_owned())
    });
    (status, headers.collect())
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
        let value = values.next();
        assert_eq!(values.next(), None, "{name} comes once");
        value.map(String::as_str)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// What a command came to.
    pub(crate) fn outcome(&self) -> String {
        self.json()["outcome"].as_str().unwrap_or_else(|| panic!("{}", self.text())).to_owned()
    }

    /// The code of a problem; everything that all problems have in common is checked.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{json}");
        let title = StatusCode::from_u16(self.status).unwrap().canonical_reason();
        assert_eq!(json["title"].as_str(), title, "{json}");
        assert!(json["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{json}");
        json["code"].as_str().unwrap().to_owned()
    }
}

/// The connection is as the answer says: closed, or good for another request.
pub(crate) async fn assert_defined(mut connection: Connection, answer: &Answer, what: &str) {
    if answer.header("connection") == Some("close") {
        assert!(connection.is_closed().await, "{what}: still open");
    } else {
        let next = connection.ask(bare("GET", "/healthz")).await;
        assert_eq!(next.status, 200, "{what}: not usable");
    }
}

pub(crate) async fn assert_nothing_stored(home: &Home, what: &str) {
    let stored = home.stored().await;
    assert!(stored.is_empty(), "{what}: {stored:?}");
}
