//! The load generator, one for both rivals: a closed loop of connections, each with one request in flight, on one
//! thread with epoll. It shares the machine's cores with the servers, so it does little: requests are templates, answers
//! are barely parsed, and a request costs one read and one write. Its own waiting is part of the latencies, equally for
//! both.

use std::{
    io::{self, ErrorKind},
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token};
use thiserror::Error;

use super::{
    connection::{Connection, Target},
    histogram::Histogram,
    keys::{Key, Keys},
};

/// A server that answers nobody for this long has failed.
const STALL: Duration = Duration::from_secs(20);

/// How one rival is asked, and how its answers are understood.
pub(crate) trait Dialect {
    /// Appends one request that claims all of `keys`.
    fn claim(&self, keys: &[Key], out: &mut Vec<u8>);

    /// Appends the request that confirms `key`; `claimed` is the answer to its claim.
    fn confirm(&self, key: &Key, claimed: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed>;

    /// How many keys `input`, the answer to `step`, grants: `None` while more of it must come.
    fn granted(&self, step: Step, input: &[u8]) -> Result<Option<usize>, Malformed>;
}

/// An answer that is not of the protocol.
#[derive(Debug, Error)]
#[error("a malformed answer: {0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claim,
    Confirm,
}

/// What a connection does with fresh keys, again and again. One such round is one latency.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// Claims one key.
    Claim,
    /// Claims one key, then confirms it.
    Pair,
    /// Claims this many keys with one request.
    Batch(usize),
}

impl Round {
    /// Keys a round takes.
    pub(crate) fn keys(self) -> usize {
        match self {
            Self::Claim | Self::Pair => 1,
            Self::Batch(keys) => keys,
        }
    }
}

/// When a run is over.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// After the warm-up, which is not counted, and then this long.
    Elapsed { warm_up: Duration, measured: Duration },
    /// After this many rounds, all counted.
    Rounds(usize),
}

/// One run of the generator.
pub(crate) struct Load<'a> {
    pub(crate) target: &'a Target,
    pub(crate) dialect: &'a dyn Dialect,
    pub(crate) round: Round,
    pub(crate) connections: usize,
    pub(crate) until: Until,
}

/// What a run came to.
pub(crate) struct Tally {
    /// Keys granted, warm-up included, and those of the measured time.
    pub(crate) granted: u64,
    measured: u64,
    elapsed: Duration,
    /// Of the rounds that ended in the measured time.
    pub(crate) latencies: Histogram,
    /// Keys that were not granted, warm-up included, and the first such answer.
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<String>,
}

impl Tally {
    /// Keys granted a second.
    pub(crate) fn rate(&self) -> f64 {
        self.measured as f64 / self.elapsed.as_secs_f64()
    }
}

/// Why a run could not be measured.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    #[error("a connection failed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("no answer for {} s", STALL.as_secs())]
    Stalled,
}

impl Load<'_> {
    /// Runs to the end and waits for the last answers, so that every key taken from `keys` has been answered.
    pub(crate) fn run(&self, keys: &mut Keys) -> Result<Tally, LoadError> {
        let mut poll = Poll::new()?;
        let mut connections = Vec::with_capacity(self.connections);
        for number in 0..self.connections {
            let mut connection = Connection::open(self.target)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(connection.socket(), Token(number), interest)?;
            connections.push(connection);
        }
        let mut run = Run::new(self, keys);
        for connection in &mut connections {
            run.next_round(connection, Instant::now())?;
        }
        let mut events = Events::with_capacity(self.connections);
        while run.in_flight > 0 {
            wait(&mut poll, &mut events)?;
            for event in &events {
                let connection = &mut connections[event.token().0];
                if event.is_writable() {
                    connection.send()?;
                }
                if event.is_readable() && connection.receive()? {
                    run.answered(connection)?;
                }
            }
        }
        Ok(run.finish())
    }
}

fn wait(poll: &mut Poll, events: &mut Events) -> Result<(), LoadError> {
    match poll.poll(events, Some(STALL)) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) if events.is_empty() => Err(LoadError::Stalled),
        Ok(()) => Ok(()),
    }
}

/// A run on its way.
struct Run<'a> {
    load: &'a Load<'a>,
    keys: &'a mut Keys,
    /// The measured time; open at its end when rounds are what is limited.
    begin: Instant,
    end: Option<Instant>,
    rounds_left: usize,
    in_flight: usize,
    fresh: Vec<Key>,
    tally: Tally,
}

impl<'a> Run<'a> {
    fn new(load: &'a Load<'a>, keys: &'a mut Keys) -> Self {
        let now = Instant::now();
        let (begin, end, rounds_left, elapsed) = match load.until {
            Until::Elapsed { warm_up, measured } => {
                (now + warm_up, Some(now + warm_up + measured), usize::MAX, measured)
            }
            Until::Rounds(rounds) => (now, None, rounds, Duration::ZERO),
        };
        let latencies = Histogram::new();
        let tally = Tally { granted: 0, measured: 0, elapsed, latencies, refused: 0, first_refusal: None };
        Self { load, keys, begin, end, rounds_left, in_flight: 0, fresh: Vec::new(), tally }
    }

    /// Sends a claim of fresh keys, unless the run is over.
    fn next_round(&mut self, connection: &mut Connection, now: Instant) -> Result<(), LoadError> {
        if self.rounds_left == 0 || self.end.is_some_and(|end| now >= end) {
            return Ok(());
        }
        self.rounds_left -= 1;
        self.in_flight += 1;
        self.fresh.clear();
        self.fresh.extend((0..self.load.round.keys()).map(|_| self.keys.take()));
        connection.key = self.fresh[0];
        connection.begun = now;
        connection.step = Step::Claim;
        let out = connection.outgoing();
        self.load.dialect.claim(&self.fresh, out);
        connection.send()?;
        Ok(())
    }

    /// Goes on with a connection that received something.
    fn answered(&mut self, connection: &mut Connection) -> Result<(), LoadError> {
        let Some(granted) = self.load.dialect.granted(connection.step, connection.received())? else {
            return Ok(());
        };
        if connection.step == Step::Claim && self.load.round == Round::Pair && granted == 1 {
            connection.step = Step::Confirm;
            return self.confirm(connection);
        }
        let now = Instant::now();
        self.count(granted, connection, now);
        self.in_flight -= 1;
        connection.forget_received();
        self.next_round(connection, now)
    }

    fn confirm(&mut self, connection: &mut Connection) -> Result<(), LoadError> {
        let mut request = Vec::new();
        self.load.dialect.confirm(&connection.key, connection.received(), &mut request)?;
        connection.forget_received();
        connection.outgoing().append(&mut request);
        connection.send()?;
        Ok(())
    }

    fn count(&mut self, granted: usize, connection: &Connection, now: Instant) {
        let refused = self.load.round.keys() - granted;
        if refused > 0 {
            self.tally.refused += refused as u64;
            self.tally.first_refusal.get_or_insert_with(|| connection.excerpt());
        }
        self.tally.granted += granted as u64;
        if now >= self.begin && self.end.is_none_or(|end| now < end) {
            self.tally.measured += granted as u64;
            self.tally.latencies.record(now - connection.begun);
        }
    }

    fn finish(mut self) -> Tally {
        if self.end.is_none() {
            self.tally.elapsed = self.begin.elapsed();
        }
        self.tally
    }
}
