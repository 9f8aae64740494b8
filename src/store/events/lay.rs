//! Laying contents down in the content log for entries that are written in a later group.
//!
//! An entry goes into the database before the content log is synced. That of a new queued event is undone by its number where
//! the group fails; that of an event which is there already, or has an id without a number, is not, and would name what was
//! never written. So those take two groups: in the first their contents become safe, in the second the entries name them.
//! Whoever dies in between leaves frames that nobody names.

use super::super::Store;
use super::super::content_log::Laid;
use super::super::engine::EngineError;
use super::super::fault::Fault;
use super::super::healthy::HealthyDesk;
use super::work::{Ask, Fresh, FreshContent};
use crate::event::EventId;

impl Store {
    /// Lays these contents down; when this returns they are synced.
    pub(super) async fn lay(&self, contents: Vec<(EventId, Vec<u8>)>) -> Result<Vec<Laid>, Fault> {
        self.ask_event(Lay(contents)).await
    }

    /// The same for what was brought along, where it does not lie in a file, which is synced already.
    pub(super) async fn lay_fresh(&self, id: EventId, fresh: Fresh) -> Result<Fresh, Fault> {
        let FreshContent::Small(content) = fresh.content else {
            return Ok(fresh);
        };
        let laid = self.lay(vec![(id, content)]).await?.pop().ok_or(Fault::Database)?;
        Ok(Fresh { content: FreshContent::Laid(laid), ..fresh })
    }
}

#[derive(Debug)]
struct Lay(Vec<(EventId, Vec<u8>)>);

impl Ask for Lay {
    /// Where they are, in their order.
    type Told = Vec<Laid>;

    fn decide(&self, desk: &mut HealthyDesk<'_>) -> Result<Result<Vec<Laid>, Fault>, EngineError> {
        desk.number();
        Ok(Ok(self.0.iter().map(|(id, content)| desk.log.lay(*id, content)).collect()))
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}
