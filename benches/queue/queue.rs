//! A daemon with one queue route, and what there is to know of it from outside.

use std::{
    error::Error,
    fs,
    net::SocketAddr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    fresh,
    measure::{
        app::App,
        event::{Events, Grant, SECRET},
        keys::Keys,
        load::{Load, Round, Tally, Until},
        machine::disk_bytes,
        server::{Durability, Server},
        text,
    },
};

/// Hand-overs at a time.
pub(crate) const CONCURRENCY: usize = 64;
/// How often it is looked how far the app is.
const LOOK: Duration = Duration::from_millis(20);
/// The app gets nothing for so long, and something is wrong.
const STALL: Duration = Duration::from_secs(60);

/// A daemon over a directory that outlives it, with the events that it has acknowledged.
pub(crate) struct Queue {
    pub(crate) server: Server,
    directory: TempDir,
    /// What a route of it says beside where it is and where to.
    lines: String,
    app: SocketAddr,
    pub(crate) keys: Keys,
}

impl Queue {
    /// `lines` is further ones of its route, and of its `[route.delivery]`.
    pub(crate) fn start(place: &Path, app: SocketAddr, lines: &str) -> Result<Self, Box<dyn Error>> {
        let directory = fresh(place)?;
        fs::write(directory.path().join("secret"), SECRET)?;
        let server = serve(directory.path(), app, lines)?;
        Ok(Self { server, directory, lines: lines.to_owned(), app, keys: Keys::new() })
    }

    /// Starts anew over the same store, after a stop in order or a kill.
    pub(crate) fn restarted(self, kill: bool) -> Result<Self, Box<dyn Error>> {
        let Self { server, directory, lines, app, keys } = self;
        if kill {
            server.kill()?
        } else {
            server.stop()?
        }
        let server = serve(directory.path(), app, &lines)?;
        Ok(Self { server, directory, lines, app, keys })
    }

    /// Loads it; each event that was sent was acknowledged.
    pub(crate) fn accept(&mut self, connections: usize, until: Until) -> Result<Tally, Box<dyn Error>> {
        let dialect = Events::new(&self.server.address.to_string(), Grant::Accepted);
        let target = &self.server.target(false);
        let tally = Load { target, dialect: &dialect, round: Round::Claim, connections, until }.run(&mut self.keys)?;
        match &tally.first_refusal {
            Some(refusal) => Err(format!("{} events were not accepted, first by: {refusal}", tally.refused).into()),
            None => Ok(tally),
        }
    }

    /// Waits until the app has all that was acknowledged, each once, and the queue says that it is empty. How many the app
    /// had at which time, from when it had the first.
    pub(crate) fn drain(&self, app: &App) -> Result<Vec<(Duration, u64)>, Box<dyn Error>> {
        let (accepted, mut begun, mut moved) = (self.keys.taken(), Instant::now(), Instant::now());
        let mut series: Vec<(Duration, u64)> = Vec::new();
        loop {
            let had = app.counts().distinct();
            if series.last().is_none_or(|(_, before)| had > *before) && had > 0 {
                moved = Instant::now();
                begun = if series.is_empty() { moved } else { begun };
                series.push((moved - begun, had));
            }
            if had >= accepted {
                break;
            }
            if moved.elapsed() > STALL {
                return Err(format!("of {accepted} events the app has {had}, and gets no more").into());
            }
            thread::sleep(LOOK);
        }
        self.until_empty()?;
        let sums = [app.counts().all(), app.counts().distinct(), accepted, app.counts().strangers()];
        if sums != [accepted, accepted, accepted, 0] {
            let [handled, distinct, accepted, strangers] = sums;
            let told =
                format!("{accepted} accepted, {handled} handed over, {distinct} of them once, {strangers} strangers");
            return Err(told.into());
        }
        Ok(series)
    }

    fn until_empty(&self) -> Result<(), Box<dyn Error>> {
        let begun = Instant::now();
        while self.waiting()? > 0 {
            if begun.elapsed() > STALL {
                return Err("the app has everything, and the queue is not empty".into());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// How many events the daemon says wait for a hand-over or are being handed over.
    pub(crate) fn waiting(&self) -> Result<u64, Box<dyn Error>> {
        let metrics = self.server.ask("/metrics")?;
        let states = ["state=\"queued\"", "state=\"delivering\""];
        let lines = metrics.lines().filter(|line| line.starts_with("onced_queue_events{"));
        let lines = lines.filter(|line| states.iter().any(|state| line.contains(state)));
        lines.map(|line| Ok(line.rsplit(' ').next().unwrap_or_default().parse::<u64>()?)).sum()
    }

    /// What the store takes on the disk, by kind.
    pub(crate) fn disk(&self) -> Result<Disk, Box<dyn Error>> {
        let store = self.directory.path().join("store");
        let part = |name: &str| {
            let path = store.join(name);
            if path.is_dir() { disk_bytes(&path) } else { Ok(0) }
        };
        Ok(Disk {
            total: disk_bytes(&store)?,
            records: part("records")?,
            contents: part("contents")?,
            bodies: part("events")?,
        })
    }
}

/// Bytes of disk by what is in them.
pub(crate) struct Disk {
    pub(crate) total: u64,
    /// sled: claims, events, schedule.
    records: u64,
    /// The content log.
    contents: u64,
    /// Files of a body each.
    bodies: u64,
}

impl Disk {
    pub(crate) fn describe(&self) -> String {
        let Self { total, records, contents, bodies } = self;
        let rest = total - records - contents - bodies;
        let [total, records, contents, bodies, rest] = [*total, *records, *contents, *bodies, rest].map(text::bytes);
        format!("{total} = records {records} + contents {contents} + bodies {bodies} + rest {rest}")
    }
}

fn serve(directory: &Path, app: SocketAddr, lines: &str) -> Result<Server, Box<dyn Error>> {
    let more = format!(
        "[[route]]\nname = \"github\"\npath = \"/hooks/github\"\nprovider = \"github\"\nmode = \"queue\"\n\
         secrets = [{{ file = {:?} }}]\nforward_to = \"http://{app}/hooks/github\"\n{lines}",
        directory.join("secret"),
    );
    Ok(Server::onced(directory, Durability::Always, &more, "hooks")?)
}

/// The lines of a route whose queue is to be drained.
pub(crate) fn draining(record: &str) -> String {
    // The breaker looks often enough for the app's coming to be no part of the figures.
    format!(
        "record = \"{record}\"\n[route.delivery]\nconcurrency = {CONCURRENCY}\nbackoff_base = \"1s\"\nbackoff_cap = \"2s\"\nbreaker_probe = \"100ms\"\n"
    )
}
