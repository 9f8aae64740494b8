//! The gauges that show how many events are kept of what kind.
//!
//! They are looked up by their labels once, and then held: this runs after every change of an event.

use std::collections::HashMap;

use super::counts::{Counts, OfRoute};
use crate::event::{Cause, StateName};
use crate::metrics::{ByCause, ByRouteAndState, Gauge, Metrics};

/// By route.
#[derive(Debug, Default)]
pub(super) struct Gauges(HashMap<Box<str>, OfOne>);

/// Those of a route, each made when it has something to show first.
#[derive(Debug, Default)]
struct OfOne {
    by_state: [Option<Gauge>; StateName::ALL.len()],
    by_cause: [Option<Gauge>; Cause::ALL.len()],
}

impl Gauges {
    /// Shows what is kept of a route.
    pub(super) fn show(&mut self, route: &str, counts: &Counts, metrics: &Metrics) {
        metrics.event_bytes.set(signed(counts.bytes));
        let of_route = counts.of_route(route);
        match self.0.get_mut(route) {
            Some(held) => held.show(route, of_route, metrics),
            None => self.0.entry(route.into()).or_default().show(route, of_route, metrics),
        }
    }

    /// Shows all that is kept, and nothing that was shown before.
    pub(super) fn show_all(&mut self, counts: &Counts, metrics: &Metrics) {
        self.0.clear();
        metrics.dead_letters.clear();
        metrics.queue_events.clear();
        metrics.event_bytes.set(signed(counts.bytes));
        for route in counts.routes() {
            self.show(route, counts, metrics);
        }
    }
}

impl OfOne {
    fn show(&mut self, route: &str, of_route: OfRoute, metrics: &Metrics) {
        for (state, (gauge, count)) in StateName::ALL.iter().zip(self.by_state.iter_mut().zip(of_route.by_state)) {
            let labels = || ByRouteAndState { route: route.to_owned(), state: state.as_str() };
            set(gauge, count, || metrics.queue_events.get_or_create(&labels()).clone());
        }
        for (cause, (gauge, count)) in Cause::ALL.iter().zip(self.by_cause.iter_mut().zip(of_route.by_cause)) {
            let labels = || ByCause { route: route.to_owned(), cause: cause.as_str() };
            set(gauge, count, || metrics.dead_letters.get_or_create(&labels()).clone());
        }
    }
}

fn set(gauge: &mut Option<Gauge>, count: u64, make: impl FnOnce() -> Gauge) {
    match gauge {
        Some(gauge) => {
            gauge.set(signed(count));
        }
        None if count == 0 => {}
        None => {
            gauge.insert(make()).set(signed(count));
        }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
