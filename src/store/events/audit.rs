//! The audit list: what people have done to events, who, and when.
//!
//! On disk a tree of numbers (8 bytes, big endian), rising with every entry. The newest [`MAX_ENTRIES`] are kept.

use super::super::Store;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::record::{decode_deed, encode_deed};
use super::work::Ask;
use crate::chain::Chain;
use crate::claim::{Namespace, Timestamp};
use crate::event::{Event, EventId, cut};

/// So many of the newest entries are kept: a few megabytes.
const MAX_ENTRIES: u64 = 10_000;
/// What is kept of the name of who has done it, and of what it was done to, in bytes.
const MAX_AUDIT_TEXT_BYTES: usize = 512;

/// Who does something: a token by its name, the socket, an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(Box<str>);

impl Actor {
    /// The actor of this name; cut to what is kept.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(cut(name, MAX_AUDIT_TEXT_BYTES).into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A dead letter is queued anew.
    Redrive,
    /// Many are.
    RedriveMany,
    /// An event is handed over again, through the guard.
    Replay,
    /// An event is handed over again, past the guard.
    Force,
    /// An event is given up for good.
    Discard,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Redrive, Self::RedriveMany, Self::Replay, Self::Force, Self::Discard];

    /// The word in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::RedriveMany => "redrive_many",
            Self::Replay => "replay",
            Self::Force => "force_replay",
            Self::Discard => "discard",
        }
    }
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// By whom.
    pub actor: Actor,
    /// What.
    pub action: Action,
    /// To what: the id of an event, or which of them.
    pub target: Box<str>,
    /// Where the claim of the event lives, for those who may see some namespaces only; `None` where it is of several or of
    /// an unknown one.
    pub namespace: Option<Namespace>,
}

impl Deed {
    /// Something done to an event.
    #[must_use]
    pub fn on(actor: &Actor, action: Action, event: &Event) -> Self {
        Self { namespace: Some(event.namespace.clone()), ..Self::on_unreadable(actor, action, event.id) }
    }

    /// Something done to an event of which only the id is known.
    pub(super) fn on_unreadable(actor: &Actor, action: Action, id: EventId) -> Self {
        Self { actor: actor.clone(), action, target: id.to_string().into(), namespace: None }
    }
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, which rises.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What was done.
    pub deed: Deed,
}

/// Some entries, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditPage {
    /// The newest first.
    pub entries: Vec<AuditEntry>,
    /// The number to go on after; `None` when that was all.
    pub next: Option<u64>,
}

impl Store {
    /// Writes down what is about to be done, or was.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn note_deed(&self, deed: Deed) -> Result<(), Fault> {
        self.ask_event(deed).await
    }

    /// Reads a page of the audit list, the newest entries first: those after `after`, which are older, and of these
    /// namespaces only.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn audit(
        &self,
        after: Option<u64>,
        namespaces: Option<Vec<Namespace>>,
        limit: usize,
    ) -> Result<AuditPage, Fault> {
        let seen = move |deed: &Deed| match (&namespaces, &deed.namespace) {
            (None, _) => true,
            (Some(seen), Some(namespace)) => seen.contains(namespace),
            (Some(_), None) => false,
        };
        let page = self.walk(move |shared| {
            shared.walked(|engine| {
                let mut page = AuditPage::default();
                let before = after.unwrap_or(u64::MAX).to_be_bytes();
                for item in engine.audit.scan_back(&before) {
                    let (name, value) = item?;
                    let Ok(number) = name.as_ref().try_into().map(u64::from_be_bytes) else { continue };
                    match decode_deed(value.as_ref()) {
                        Ok((at, deed)) if seen(&deed) => page.entries.push(AuditEntry { number, at, deed }),
                        Ok(_) => {}
                        Err(error) => {
                            tracing::error!(number, error = %Chain(&error), "the audit list leaves out what cannot be read");
                        }
                    }
                    if page.entries.len() >= limit {
                        page.next = Some(number);
                        break;
                    }
                }
                Ok(page)
            })
        });
        let page = page.await?;
        self.barrier().await?;
        Ok(page)
    }
}

impl Ask for Deed {
    type Told = ();

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<(), Fault>, EngineError> {
        desk.audit(self)?;
        Ok(Ok(()))
    }
}

impl HealthyDesk<'_> {
    /// Adds an entry to the audit list; the oldest goes where it is full.
    pub(super) fn audit(&mut self, deed: &Deed) -> Result<(), EngineError> {
        self.number();
        let tree = &self.healthy.engine.audit;
        let last = match tree.scan(b"").next_back() {
            Some(item) => item?.0.as_ref().try_into().map_or(0, u64::from_be_bytes),
            None => 0,
        };
        let deed = Deed { target: cut(&deed.target, MAX_AUDIT_TEXT_BYTES).into(), ..deed.clone() };
        tree.write(&(last + 1).to_be_bytes(), &encode_deed(self.now, &deed))?;
        match (last + 1).checked_sub(MAX_ENTRIES) {
            Some(oldest) => tree.remove(&oldest.to_be_bytes()),
            None => Ok(()),
        }
    }
}
