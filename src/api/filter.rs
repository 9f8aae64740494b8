//! By what events are chosen, in lists and for a redrive: the same words, so that what was listed is what is redriven.

use humantime::parse_rfc3339;

use super::problem::Problem;
use crate::claim::{Namespace, Timestamp};
use crate::clock::Clock;
use crate::event::Cause;

/// A cause by its name.
pub(super) fn cause(text: &str) -> Result<Cause, Problem> {
    let cause = Cause::ALL.into_iter().find(|cause| cause.as_str() == text);
    cause.ok_or_else(|| Problem::field("cause", "must be rejected, attempts_exhausted, too_old or unreachable"))
}

/// A route by its name, configured or not.
pub(super) fn route(text: &str) -> Result<Box<str>, Problem> {
    Namespace::of_route(text).map_err(|_| Problem::field("route", "must be the name of a route"))?;
    Ok(text.into())
}

/// A point in time.
pub(super) fn before(text: &str, clock: &Clock) -> Result<Timestamp, Problem> {
    let wall = parse_rfc3339(text);
    let wall = wall.map_err(|_| Problem::field("before", "must be RFC 3339 in UTC, such as 2027-01-15T08:00:00Z"));
    wall.map(|wall| clock.point(wall))
}
