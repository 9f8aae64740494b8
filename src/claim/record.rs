//! What is remembered of a key, and what it amounts to at a given moment.

use super::text::{Fingerprint, Owner, Token, WorkResult};
use super::ttl::{ConfirmedTtl, Timestamp};

/// The record of one key. A key without a record is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Somebody works on it, or did and let the claim expire.
    Held(Held),
    /// Released; kept so that attempt numbers go on rising.
    Free(Free),
    /// Finished.
    Done(Done),
}

/// An unfinished claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The holder's proof.
    pub token: Token,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When it stops excluding others.
    pub expires_at: Timestamp,
    /// How long after expiry or release the attempt number is remembered: the confirmed TTL that held at the claim.
    pub retention: ConfirmedTtl,
    /// 1 for the first claim of the key.
    pub attempt: u32,
    /// The store's sequence number at the claim.
    pub fence: u64,
    /// What became of the attempt before.
    pub previous: Previous,
    /// The hash of the payload, if the holder gave one.
    pub fingerprint: Option<Fingerprint>,
    /// Who holds it, if the holder said so.
    pub owner: Option<Owner>,
}

/// A released claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Free {
    /// The attempt that was released.
    pub attempt: u32,
    /// When even this is forgotten.
    pub expires_at: Timestamp,
}

/// A finished key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// When it was confirmed first.
    pub confirmed_at: Timestamp,
    /// When it is forgotten.
    pub expires_at: Timestamp,
    /// The attempt that the first confirm belonged to.
    pub attempt: u32,
    /// The hash of the payload, from the claim.
    pub fingerprint: Option<Fingerprint>,
    /// Who held it, from the claim.
    pub owner: Option<Owner>,
    /// What the holder left.
    pub result: Option<WorkResult>,
    /// The event that was accepted with this key, whose handling may be yet to come. While it is, the key is remembered,
    /// whatever `expires_at` says.
    pub event: Option<EventRef>,
}

/// Names an event; what it is, the event log knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRef([u8; 16]);

impl EventRef {
    /// The name that these bits are.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Done {
    /// The same, remembered from now on for as long as it was at first.
    #[must_use]
    pub fn renewed(&self, now: Timestamp) -> Self {
        let ttl = ConfirmedTtl::clamped_ms(self.expires_at.as_millis().saturating_sub(self.confirmed_at.as_millis()));
        Self { expires_at: now.plus(ttl), ..self.clone() }
    }
}

/// What became of the attempt before a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Previous {
    /// There was none that is remembered.
    None,
    /// Its holder released it.
    Released,
    /// Its holder let it expire.
    Expired,
}

/// What a record amounts to at a moment, swept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Nothing is remembered.
    Absent,
    /// Nobody holds it; attempt numbers go on from here.
    Free {
        /// The last attempt.
        attempt: u32,
        /// How it ended.
        previous: Previous,
        /// When the attempt number is forgotten.
        expires_at: Timestamp,
    },
    /// Somebody holds it.
    Held(&'a Held),
    /// It is finished.
    Done(&'a Done),
}

impl Held {
    /// When the key is forgotten if nobody touches it again.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        self.expires_at.plus(self.retention)
    }
}

impl Record {
    /// What the record amounts to at `now`. A lifetime that ends at `now` has ended.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Standing<'_> {
        if self.is_gone(now) {
            return Standing::Absent;
        }
        match self {
            Self::Held(held) if now < held.expires_at => Standing::Held(held),
            Self::Held(held) => {
                Standing::Free { attempt: held.attempt, previous: Previous::Expired, expires_at: held.forgotten_at() }
            }
            Self::Free(free) => {
                Standing::Free { attempt: free.attempt, previous: Previous::Released, expires_at: free.expires_at }
            }
            Self::Done(done) => Standing::Done(done),
        }
    }

    /// Whether nothing of it counts any more, so that the sweep may remove it.
    #[must_use]
    pub fn is_gone(&self, now: Timestamp) -> bool {
        let forgotten_at = match self {
            Self::Held(held) => held.forgotten_at(),
            Self::Free(free) => free.expires_at,
            Self::Done(done) => done.expires_at,
        };
        forgotten_at <= now
    }
}
