//! The accept loop. It ends when it is asked to and never on an error.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::connection::Protocol;
use super::listener::Arrival;
use super::seat::Roster;
use super::{Limits, Listener, Request, Response, Shutdown};

/// The pause after an error that is not the peer's, mostly a lack of descriptors: the next try would fail at once, and
/// a tenth of a second is enough for connections to end and too short for a sender to notice.
const PAUSE: Duration = Duration::from_millis(100);

/// How long one who was asked to leave may take before the next one is; most take microseconds.
const LEAVE: Duration = Duration::from_millis(5);

/// How often the loop's troubles are logged at most.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// Accepts connections and hands their requests to `service` until `shutdown` begins, then closes the listener. The
/// connections go on by themselves; [`Shutdown::drain`] waits for them. A handler that panics ends its own connection
/// and nothing else; a handler whose peer has gone is dropped where it awaits.
pub async fn serve<S, F>(listener: Listener, limits: Limits, service: S, shutdown: Shutdown)
where
    S: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // The drain must not find "no connection" while one is just being accepted.
    let _accepting = shutdown.tasks.token();
    let mut door = Door::new(listener, limits.max_connections);
    let protocol = Arc::new(Protocol::new(limits, shutdown.clone()));
    loop {
        let (place, arrival) = tokio::select! {
            biased;
            () = shutdown.begun() => return,
            arrived = door.next() => arrived,
        };
        // A token of its own: each poll of the parent would take one lock that all connections share.
        let seated = door.roster.seat(place, shutdown.stop.child_token());
        let (protocol, service) = (Arc::clone(&protocol), service.clone());
        shutdown.tasks.spawn(async move { protocol.converse(arrival, seated, service).await });
    }
}

/// A listener with a number of places behind it.
struct Door {
    listener: Listener,
    places: Arc<Semaphore>,
    roster: Arc<Roster>,
    last_complaint: Option<Instant>,
}

impl Door {
    fn new(listener: Listener, places: usize) -> Self {
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { listener, places, roster: Arc::default(), last_complaint: None }
    }

    /// The next connection with its place. It comes before its place is looked for, so that nobody has to leave while
    /// nobody comes; the ones behind it wait in the kernel's backlog, where they cost us nothing.
    async fn next(&mut self) -> (OwnedSemaphorePermit, Arrival) {
        loop {
            match self.listener.accept().await {
                Ok(arrival) => return (self.place().await, arrival),
                Err(error) if is_the_peers(&error) => {}
                Err(error) => {
                    self.complain("accepting a connection failed", Some(error));
                    // Descriptors are the usual lack, and an idle connection has one.
                    let pause = if self.roster.make_room() { LEAVE } else { PAUSE };
                    sleep(pause).await;
                }
            }
        }
    }

    /// A place, somebody else's if need be.
    async fn place(&mut self) -> OwnedSemaphorePermit {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return place;
        }
        let freed = Arc::clone(&self.places).acquire_owned();
        tokio::pin!(freed);
        loop {
            if !self.roster.make_room() {
                self.complain("all connections are taken and at work, the next ones wait", None);
            }
            tokio::select! {
                place = &mut freed => return place.expect("nobody closes the semaphore"),
                () = sleep(LEAVE) => {}
            }
        }
    }

    fn complain(&mut self, trouble: &str, error: Option<io::Error>) {
        let now = Instant::now();
        if self.last_complaint.is_some_and(|last| now - last < COMPLAINT_INTERVAL) {
            return;
        }
        self.last_complaint = Some(now);
        let error = error.map(tracing::field::display);
        tracing::warn!(address = self.listener.local_address(), error, "{trouble}");
    }
}

/// Errors of the connection that was to be accepted, not of accepting: the next one may be fine.
fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
