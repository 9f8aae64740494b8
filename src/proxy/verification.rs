//! Whether a request is shown to be its sender's, and what is noted of the clock by which it was signed.
//!
//! What is right and what is not is decided in [`provider`]; here it is told, counted and turned into a verdict.
//! Nothing of a request or a secret is in what is told: a secret has a name for that.

use std::time::UNIX_EPOCH;

use http::uri::PathAndQuery;

use super::settings::RouteSettings;
use super::verdict::Verdict;
use super::{Proxy, Received, Topic};
use crate::metrics::ByProvider;
use crate::provider::{self, UnixSeconds, Verification};

/// The request as its sender's profile sees it. What a body decodes to may be as large as a body, and is worked out
/// once.
pub(super) fn sent<'r>(route: &RouteSettings, received: &'r Received) -> provider::Request<'r> {
    let target = received.head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    provider::Request::new(&received.head.headers, &received.body)
        .at(&received.head.method, target)
        .decoded_up_to(usize::try_from(route.max_body_bytes).unwrap_or(usize::MAX))
}

impl Proxy {
    /// Which of the secrets verifies a request, if anything verifies this route; else what a request gets that is not
    /// shown to be the sender's.
    #[expect(clippy::result_large_err, reason = "it is on its way out, once, and not worth an allocation")]
    pub(super) fn verify(&self, route: &RouteSettings, sent: &provider::Request<'_>) -> Result<Option<usize>, Verdict> {
        let Some(verifier) = &route.sender.verifier else {
            return Ok(None);
        };
        let now = self.ledger.clock().wall_now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = UnixSeconds(i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
        let (route_name, provider) = (&route.name, route.sender.provider.as_deref().unwrap_or_default());
        match verifier.verify(sent, now) {
            Verification::Verified { secret, index, skew_seconds } => {
                self.note_skew(provider, skew_seconds);
                if skew_seconds.is_some() {
                    self.ledger.clock().senders().fresh(provider);
                }
                tracing::debug!(route = %route_name, secret, skew_seconds, "verified");
                Ok(Some(index))
            }
            Verification::Stale { secret, skew_seconds } => {
                self.note_skew(provider, Some(skew_seconds));
                self.ledger.clock().senders().stale(provider, skew_seconds);
                if let Some(left_out) = self.quiet.permits(route_name, Topic::Stale) {
                    tracing::warn!(
                        route = %route_name, secret, skew_seconds, left_out,
                        "the signature is right and its timestamp out of tolerance: a late copy, or a clock that is wrong"
                    );
                }
                Err(Verdict::Stale)
            }
            Verification::Rejected(rejection) => {
                if let Some(left_out) = self.quiet.permits(route_name, Topic::Refused) {
                    tracing::info!(route = %route_name, %rejection, left_out, "refused");
                }
                Err(Verdict::Unverified)
            }
        }
    }

    fn note_skew(&self, provider: &str, skew_seconds: Option<i64>) {
        if let Some(skew_seconds) = skew_seconds {
            let labels = ByProvider { provider: provider.to_owned() };
            self.metrics.sender_clock_skew_seconds.get_or_create(&labels).set(skew_seconds);
        }
    }
}
