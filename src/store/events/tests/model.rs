//! Random runs against a plain map, with ends, crashes and failures in between.

use std::collections::BTreeMap;

use super::*;

const KEYS: u64 = 12;
const STEPS: usize = 300;

/// What is known of an event: where it stands, and how often it was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    state: StateName,
    attempts: u32,
}

struct Run {
    home: Home,
    random: fastrand::Rng,
    events: BTreeMap<EventId, Known>,
    by_key: BTreeMap<u64, EventId>,
}

impl Run {
    fn any(&mut self, state: impl Fn(StateName) -> bool) -> Option<EventId> {
        let ids: Vec<_> = self.events.iter().filter(|(_, known)| state(known.state)).map(|(id, _)| *id).collect();
        self.random.choice(ids)
    }

    async fn step(&mut self) {
        match self.random.u8(..100) {
            0..30 => self.accept().await,
            30..50 => self.begin().await,
            50..70 => self.finish().await,
            70..76 => self.requeue().await,
            76..80 => self.discard().await,
            80..84 => self.trim().await,
            84..88 => drop(self.home.store.compact(0).await),
            88..92 => self.home.advance(Duration::from_secs(self.random.u64(..2_000))),
            92..95 => self.reopen().await,
            _ => {
                let writes = self.random.i64(..12);
                self.home.store.shared.borrow(|engine| engine.fail_after(writes)).unwrap();
            }
        }
        if self.home.store.fault().is_some() {
            self.home.come_back().await;
        }
    }

    async fn accept(&mut self) {
        let key = self.random.u64(..KEYS);
        let body = vec![key as u8; [0, 100, 5_000, 40_000][self.random.usize(..4)]];
        let before = self.by_key.get(&key).copied();
        match self.home.accept(&key.to_string(), &body).await {
            Ok(Accepted::New { id, .. }) => {
                let open = before.and_then(|before| self.events.get(&before)).map(|known| known.state);
                let closed = matches!(open, None | Some(StateName::Delivered));
                assert!(closed, "{open:?} is not handled, and its key was free");
                self.events.insert(id, Known { state: StateName::Queued, attempts: 0 });
                self.by_key.insert(key, id);
            }
            Ok(Accepted::Duplicate { requeued }) => {
                let known = before.and_then(|before| self.events.get_mut(&before));
                let was_dead = known.as_ref().is_some_and(|known| known.state == StateName::Dead);
                assert_eq!(requeued, was_dead);
                if let Some(known) = known.filter(|_| requeued) {
                    known.state = StateName::Queued;
                }
            }
            Ok(Accepted::InProgress { .. }) => panic!("nobody claims here"),
            // It is gone, whatever was written of it; unless it was a repeat, which is known better afterwards.
            Err(_) => self.learn(before).await,
        }
    }

    /// What was refused may have been written all the same: the store says.
    async fn learn(&mut self, id: Option<EventId>) {
        self.home.come_back().await;
        let Some(id) = id else { return };
        match self.home.store.event(id).await.unwrap() {
            Some(event) => {
                let known = Known { state: event.state.name(), attempts: event.delivery.attempts };
                let before = self.events.insert(id, known);
                assert!(before.is_some_and(|before| before.attempts <= known.attempts));
            }
            None => drop(self.events.remove(&id)),
        }
    }

    async fn begin(&mut self) {
        let Some(id) = self.any(|state| matches!(state, StateName::Queued | StateName::Delivering)) else { return };
        let due = self.home.event(id).await.state.due().expect("it waits");
        match self.home.store.begin(self.home.begin_ask(id, How::Scheduled(due))).await {
            Ok(Begun::Go(event)) => {
                let known = self.events.get_mut(&id).unwrap();
                *known = Known { state: StateName::Delivering, attempts: known.attempts + 1 };
                assert_eq!(event.delivery.attempts, known.attempts);
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => self.learn(Some(id)).await,
        }
    }

    async fn finish(&mut self) {
        let Some(id) = self.any(|state| state == StateName::Delivering) else { return };
        let event = self.home.event(id).await;
        let later = Timestamp::from_millis(self.home.now().as_millis() + self.random.u64(..60_000));
        let (next, state) = match self.random.u8(..3) {
            0 => (Next::Delivered, StateName::Delivered),
            1 => (Next::Retry(later), StateName::Queued),
            _ => (Next::Dead(Cause::Rejected), StateName::Dead),
        };
        let keep = self.random.bool();
        match self.home.store.finish(Finish { keep, ..self.home.ended(&event, next) }).await {
            Ok(()) if state == StateName::Delivered && !keep => drop(self.events.remove(&id)),
            Ok(()) => self.events.get_mut(&id).unwrap().state = state,
            Err(_) => self.learn(Some(id)).await,
        }
    }

    async fn requeue(&mut self) {
        let Some(id) = self.any(|_| true) else { return };
        let was_dead = self.events[&id].state == StateName::Dead;
        match self.home.store.requeue(id, Actor::new("ops"), Action::Redrive).await {
            Ok(requeued) => {
                assert_eq!(requeued, if was_dead { Requeued::Queued } else { Requeued::NotDead });
                if was_dead {
                    self.events.get_mut(&id).unwrap().state = StateName::Queued;
                }
            }
            Err(_) => self.learn(Some(id)).await,
        }
    }

    async fn discard(&mut self) {
        let Some(id) = self.any(|_| true) else { return };
        match self.home.store.discard(id, Actor::new("ops")).await {
            Ok(Discarded::Discarded) => drop(self.events.remove(&id)),
            Ok(discarded) => {
                assert_eq!((discarded, self.events[&id].state), (Discarded::Delivering, StateName::Delivering));
            }
            Err(_) => self.learn(Some(id)).await,
        }
    }

    async fn trim(&mut self) {
        let handled: Vec<_> = self.events.iter().filter(|(_, known)| known.state == StateName::Delivered).collect();
        let handled: Vec<_> = handled.into_iter().map(|(id, _)| *id).collect();
        match self.home.store.trim(Duration::from_secs(1_000), 100_000).await {
            Ok(_) | Err(_) => {
                self.home.come_back().await;
                for id in handled {
                    if self.home.store.event(id).await.unwrap().is_none() {
                        self.events.remove(&id);
                    }
                }
            }
        }
    }

    async fn reopen(&mut self) {
        // A failing disk is not part of an end in order.
        self.home.store.shared.borrow(|engine| engine.fail_after(i64::MAX)).unwrap();
        let home = std::mem::replace(&mut self.home, Home::new());
        self.home = home.reopen().await;
        let delivering = self.events.values_mut().filter(|known| known.state == StateName::Delivering);
        delivering.for_each(|known| known.state = StateName::Queued);
    }

    async fn check(&self) {
        let found: BTreeMap<_, _> = self
            .home
            .all()
            .iter()
            .map(|Kept { event, .. }| {
                (event.id, Known { state: event.state.name(), attempts: event.delivery.attempts })
            })
            .collect();
        assert_eq!(found, self.events);
        self.home.check().await;
    }
}

#[tokio::test]
async fn random_steps_ends_and_failures_leave_what_a_map_would_hold() {
    let seed = std::env::var("ONCED_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("ONCED_SEED={seed}");
    let random = fastrand::Rng::with_seed(seed);
    let mut run = Run { home: Home::new(), random, events: BTreeMap::new(), by_key: BTreeMap::new() };
    for step in 0..STEPS {
        println!("step {step}");
        run.step().await;
        run.check().await;
    }
    // The contents are there too, each that of its key.
    for id in run.events.keys() {
        let (event, content) = run.home.store.event_content(*id).await.unwrap().unwrap();
        let key: u8 = event.key.unwrap().id().parse().unwrap();
        assert!(content.body.iter().all(|byte| *byte == key) && content.body.len() as u64 == event.body_bytes);
    }
}
