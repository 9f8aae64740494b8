//! A daemon in this process, an app that does what the test tells it, and a sender that writes bytes.
//!
//! The app answers nothing by itself: it hands each request to the test as a [`Hit`], and the test says what the app
//! does. That forces the order of things without a sleep.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use onced::api::ReloadOutcome;
use onced::clock::{ManualTime, Source};
use onced::config::{self, Environment};
use onced::daemon::{Daemon, Surroundings};
use onced::metrics::ByOutcome;
use onced::store::Selection;
use sha2::Sha256;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Text for GitHub and Stripe, base64 for Standard Webhooks.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Ends a test that waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, work).await {
        Ok(value) => value,
        Err(_) => panic!("this did not come: {what}"),
    }
}

/// Lets everything else run until the condition holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The machine's time in seconds, as signatures carry it.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

// ---- the daemon ----

/// A running daemon with routes, in a directory of its own.
pub(crate) struct Front {
    pub(crate) daemon: Daemon,
    pub(crate) hooks: String,
    source: Source,
    config: String,
    dir: TempDir,
}

/// One `[[route]]`, named after its provider, at `/hooks/` and that name, to the app's `/in`; `more` is further lines.
pub(crate) fn route(provider: &str, app: &App, more: &str) -> String {
    let url = app.url();
    format!(
        "[[route]]\nname = \"{provider}\"\nprovider = \"{provider}\"\npath = \"/hooks/{provider}\"\n\
         secrets = [{{ inline = \"{SECRET}\" }}]\nforward_to = \"{url}/in\"\n{more}\n"
    )
}

impl Front {
    /// With one GitHub route.
    pub(crate) async fn github(app: &App, more: &str) -> Self {
        Self::start(&route("github", app, more)).await
    }

    /// With these routes, on the machine's clocks.
    pub(crate) async fn start(routes: &str) -> Self {
        Self::surrounded(routes, "", Source::machine()).await
    }

    /// With these routes, on the test's clock.
    pub(crate) async fn on_clock(routes: &str, time: &ManualTime) -> Self {
        Self::surrounded(routes, "", Source::manual(time)).await
    }

    /// `hooks` is further lines of `[hooks]`.
    pub(crate) async fn surrounded(routes: &str, hooks: &str, source: Source) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "[api]\nlisten = \"\"\nsocket = \"\"\n[hooks]\nlisten = \"127.0.0.1:0\"\n{hooks}\n[store]\ndir = \"{}\"\n{routes}",
            dir.path().join("store").display()
        );
        Self::run(text, dir, source).await
    }

    async fn run(text: String, dir: TempDir, source: Source) -> Self {
        let environment = Environment::default().with_inline_secrets();
        let file = dir.path().join("onced.toml");
        std::fs::write(&file, &text).unwrap();
        let load = move || config::load(&file, &environment);
        let config = load().unwrap_or_else(|faults| panic!("{faults}"));
        let surroundings = Surroundings { source: source.clone(), real_sync: false };
        let daemon = Daemon::start(config, surroundings).await.unwrap().reloading(Box::new(load));
        let hooks = daemon.bound().hooks.first().cloned().unwrap_or_default();
        Self { daemon, hooks, source, config: text, dir }
    }

    /// Stops in order and starts anew, on the same store; `meanwhile` goes on beside the stop.
    pub(crate) async fn restarted(self, meanwhile: impl Future<Output = ()>) -> Self {
        soon("the end of the daemon and of what goes on beside it", async {
            let (stopped, ()) = tokio::join!(self.daemon.stop(), meanwhile);
            stopped.unwrap();
        })
        .await;
        Self::run(self.config, self.dir, self.source).await
    }

    /// Puts another text into the place of a part of the config, and loads it anew.
    pub(crate) async fn reload(&mut self, from: &str, to: &str) -> ReloadOutcome {
        let text = self.config.replacen(from, to, 1);
        assert_ne!(text, self.config, "{from} is not in the config");
        std::fs::write(self.dir.path().join("onced.toml"), &text).unwrap();
        let outcome = soon("a reload", self.daemon.reloads().ask()).await;
        if outcome.is_ok() {
            self.config = text;
        }
        outcome
    }

    pub(crate) async fn sender(&self) -> Sender {
        Sender(TcpStream::connect(&self.hooks).await.unwrap())
    }

    /// Sends on a connection of its own and waits for the answer.
    pub(crate) async fn post(&self, event: &Event) -> Answer {
        let mut sender = self.sender().await;
        sender.send(event.bytes()).await;
        sender.answer().await
    }

    /// Sends on a connection of its own; the answer is for later.
    pub(crate) async fn sent(&self, event: &Event) -> Sender {
        let mut sender = self.sender().await;
        sender.send(event.bytes()).await;
        sender
    }

    /// How often an answer about claims came to this, on the route of this name.
    pub(crate) fn claims(&self, route: &str, outcome: &'static str) -> u64 {
        let namespace = format!("route:{route}");
        let labels = ByOutcome { namespace, outcome };
        self.daemon.metrics().claims.get_or_create(&labels).get()
    }

    /// Waits until so many answers on the GitHub route have come to this.
    pub(crate) async fn until_claims(&self, outcome: &'static str, count: u64) {
        until(outcome, || self.claims("github", outcome) >= count).await;
    }

    /// How many records there are.
    pub(crate) async fn records(&self) -> usize {
        let selection = Selection { namespace: None, state: None, after: None, limit: 1_000 };
        self.daemon.ledger().list(selection).await.unwrap().records.len()
    }
}

// ---- the app ----

/// What the app does once it has read a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Says this and reads on.
    Keep(Vec<u8>),
    /// Says this and closes.
    Close(Vec<u8>),
    /// Says this and resets.
    Reset(Vec<u8>),
    /// Says this, and when the test lets it, closes (or resets).
    Later(Vec<u8>, oneshot::Receiver<()>, End),
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
}

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::status(200)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Keep(format!("HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n\r\nok").into_bytes())
    }

    pub(crate) fn keep(text: &str) -> Self {
        Self::Keep(text.into())
    }
}

/// An app that records what comes, and does what the test says.
pub(crate) struct App {
    address: String,
    hits: mpsc::UnboundedReceiver<Hit>,
    ends: mpsc::UnboundedReceiver<usize>,
}

/// A request that the app has read.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The number of the connection on which it came, from 1.
    pub(crate) connection: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    reply: oneshot::Sender<Reply>,
}

impl App {
    pub(crate) async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let (tell, hits) = mpsc::unbounded_channel();
        let (ended, ends) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for connection in 1.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (tell, ended) = (tell.clone(), ended.clone());
                tokio::spawn(async move {
                    serve(socket, connection, tell).await;
                    // A test that has ended wants to know nothing.
                    let _ = ended.send(connection);
                });
            }
        });
        Self { address, hits, ends }
    }

    /// An address where nobody listens.
    pub(crate) async fn absent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (_, hits) = mpsc::unbounded_channel();
        let (_, ends) = mpsc::unbounded_channel();
        Self { address, hits, ends }
    }

    /// An app at an address where there was none.
    pub(crate) async fn appear(self) -> Self {
        Self::on(TcpListener::bind(&self.address).await.unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request.
    pub(crate) async fn hit(&mut self) -> Hit {
        soon("a request at the app", self.hits.recv()).await.unwrap()
    }

    /// The next request, answered like this.
    pub(crate) async fn answers(&mut self, reply: Reply) -> Seen {
        self.hit().await.answer(reply)
    }

    /// The number of the next connection that has ended.
    pub(crate) async fn ended(&mut self) -> usize {
        soon("the end of a connection", self.ends.recv()).await.unwrap()
    }

    /// That nothing else has come. What is handed over is so before its sender has an answer.
    pub(crate) fn assert_quiet(&mut self) {
        assert!(self.hits.try_recv().is_err(), "the app got more than it should");
    }
}

async fn serve(mut socket: TcpStream, connection: usize, tell: mpsc::UnboundedSender<Hit>) {
    while let Some((head, body)) = read_message(&mut socket).await {
        let (reply, said) = oneshot::channel();
        let hit = Hit { connection, head, body, reply };
        if tell.send(hit).is_err() {
            return;
        }
        // A test that drops the hit lets the app close without a word.
        let reply = said.await.unwrap_or(Reply::Close(Vec::new()));
        let (Reply::Keep(bytes) | Reply::Close(bytes) | Reply::Reset(bytes) | Reply::Later(bytes, ..)) = &reply;
        if socket.write_all(bytes).await.is_err() {
            return; // the daemon has let go
        }
        let end = match reply {
            Reply::Keep(_) => continue,
            Reply::Close(_) => End::Close,
            Reply::Reset(_) => End::Reset,
            Reply::Later(_, let_go, end) => {
                let_go.await.unwrap();
                end
            }
        };
        if end == End::Reset {
            socket.set_zero_linger().unwrap();
        }
        return;
    }
}

/// One message with a Content-Length; none when the other side is done.
async fn read_message(socket: &mut TcpStream) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let length = field(&head, "content-length").map_or(0, |value| text(value).parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

impl Hit {
    /// Lets the app do this.
    pub(crate) fn answer(self, reply: Reply) -> Seen {
        let Self { connection, head, body, reply: to } = self;
        to.send(reply).unwrap();
        Seen { connection, head, body }
    }
}

/// A request that was answered.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name).map(text)
    }

    /// The bytes of each value of a header, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        fields(&self.head)
            .filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
            .collect()
    }

    pub(crate) fn has_line(&self, line: &[u8]) -> bool {
        lines(&self.head).any(|found| found == line)
    }

    /// What stands between method and version.
    pub(crate) fn target(&self) -> &[u8] {
        let line = lines(&self.head).next().unwrap();
        line.strip_prefix(b"POST ").unwrap().strip_suffix(b" HTTP/1.1").unwrap()
    }

    pub(crate) fn attempt(&self) -> &str {
        self.header("onced-attempt").unwrap()
    }
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\r")).filter(|line| !line.is_empty())
}

fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines(head).skip(1).map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap();
        (&line[..colon], line[colon + 1..].trim_ascii())
    })
}

fn field<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    fields(head).find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

// ---- the sender ----

/// A connection to the daemon on which bytes are written.
pub(crate) struct Sender(pub(crate) TcpStream);

impl Sender {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let (head, body) =
            soon("an answer to the sender", read_message(&mut self.0)).await.expect("closed without an answer");
        Answer { head, body }
    }

    /// That the daemon asks for the body.
    pub(crate) async fn assert_continue(&mut self) {
        let mut interim = [0; 25];
        soon("leave to send the body", self.0.read_exact(&mut interim)).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// The head of an answer, whatever follows it.
    pub(crate) async fn head(&mut self) -> Vec<u8> {
        let mut head = Vec::new();
        soon("the head of an answer", async {
            while !head.ends_with(b"\r\n\r\n") {
                head.push(self.0.read_u8().await.unwrap());
            }
        })
        .await;
        head
    }

    /// That the daemon closes, without another byte.
    pub(crate) async fn assert_closed(&mut self) {
        let mut rest = Vec::new();
        soon("the end", self.0.read_to_end(&mut rest)).await.unwrap();
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }

    /// Goes away without reading.
    pub(crate) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }
}

/// What the sender is told.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        text(&self.head[9..12]).parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        field(&self.head, name).map(text)
    }

    pub(crate) fn has_line(&self, line: &[u8]) -> bool {
        lines(&self.head).any(|found| found == line)
    }

    /// The status and `Onced-Outcome`.
    #[track_caller]
    pub(crate) fn assert(&self, status: u16, outcome: &str) {
        let head = String::from_utf8_lossy(&self.head);
        let found = (self.status(), self.header("onced-outcome"));
        assert_eq!(found, (status, Some(outcome)), "{head}");
        let asks_for_time = self.status() == 503;
        assert!(!asks_for_time || self.header("retry-after").is_some(), "{head}");
    }
}

/// A request to a route, with its headers as they will be written.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Event {
    /// Without a header but `Host`.
    pub(crate) fn bare(target: &str, body: impl AsRef<[u8]>) -> Self {
        Self { target: target.to_owned(), headers: Vec::new(), body: body.as_ref().to_vec() }
            .with("Host", "hooks.example")
    }

    /// As GitHub signs it.
    pub(crate) fn github(id: &str, body: impl AsRef<[u8]>) -> Self {
        let digest = hex::encode(hmac(SECRET.as_bytes(), &[body.as_ref()]));
        Self::bare("/hooks/github", body)
            .with("X-GitHub-Delivery", id)
            .with("X-Hub-Signature-256", format!("sha256={digest}"))
    }

    /// As Stripe signs it.
    pub(crate) fn stripe(at: i64, body: impl AsRef<[u8]>) -> Self {
        let digest = stripe_digest(SECRET, at, body.as_ref());
        Self::bare("/hooks/stripe", body).with("Stripe-Signature", format!("t={at},v1={digest}"))
    }

    /// As senders of Standard Webhooks sign it.
    pub(crate) fn standard(id: &str, at: i64, body: impl AsRef<[u8]>) -> Self {
        let digest = standard_digest(id, at, body.as_ref());
        Self::bare("/hooks/standard-webhooks", body)
            .with("webhook-id", id)
            .with("webhook-timestamp", at.to_string())
            .with("webhook-signature", format!("v1,{digest}"))
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Takes a header off.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    /// Puts another value in the place of a header's.
    pub(crate) fn altered(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn at(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// With its length announced.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head(&format!("Content-Length: {}\r\n", self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// In chunks that end at these places of the body.
    pub(crate) fn chunked(&self, cuts: &[usize]) -> Vec<u8> {
        let mut bytes = self.head("Transfer-Encoding: chunked\r\n");
        let ends = cuts.iter().copied().chain([self.body.len()]);
        let mut from = 0;
        for end in ends {
            bytes.extend_from_slice(format!("{:x}\r\n", end - from).as_bytes());
            bytes.extend_from_slice(&self.body[from..end]);
            bytes.extend_from_slice(b"\r\n");
            from = end;
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// The head, with these lines at its end.
    pub(crate) fn head(&self, framing: &str) -> Vec<u8> {
        let mut start = String::new();
        write!(start, "POST {} HTTP/1.1\r\n", self.target).unwrap();
        let mut bytes = start.into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(framing.as_bytes());
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

pub(crate) fn stripe_digest(secret: &str, at: i64, body: &[u8]) -> String {
    let at = at.to_string();
    hex::encode(hmac(secret.as_bytes(), &[at.as_bytes(), b".", body]))
}

pub(crate) fn standard_digest(id: &str, at: i64, body: &[u8]) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let key = engine.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let at = at.to_string();
    engine.encode(hmac(&key, &[id.as_bytes(), b".", at.as_bytes(), b".", body]))
}

pub(crate) fn hmac(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().to_vec()
}
