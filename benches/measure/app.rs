//! The app behind the proxies: one thread and epoll, so that it costs little and the same for each of them.
//!
//! It answers every event with 200, and knows of each whether it has had it before. One that guards itself does what people
//! write by hand: before its work it sets the event's key in Redis if nobody has, and after it sets the key as done.

use std::{
    collections::HashMap,
    io::{self, ErrorKind, Read, Write},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
};

use super::{
    address::Address,
    counts::{Counts, Seen},
    event::value,
};

/// How often the thread looks whether it is to stop.
const TICK: Duration = Duration::from_millis(100);
/// Room for an event of 2 KiB with its head; it grows for larger ones.
const INCOMING: usize = 8 * 1024;
const LISTENER: Token = Token(0);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONFLICT: &[u8] = b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n";
/// The header that carries the event's id.
const ID: &[u8] = b"x-github-delivery:";

/// An app that runs until it is dropped.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    own: Option<Address>,
}

impl App {
    /// `redis` is where it keeps what it has handled; without one it handles everything that comes.
    pub(crate) fn start(redis: Option<SocketAddr>) -> io::Result<Self> {
        let own = Address::reserve()?;
        let mut app = Self::listen(own.address, redis)?;
        app.own = Some(own);
        Ok(app)
    }

    /// An app where there was none before.
    pub(crate) fn appear(at: &Address) -> io::Result<Self> {
        Self::listen(at.address, None)
    }

    fn listen(address: SocketAddr, redis: Option<SocketAddr>) -> io::Result<Self> {
        // It reuses the address: no other socket listens there.
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (counts, stop) = (Arc::new(Counts::default()), Arc::new(AtomicBool::new(false)));
        let work = Work {
            listener: TcpListener::from_std(listener),
            poll: Poll::new()?,
            redis,
            ends: HashMap::new(),
            next: LISTENER.0 + 1,
            seen: Seen::default(),
            counts: Arc::clone(&counts),
        };
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new().name("app".into()).spawn(move || {
            if let Err(error) = work.run(&told) {
                eprintln!("the app failed: {error}");
            }
        })?;
        Ok(Self { address, counts, stop, thread: Some(thread), own: None })
    }

    /// What it has had so far.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of it has been printed.
            let _panicked = thread.join();
        }
    }
}

/// One end of a connection.
struct End {
    socket: TcpStream,
    incoming: Vec<u8>,
    filled: usize,
    role: Role,
}

enum Role {
    /// A proxy; it may have a connection to Redis at its side.
    Proxy { redis: Option<Token> },
    /// Redis, asked on behalf of a proxy's event.
    Redis { proxy: Token, key: Vec<u8>, claimed: bool },
}

struct Work {
    listener: TcpListener,
    poll: Poll,
    redis: Option<SocketAddr>,
    ends: HashMap<Token, End>,
    next: usize,
    seen: Seen,
    counts: Arc<Counts>,
}

impl Work {
    fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        self.poll.registry().register(&mut self.listener, LISTENER, Interest::READABLE)?;
        let mut events = Events::with_capacity(1024);
        while !stop.load(Ordering::Relaxed) {
            match self.poll.poll(&mut events, Some(TICK)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    token => self.readable(token)?,
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let (socket, _) = match self.listener.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                accepted => accepted?,
            };
            socket.set_nodelay(true)?;
            let proxy = self.add(socket, Role::Proxy { redis: None })?;
            if let Some(address) = self.redis {
                let socket = std::net::TcpStream::connect(address)?;
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                let role = Role::Redis { proxy, key: Vec::new(), claimed: false };
                let redis = self.add(TcpStream::from_std(socket), role)?;
                self.ends.entry(proxy).and_modify(|end| end.role = Role::Proxy { redis: Some(redis) });
            }
        }
    }

    fn add(&mut self, mut socket: TcpStream, role: Role) -> io::Result<Token> {
        let token = Token(self.next);
        self.next += 1;
        self.poll.registry().register(&mut socket, token, Interest::READABLE)?;
        self.ends.insert(token, End { socket, incoming: vec![0; INCOMING], filled: 0, role });
        Ok(token)
    }

    fn readable(&mut self, token: Token) -> io::Result<()> {
        let Some(mut end) = self.ends.remove(&token) else { return Ok(()) };
        if !end.fill()? {
            if let Role::Proxy { redis: Some(redis) } = end.role {
                self.ends.remove(&redis);
            }
            return Ok(());
        }
        match &mut end.role {
            Role::Proxy { redis } => match (whole(&end.incoming[..end.filled]), *redis) {
                (None, _) => {}
                (Some(id), None) => {
                    // Before the answer: whoever has it may look at the counts.
                    self.counts.handled(&mut self.seen, id);
                    end.filled = 0;
                    end.socket.write_all(OK)?;
                }
                (Some(id), Some(redis)) => {
                    let id = id.to_vec();
                    end.filled = 0;
                    self.claim(redis, id)?;
                }
            },
            Role::Redis { .. } => self.told(&mut end)?,
        }
        self.ends.insert(token, end);
        Ok(())
    }

    /// Asks Redis for the event, before the work.
    fn claim(&mut self, redis: Token, id: Vec<u8>) -> io::Result<()> {
        let Some(end) = self.ends.get_mut(&redis) else { return Ok(()) };
        end.socket.write_all(&command(&[b"SET", &id, b"1", b"NX", b"EX", b"120"]))?;
        if let Role::Redis { key, claimed, .. } = &mut end.role {
            (*key, *claimed) = (id, false);
        }
        Ok(())
    }

    /// Goes on with an event about which Redis has said something: the work is done, or somebody does it.
    fn told(&mut self, end: &mut End) -> io::Result<()> {
        if !end.incoming[..end.filled].ends_with(b"\r\n") {
            return Ok(());
        }
        let granted = end.incoming[..end.filled] == *b"+OK\r\n";
        end.filled = 0;
        let Role::Redis { proxy, key, claimed } = &mut end.role else { return Ok(()) };
        if granted && !*claimed {
            *claimed = true;
            return end.socket.write_all(&command(&[b"SET", key, b"done", b"EX", b"345600"]));
        }
        let Some(proxy) = self.ends.get_mut(proxy) else { return Ok(()) };
        if granted {
            self.counts.handled(&mut self.seen, key);
        }
        proxy.socket.write_all(if granted { OK } else { CONFLICT })
    }
}

impl End {
    /// Reads what is there; `false` when the other side has gone.
    fn fill(&mut self) -> io::Result<bool> {
        loop {
            if self.filled == self.incoming.len() {
                self.incoming.resize(2 * self.filled, 0);
            }
            match self.socket.read(&mut self.incoming[self.filled..]) {
                Ok(0) => return Ok(false),
                Ok(length) => self.filled += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
            if self.filled < self.incoming.len() {
                return Ok(true);
            }
        }
    }
}

/// The id of a request that is there whole; `None` while more must come.
fn whole(input: &[u8]) -> Option<&[u8]> {
    let end = input.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (mut length, mut id) = (0, &b""[..]);
    for line in input[..end].split(|byte| *byte == b'\n') {
        if let Some(value) = value(line, b"content-length:") {
            length = std::str::from_utf8(value).ok()?.parse().ok()?;
        } else if let Some(value) = value(line, ID) {
            id = value;
        }
    }
    (input.len() >= end + 4 + length).then_some(id)
}

/// A command as an array of bulk strings.
fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        text.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        text.extend_from_slice(word);
        text.extend_from_slice(b"\r\n");
    }
    text
}
