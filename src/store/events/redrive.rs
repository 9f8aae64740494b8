//! Redrives: many dead letters queued anew by one command, in steps that survive a crash.
//!
//! On disk a tree of numbers (8 bytes, big endian), one entry for each redrive that is not finished: what it is to queue, and
//! how far it has come. A step and its progress are one commit. Only what was given up on before the redrive began is
//! queued, so nothing is queued twice by one redrive, also where it fails again at once.

use humantime::format_rfc3339_millis;

use super::super::Store;
use super::super::engine::{Engine, EngineError};
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::super::list::STEP_RECORDS;
use super::super::record::{decode_redrive, encode_redrive};
use super::audit::{Action, Actor, Deed};
use super::desk::Found;
use super::schedule::walked;
use super::work::Ask;
use super::{EventSelection, page_of};
use crate::chain::Chain;
use crate::claim::{Namespace, Timestamp};
use crate::event::{Cause, Event, EventId, State, StateName};

/// Dead letters that one step queues: some milliseconds of a commit.
const STEP_EVENTS: usize = 200;

/// Which dead letters are to be queued anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those of the route of this name only.
    pub route: Option<Box<str>>,
    /// Those of this cause only.
    pub cause: Option<Cause>,
    /// Those that were given up on before this moment only.
    pub before: Option<Timestamp>,
    /// Those of these namespaces only.
    pub namespaces: Option<Vec<Namespace>>,
}

/// A redrive as it lies on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct Redrive {
    pub(in crate::store) filter: Filter,
    /// When it began.
    pub(in crate::store) at: Timestamp,
    pub(in crate::store) actor: Actor,
    /// The last event that was looked at.
    pub(in crate::store) after: Option<EventId>,
    pub(in crate::store) requeued: u64,
}

/// A redrive, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RedriveId(u64);

impl RedriveId {
    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// How far a redrive has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many dead letters it has queued, over all its steps.
    pub requeued: u64,
    /// Whether that was all.
    pub is_done: bool,
}

impl Store {
    /// Begins a redrive. What it queues is queued by its steps.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn start_redrive(&self, filter: Filter, actor: Actor) -> Result<RedriveId, Fault> {
        let before = filter.before.map(|before| format_rfc3339_millis(self.clock.wall(before)).to_string());
        self.ask_event(Start { filter, actor, before }).await
    }

    /// Queues some dead letters of a redrive, no more than one commit takes in its stride; `None` where it is finished, or there is none.
    ///
    /// # Errors
    /// The fault of the store; the step may have been taken all the same, and is not taken twice.
    pub async fn redrive_step(&self, id: RedriveId) -> Result<Option<Progress>, Fault> {
        let found = self.walk(move |shared| walked(shared, |engine| look(engine, id))).await?;
        match found {
            Some((redrive, ids, next)) => self.ask_event(Step { id, redrive, ids, next }).await.map(Some),
            None => Ok(None),
        }
    }

    /// The redrives that are not finished, the oldest first.
    ///
    /// # Errors
    /// The fault of the store.
    pub async fn unfinished_redrives(&self) -> Result<Vec<RedriveId>, Fault> {
        let all = |engine: &Engine| -> Result<Vec<RedriveId>, EngineError> {
            let mut found = Vec::new();
            for item in engine.redrives.scan(b"") {
                let (name, value) = item?;
                let Ok(number) = name.as_ref().try_into().map(u64::from_be_bytes) else { continue };
                match decode_redrive(value.as_ref()) {
                    Ok(_) => found.push(RedriveId(number)),
                    Err(error) => tracing::error!(number, error = %Chain(&error), "a redrive cannot be read"),
                }
            }
            Ok(found)
        };
        self.walk(move |shared| walked(shared, all)).await
    }
}

type Look = (Redrive, Vec<EventId>, Option<EventId>);

/// What the next step of a redrive is to queue, and where the one after it goes on; nothing is left where that is `None`.
fn look(engine: &Engine, id: RedriveId) -> Result<Option<Look>, EngineError> {
    let Some(value) = engine.redrives.read(&id.0.to_be_bytes())? else {
        return Ok(None);
    };
    let redrive = decode_redrive(value.as_ref()).map_err(EngineError::Damaged)?;
    let selection = EventSelection {
        route: redrive.filter.route.clone(),
        state: Some(StateName::Dead),
        cause: redrive.filter.cause,
        namespaces: redrive.filter.namespaces.clone(),
        before: redrive.filter.before,
        after: redrive.after,
        limit: STEP_EVENTS,
    };
    let page = page_of(engine, &selection, STEP_RECORDS)?;
    Ok(Some((redrive, page.events.iter().map(|event| event.id).collect(), page.next)))
}

impl Redrive {
    /// Only what was given up on before it began.
    fn wants(&self, event: &Event) -> bool {
        matches!(event.state, State::Dead { since } if since < self.at)
    }
}

#[derive(Debug)]
struct Start {
    filter: Filter,
    actor: Actor,
    /// The filter's moment, as people read it.
    before: Option<String>,
}

impl Ask for Start {
    type Told = RedriveId;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<RedriveId, Fault>, EngineError> {
        // The number of its commit, so that it never comes twice.
        desk.number();
        let number = desk.healthy.shared.numbers.last();
        desk.audit(&self.deed(number))?;
        let redrive =
            Redrive { filter: self.filter.clone(), at: desk.now, actor: self.actor.clone(), after: None, requeued: 0 };
        desk.healthy.engine.redrives.write(&number.to_be_bytes(), &encode_redrive(&redrive))?;
        Ok(Ok(RedriveId(number)))
    }
}

impl Start {
    fn deed(&self, number: u64) -> Deed {
        let Filter { route, cause, before: _, namespaces } = &self.filter;
        let target = format!(
            "route={} cause={} before={} (redrive {number})",
            route.as_deref().unwrap_or("*"),
            cause.map_or("*", Cause::as_str),
            self.before.as_deref().unwrap_or("*"),
        );
        let namespace = match namespaces.as_deref() {
            Some([only]) => Some(only.clone()),
            Some(_) | None => None,
        };
        Deed { actor: self.actor.clone(), action: Action::RedriveMany, target: target.into(), namespace }
    }
}

#[derive(Debug)]
struct Step {
    id: RedriveId,
    /// As it was when the step was looked for.
    redrive: Redrive,
    ids: Vec<EventId>,
    next: Option<EventId>,
}

impl Ask for Step {
    type Told = Progress;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Progress, Fault>, EngineError> {
        let name = self.id.0.to_be_bytes();
        let there = desk.healthy.engine.redrives.read(&name)?.map(|value| decode_redrive(value.as_ref()));
        match there {
            Some(Ok(there)) if there == self.redrive => {}
            // Somebody else has taken the step.
            Some(Ok(there)) => return Ok(Ok(Progress { requeued: there.requeued, is_done: false })),
            Some(Err(_)) => return Ok(Err(Fault::Damaged)),
            None => return Ok(Ok(Progress { requeued: self.redrive.requeued, is_done: true })),
        }
        let mut requeued = self.redrive.requeued;
        for id in &self.ids {
            match desk.find(*id)? {
                Found::Kept(kept) if self.redrive.wants(&kept.event) => {
                    requeued += u64::from(desk.requeue(kept)?.is_ok_and(|requeued| requeued));
                }
                Found::Kept(_) | Found::Nothing | Found::Damaged => {}
            }
        }
        desk.number();
        let redrive = Redrive { after: self.next, requeued, ..self.redrive.clone() };
        match self.next {
            Some(_) => desk.healthy.engine.redrives.write(&name, &encode_redrive(&redrive))?,
            None => desk.healthy.engine.redrives.remove(&name)?,
        }
        Ok(Ok(Progress { requeued, is_done: self.next.is_none() }))
    }

    fn weight(&self) -> usize {
        self.ids.len()
    }
}
