//! The breakers of all apps: routes that lead to one app share it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::breaker::{Admission, Breaker, BreakerSettings, Sign};
use crate::clock::Clock;
use crate::event::Attempt;
use crate::metrics::{ByAppAlone, Metrics};

/// By the app's name.
#[derive(Debug)]
pub(super) struct Breakers {
    apps: Mutex<HashMap<Box<str>, Arc<AppBreaker>>>,
    clock: Clock,
    metrics: Arc<Metrics>,
}

/// The breaker of one app.
#[derive(Debug)]
pub(super) struct AppBreaker {
    app: Box<str>,
    breaker: Mutex<Breaker>,
    /// Rung when something else may be admitted.
    changed: Notify,
    clock: Clock,
    metrics: Arc<Metrics>,
}

/// Leave to hand one event over. Dropped without a word of how it went, it changes nothing.
#[derive(Debug)]
pub(super) struct Pass {
    breaker: Arc<AppBreaker>,
    admission: Admission,
    /// Somebody asks for it, whatever is known of the app.
    is_forced: bool,
}

/// A pass that was given back, to be asked for again.
#[derive(Debug)]
pub(super) struct LaidDown {
    breaker: Arc<AppBreaker>,
    is_forced: bool,
}

impl Breakers {
    pub(super) fn new(clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self { apps: Mutex::default(), clock, metrics }
    }

    /// That of an app.
    pub(super) fn of(&self, app: &str) -> Arc<AppBreaker> {
        let fresh = || AppBreaker {
            app: app.into(),
            breaker: Mutex::default(),
            changed: Notify::new(),
            clock: self.clock.clone(),
            metrics: Arc::clone(&self.metrics),
        };
        let breaker = Arc::clone(self.lock().entry(app.into()).or_insert_with(|| Arc::new(fresh())));
        breaker.tell(breaker.lock().is_open());
        breaker
    }

    /// Forgets those of apps that no route leads to any more.
    pub(super) fn keep_only(&self, apps: &HashSet<String>) {
        self.lock().retain(|app, _| {
            let is_kept = apps.contains(&**app);
            if !is_kept {
                self.metrics.breaker_open.remove(&ByAppAlone { app: app.to_string() });
            }
            is_kept
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<AppBreaker>>> {
        self.apps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AppBreaker {
    /// Waits until a hand-over would be admitted.
    pub(super) async fn opens_the_way(&self) {
        loop {
            // Joined before looking: what changes in between is not missed.
            let changed = self.changed.notified();
            let Admission::Not { before } = self.lock().looks(self.clock.now()) else { return };
            match before {
                Some(probe_at) => tokio::select! {
                    () = changed => {}
                    () = self.clock.sleep_until(probe_at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Admits a hand-over, if one may begin now.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Pass> {
        match self.lock().admit(self.clock.now()) {
            Admission::Not { .. } => None,
            admission => Some(Pass { breaker: Arc::clone(self), admission, is_forced: false }),
        }
    }

    /// Admits one that somebody asks for, whatever is known of the app.
    pub(super) fn force(self: &Arc<Self>) -> Pass {
        Pass { breaker: Arc::clone(self), admission: Admission::Free, is_forced: true }
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    fn tell(&self, is_open: bool) {
        let labels = ByAppAlone { app: self.app.to_string() };
        self.metrics.breaker_open.get_or_create(&labels).set(is_open.into());
    }

    /// Nothing under the lock can break off halfway.
    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Gives it back for a while: a probe is somebody else's then.
    pub(super) fn lay_down(self) -> LaidDown {
        LaidDown { breaker: Arc::clone(&self.breaker), is_forced: self.is_forced }
    }

    /// Takes in how the hand-over went.
    pub(super) fn note(self, attempt: &Attempt, settings: BreakerSettings) {
        let Some(sign) = Sign::of(attempt) else { return };
        let breaker = Arc::clone(&self.breaker);
        let (was_open, is_open) = {
            let mut state = breaker.lock();
            let was_open = state.is_open();
            state.note(sign, self.admission, breaker.clock.now(), settings);
            (was_open, state.is_open())
        };
        if was_open == is_open {
            return;
        }
        breaker.tell(is_open);
        let app = &breaker.app;
        if is_open {
            tracing::warn!(%app, failures = settings.failures, "the app is down: its breaker is open");
        } else {
            tracing::info!(%app, "the app is back: its breaker is closed");
        }
    }
}

impl LaidDown {
    /// Asks for it again.
    pub(super) fn take_up(self) -> Option<Pass> {
        if self.is_forced { Some(self.breaker.force()) } else { self.breaker.admit() }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.admission == Admission::Probe {
            // After a word on how it went there is nothing left to withdraw.
            self.breaker.lock().withdraw();
        }
        self.breaker.changed.notify_waiters();
    }
}
