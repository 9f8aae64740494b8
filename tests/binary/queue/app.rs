//! The app: it counts what it is handed and does what the test says with it; it dies, and comes back at its old address.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tokio::net::TcpSocket;

use super::event::Print;
use super::place::PATIENCE;
use crate::harness::eventually;

/// One hand-over, whole.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// When it had been read.
    pub(crate) at: Instant,
    /// The sender's id, of `Onced-Event-Id`.
    pub(crate) event: String,
    /// Of `Onced-Delivery`.
    pub(crate) delivery: String,
    /// Of `Idempotency-Key`.
    pub(crate) key: String,
    pub(crate) attempt: u32,
    /// Of `Onced-Degraded`.
    pub(crate) degraded: Option<String>,
    pub(crate) body: Print,
    /// What the app says to it.
    pub(crate) status: Option<u16>,
}

impl Hit {
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Self>> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(None);
            }
        }
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned()))
        };
        let number = |name: &str| field(name).and_then(|value| value.parse().ok()).ok_or(io::ErrorKind::InvalidData);
        let mut body = vec![0; number("content-length")? as usize];
        stream.read_exact(&mut body)?;
        let said = |name: &str| field(name).ok_or(io::ErrorKind::InvalidData);
        Ok(Some(Self {
            at: Instant::now(),
            event: said("onced-event-id")?,
            delivery: said("onced-delivery")?,
            key: said("idempotency-key")?,
            attempt: number("onced-attempt")?,
            degraded: field("onced-degraded"),
            body: Print::of(&body),
            status: None,
        }))
    }
}

/// What the app does with a hand-over.
pub(crate) enum Reply {
    Status(u16),
    /// Closes without a word.
    Close,
    /// Writes the status line of a success, does this, and closes before the head is whole.
    HalfOf(Box<dyn FnOnce() + Send>),
}

type Script = Arc<dyn Fn(&Hit) -> Reply + Send + Sync>;

/// An app with an address that is its own, whether it lives or not.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    /// Bound and never listening: while the app is dead its address refuses, and nobody else gets it.
    _address: TcpSocket,
    shared: Arc<Shared>,
    life: Mutex<Option<Life>>,
}

struct Life {
    over: Arc<AtomicBool>,
    accepting: JoinHandle<()>,
}

struct Shared {
    hits: Mutex<Vec<Hit>>,
    grown: Condvar,
    script: Mutex<Script>,
    /// Connections, for the end of a life.
    open: Mutex<HashMap<usize, TcpStream>>,
    closed: Condvar,
    at_work: AtomicUsize,
    most_at_work: AtomicUsize,
}

impl App {
    /// An app that does not live yet, and will say yes to everything.
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let shared = Shared {
            hits: Mutex::default(),
            grown: Condvar::new(),
            script: Mutex::new(Arc::new(|_| Reply::Status(200))),
            open: Mutex::default(),
            closed: Condvar::new(),
            at_work: AtomicUsize::new(0),
            most_at_work: AtomicUsize::new(0),
        };
        let address = socket.local_addr().unwrap();
        Self { address, _address: socket, shared: Arc::new(shared), life: Mutex::new(None) }
    }

    /// What it does from now on.
    pub(crate) fn does(&self, script: impl Fn(&Hit) -> Reply + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
    }

    pub(crate) fn appear(&self) {
        // The address is reused: no other socket listens there, but for the one of the life before, of which any process that
        // is being started somewhere has a copy until it runs its own program.
        let mut listener = None;
        eventually(PATIENCE, "the address is free", || {
            listener = TcpListener::bind(self.address).ok();
            listener.is_some()
        });
        let listener = listener.unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (shared, told) = (Arc::clone(&self.shared), Arc::clone(&over));
        let accepting = thread::spawn(move || accept(&listener, &shared, &told));
        *self.life.lock().unwrap() = Some(Life { over, accepting });
    }

    /// Dies as a process does: with all its connections.
    pub(crate) fn die(&self) {
        let Some(life) = self.life.lock().unwrap().take() else { return };
        life.over.store(true, Ordering::SeqCst);
        // Whoever comes next makes it look; the daemon may have been faster, and the door is closed.
        let _refused = TcpStream::connect(self.address);
        life.accepting.join().unwrap();
        for stream in self.shared.open.lock().unwrap().values() {
            // The other side may have gone first.
            let _gone = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits until nothing comes from the daemon any more, which has been killed: whatever it sent is counted.
    pub(crate) fn settle(&self) {
        // Held, so that the app does not die meanwhile.
        let life = self.life.lock().unwrap();
        if life.is_some() {
            // Connections are accepted in order, so once this one is gone the daemon's have been seen.
            let mut last = TcpStream::connect(self.address).unwrap();
            last.shutdown(Shutdown::Write).unwrap();
            assert_eq!(last.read(&mut [0]).unwrap_or(0), 0);
        }
        drop(life);
        let open = self.shared.open.lock().unwrap();
        let (open, _) = self.shared.closed.wait_timeout_while(open, PATIENCE, |open| !open.is_empty()).unwrap();
        assert!(open.is_empty(), "the daemon is gone, and its connections are not");
    }

    /// All that it was handed, in the order in which it was read.
    pub(crate) fn hits(&self) -> Vec<Hit> {
        self.shared.hits.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.hits.lock().unwrap().len()
    }

    /// The most that it had to do at a time since it was last asked.
    pub(crate) fn most_at_once(&self) -> usize {
        self.shared.most_at_work.swap(0, Ordering::SeqCst)
    }

    /// Waits until the hits are such.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&[Hit]) -> bool) {
        let hits = self.shared.hits.lock().unwrap();
        let (hits, _) = self.shared.grown.wait_timeout_while(hits, PATIENCE, |hits| !holds(hits)).unwrap();
        assert!(holds(&hits), "this did not come: {what}; {} came", hits.len());
    }

    pub(crate) fn until_count(&self, count: usize) {
        self.until(&format!("{count} hand-overs"), |hits| hits.len() >= count);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.die();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, over: &AtomicBool) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    for stream in listener.incoming() {
        if over.load(Ordering::SeqCst) {
            return;
        }
        let (stream, number, shared) = (stream.unwrap(), NUMBER.fetch_add(1, Ordering::SeqCst), Arc::clone(shared));
        shared.open.lock().unwrap().insert(number, stream.try_clone().unwrap());
        thread::spawn(move || {
            // A connection that breaks is the daemon's end, or the app's own.
            let _broken = serve(stream, &shared);
            // Both handles go before it counts as closed.
            shared.open.lock().unwrap().remove(&number);
            shared.closed.notify_all();
        });
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(mut hit) = Hit::read(&mut stream)? {
        let at_work = shared.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_at_work.fetch_max(at_work, Ordering::SeqCst);
        let script = Arc::clone(&shared.script.lock().unwrap());
        let reply = script(&hit);
        hit.status = if let Reply::Status(status) = reply { Some(status) } else { None };
        shared.hits.lock().unwrap().push(hit);
        shared.at_work.fetch_sub(1, Ordering::SeqCst);
        shared.grown.notify_all();
        let mut out = stream.get_ref();
        match reply {
            Reply::Status(status) => {
                out.write_all(format!("HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n\r\nok").as_bytes())?;
            }
            Reply::Close => break,
            Reply::HalfOf(then) => {
                out.write_all(b"HTTP/1.1 200 OK\r\n")?;
                then();
                break;
            }
        }
    }
    Ok(())
}
