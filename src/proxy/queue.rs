//! Accepts an event for the queue of its route: once it is stored and synced, its sender is told so.
//!
//! What is stored is what a sync route would have handed over, so that a later hand-over is no different. A repeat gets the
//! same acknowledgement at once, whatever has become of the event: it is safe, and that is all that its sender asks. Where
//! there is no room the sender is told to come again, on any route, before the disk is full. Where the store is down, a
//! route that stays open then is as good as sync for this event ([`super::Proxy::pursue`]). If the process dies on any of
//! these lines, the sender has no answer, and the event is in the queue as a whole or not at all.

use bytes::Bytes;
use http::Response;

use super::headers::towards_app;
use super::settings::{Mode, RouteSettings};
use super::verdict::Verdict;
use super::{Event, Proxy, Received, Topic, answer};
use crate::claim::{Key, Record};
use crate::event::{Arrival, Content, HeaderLine, State};
use crate::ledger::OnStoreFailure;
use crate::store::{Accepted, Fault, NotKept, Reading};

/// What is accepted: the event, and what was sent.
type Parcel = (Arrival, Content);

impl Proxy {
    /// What the sender of an event for a queue gets; `None` where the event is to be handed over at once instead.
    pub(super) async fn accept(&self, event: &Event, received: &Received) -> Option<Verdict> {
        let route = &event.route;
        let Mode::Queue { acknowledge } = &route.mode else { return None };
        let acknowledged = || answer::acknowledgement(acknowledge);
        let (arrival, content) = match self.parcel(event, received) {
            Ok(parcel) => parcel,
            Err(verdict) => return Some(verdict),
        };
        match self.ledger.store().accept(arrival, content).await {
            Ok(accepted) => Some(self.told(route, accepted, acknowledged())),
            Err(_) if self.has(event).await => {
                Some(self.told(route, Accepted::Duplicate { requeued: false }, acknowledged()))
            }
            Err(why) => {
                if let Some(left_out) = self.quiet.permits(&route.name, Topic::NotAccepted) {
                    tracing::warn!(route = %route.name, error = %why, left_out, "an event could not be put into its queue");
                }
                match (lacks_room(&why), route.on_store_failure) {
                    (true, _) => Some(Verdict::NoRoom),
                    (false, OnStoreFailure::Closed) => Some(Verdict::StoreDown),
                    (false, OnStoreFailure::Open) => None,
                }
            }
        }
    }

    /// Whether an event that cannot be stored now is one that was, and that is not given up on: its sender has no more to wait
    /// for. A dead letter would have to be queued anew.
    async fn has(&self, event: &Event) -> bool {
        let key = event.key.as_ref().and_then(|(text, _)| Key::new(&event.route.namespace, text).ok());
        let Some(key) = key else { return false };
        let Ok(Reading { record: Some(Record::Done(done)), .. }) = self.ledger.store().read(key).await else {
            return false;
        };
        let Some(kept) = done.event else { return done.expires_at > self.ledger.clock().now() };
        match self.ledger.store().event(kept.into()).await {
            Ok(Some(kept)) => !matches!(kept.state, State::Dead { .. }),
            Ok(None) => done.expires_at > self.ledger.clock().now(),
            Err(_) => false,
        }
    }

    fn told(&self, route: &RouteSettings, accepted: Accepted, acknowledgement: Response<Bytes>) -> Verdict {
        match accepted {
            Accepted::New { id, sequence } => {
                tracing::debug!(route = %route.name, event = %id, sequence, "accepted");
                Verdict::Accepted(acknowledgement)
            }
            Accepted::Duplicate { requeued } => {
                if requeued {
                    tracing::info!(route = %route.name, "a dead letter was sent again, and is queued anew");
                }
                Verdict::Duplicate { replay: Some(acknowledgement) }
            }
            Accepted::InProgress { expires_at } => {
                Verdict::InProgress { expires_in: expires_at.since(self.ledger.clock().now()) }
            }
        }
    }

    /// Header names lose their letters here, which nobody may rely on; values keep their bytes.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    fn parcel(&self, event: &Event, received: &Received) -> Result<Parcel, Verdict> {
        let Received { head, body, origin, at } = received;
        let route = &event.route;
        let (key, confirmed_ttl) = match &event.key {
            None => (None, route.confirmed_ttl),
            Some((text, confirmed_ttl)) => {
                (Some(Key::new(&route.namespace, text).map_err(|_| Verdict::NoId)?), *confirmed_ttl)
            }
        };
        let mut headers = head.headers.clone();
        towards_app(&mut headers, origin);
        let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| HeaderLine {
            name: name.as_str().as_bytes().into(),
            value: value.as_bytes().into(),
        };
        let content = Content {
            // An absolute target counts as its path.
            target: head.uri.path_and_query().map_or("/", |target| target.as_str()).into(),
            sender_id: event.event_id.as_ref().map(|id| id.as_bytes().into()),
            verified_by: route.verified_by().map(Into::into),
            headers: headers.iter().map(line).collect(),
            body: body.clone(),
        };
        let arrival = Arrival {
            route: route.name.clone(),
            app: route.forward_to.app().into(),
            namespace: route.namespace.clone(),
            key,
            confirmed_ttl,
            received_at: self.ledger.clock().now().before(at.elapsed()),
        };
        Ok((arrival, content))
    }
}

/// Whether it is room that is missing, and not the store.
fn lacks_room(why: &NotKept) -> bool {
    match why {
        NotKept::LowDisk | NotKept::TooMany | NotKept::Store(Fault::DiskFull) => true,
        NotKept::File(error) => error.kind() == std::io::ErrorKind::StorageFull,
        NotKept::Store(_) => false,
    }
}
