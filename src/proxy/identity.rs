//! What an event is known by: its id, and the key that is claimed for it.

use super::Proxy;
use super::settings::{OnMissingId, RouteSettings};
use super::verdict::Verdict;
use crate::app::NO_EVENT_ID;
use crate::claim::ConfirmedTtl;
use crate::metrics::ByReason;
use crate::provider::{self, EventId, Identity, body_key_text};

/// How long the hash of a body stands for an event without an id: equal bodies are a guess, so the memory is short.
const HASH_TTL: ConfirmedTtl = ConfirmedTtl::minutes(10);

/// What is claimed for an event, and for how long it is remembered; `None` for an event without an identity.
pub(super) type EventKey = Option<(String, ConfirmedTtl)>;

impl Proxy {
    /// The id of the event, and the text and the lifetime of its key; neither where the event has no identity.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    pub(super) fn identify(
        &self,
        route: &RouteSettings,
        sent: &provider::Request<'_>,
    ) -> Result<(EventKey, Option<EventId>), Verdict> {
        match route.sender.event_id.as_ref().map(|source| source.find(sent)) {
            Some(Identity::Known(id)) => Ok((Some((id.key_text(), route.confirmed_ttl)), Some(id))),
            Some(Identity::DuplicateHeader(_)) => Err(Verdict::Unverified),
            Some(Identity::Missing(_)) | None => match route.on_missing_id {
                OnMissingId::Reject => Err(Verdict::NoId),
                OnMissingId::Hash => Ok((Some((body_key_text(sent.body), HASH_TTL)), None)),
                OnMissingId::Forward => {
                    self.count_unguarded(route);
                    Ok((None, None))
                }
            },
        }
    }

    fn count_unguarded(&self, route: &RouteSettings) {
        let labels = ByReason { namespace: route.namespace.to_string(), reason: NO_EVENT_ID };
        self.metrics.degraded.get_or_create(&labels).inc();
    }
}
