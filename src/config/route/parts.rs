//! A route's parts, each read by itself, put together: what the proxy has of it, what the delivery has, and why.

use crate::app::{ForwardTo, SigningKey};
use crate::delivery::LaneSettings;
use crate::proxy::{self, HandshakeSettings, RouteSettings, SenderSettings};

use super::super::cause::RouteCauses;
use super::Identity;
use super::delivery::Delivery;
use super::lifetimes::Lifetimes;
use super::limits::Limits;
use super::manners::Manners;
use super::mode::Mode;
use super::record::Record;

pub(super) struct Parts {
    pub(super) identity: Identity,
    pub(super) sender: SenderSettings,
    pub(super) handshakes: HandshakeSettings,
    pub(super) forward_to: ForwardTo,
    pub(super) mode: Mode,
    pub(super) lifetimes: Lifetimes,
    pub(super) manners: Manners,
    pub(super) limits: Limits,
    pub(super) delivery: Delivery,
    pub(super) signing_key: Option<SigningKey>,
}

impl Parts {
    pub(super) fn causes(&self) -> RouteCauses {
        RouteCauses {
            max_duration: self.lifetimes.max_duration.1.clone(),
            processing_ttl: self.lifetimes.processing_ttl.1.clone(),
            confirmed_ttl: self.lifetimes.confirmed_ttl.1.clone(),
            answer_within: self.lifetimes.answer_within.1.clone(),
            max_body: self.limits.max_body_bytes.1.clone(),
            on_store_failure: self.lifetimes.on_store_failure.1.clone(),
            record: self.limits.record.1.clone(),
            delivery: self.delivery.causes.clone(),
        }
    }

    pub(super) fn lane(&self) -> LaneSettings {
        let Delivery { policy, concurrency, rate, breaker_failures, breaker_probe, .. } = self.delivery;
        LaneSettings {
            route: self.identity.name.clone(),
            confirmed_ttl: self.lifetimes.confirmed_ttl.0,
            path: self.identity.path.clone(),
            forward_to: self.forward_to.clone(),
            max_duration: self.lifetimes.max_duration.0,
            signing_key: self.signing_key.clone(),
            policy,
            concurrency,
            rate,
            breaker_failures,
            breaker_probe,
            keep_delivered: self.limits.record.0 != Record::Off,
        }
    }

    pub(super) fn settings(self) -> RouteSettings {
        let Self { identity, lifetimes, manners, limits, .. } = self;
        let acknowledge = self.delivery.acknowledge;
        RouteSettings {
            name: identity.name,
            namespace: identity.namespace,
            path: identity.path,
            sender: self.sender,
            handshakes: self.handshakes,
            forward_to: self.forward_to,
            mode: match self.mode {
                Mode::Sync => proxy::Mode::Sync,
                Mode::Queue => proxy::Mode::Queue { acknowledge },
            },
            max_duration: lifetimes.max_duration.0,
            processing_ttl: lifetimes.processing_ttl.0,
            confirmed_ttl: lifetimes.confirmed_ttl.0,
            on_store_failure: lifetimes.on_store_failure.0,
            answer_within: lifetimes.answer_within.0,
            in_flight: manners.in_flight,
            duplicate_response: manners.duplicate_response,
            duplicate_answer: manners.duplicate_answer,
            on_unknown_outcome: manners.on_unknown_outcome,
            on_missing_id: manners.on_missing_id,
            max_body_bytes: limits.max_body_bytes.0,
            dangerous_statuses: limits.dangerous_statuses,
            keep_failures: limits.keep_failures,
            keep_passed: limits.record.0 == Record::All,
            signing_key: self.signing_key,
        }
    }
}
