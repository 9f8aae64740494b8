//! `onced` makes sure that a webhook takes effect once and is never lost, on one Linux VM, without Redis.
//!
//! # What it guarantees
//!
//! 1. No event is acknowledged before it is safe: a sender gets 2xx only when the app has answered 2xx, or, on a queue
//!    route, when the event is stored and synced. Where a failed event will not come again, it is kept as a dead letter,
//!    synced, before the failure is answered.
//! 2. A handled event is not handed over again inside its window, and its sender still gets 2xx.
//! 3. A duplicate of an unfinished attempt never gets 2xx until that attempt is known to have succeeded.
//! 4. Bytes out equal bytes in; input that fails verification changes no state.
//! 5. A claim ends only by confirm, by release with its own token, or by expiry.
//! 6. A fault of the store is never reported as "duplicate" or as a plain "claimed", and no answer speaks of a record that
//!    is not synced yet.
//!
//! The sixth has its exceptions, and each is chosen or told. With `sync = "interval"` an answer does not wait for the sync,
//! and a kill or the loss of power may take what was answered for in the last second. While the store cannot be asked, an
//! answer comes from memory and says so (`degraded`, with a reason), and what it speaks of is written when the disk is
//! back; in a namespace with `on_store_failure = "closed"` the command is refused instead.
//!
//! It does not promise exactly-once effects: a crash between the app's success and the confirm leads to a second
//! hand-over, which can be recognised by its event id and its attempt number. Nor can it keep what it has not stored: an
//! event of a sync route whose hand-over is under way when the process is killed is lost if its sender does not come again
//! (the next start says how many), and so is one that fails while the store is down or out of room.
//!
//! # Where things happen
//!
//! | Question | Answer |
//! |---|---|
//! | Where is a claim decided? | [`claim::decide`]: a record, a command and a moment in; an outcome and a change out |
//! | Where does it become durable? | `store/commit.rs`, `Committer::commit`: decide a group, write, sync once, answer |
//! | What if the process dies there? | Before the sync nobody was answered, but for a claim that the proxy was granted, whose word to its sender waits for a sync of its own ([`store::AnswerAt::Decision`]); after it the record is there. `tests/binary` kills the program fifty times and compares every answer |
//! | What if the disk fails there? | `store/outage.rs`: answers from memory, marked as degraded, written back when the disk is back |
//! | What becomes of an event that fails? | `proxy/dead_letter.rs`, `Evidence::keep`: what was sent goes into `store/events/keep.rs`, if its sender does not come again |
//! | Where does an event become safe? | `store/events/accept.rs`: what was sent, its entry, its place in the schedule and its claim, in one synced commit; what was cut off goes at the next start (`store/events/undo.rs`) |
//! | What does a reload change, and what not? | `daemon/reload.rs`, `Reloader::reload`: all of a config that holds, or nothing |
//! | Where is a webhook's life? | `proxy/mod.rs`, `Proxy::serve`, read from top to bottom |
//!
//! # The parts, in reading order
//!
//! In short, `cli → daemon → {api, proxy, sweep} → ledger → store → {clock, event} → claim`, `proxy → provider`, all that speaks
//! HTTP `→ server`, and `config →` the settings that the modules own. In full, and held by `tests/house.rs`:
//!
//! | Module | May use |
//! |---|---|
//! | `cli` | claim, clock, config, daemon, provider, server, store |
//! | `daemon` | api, app, claim, clock, config, delivery, ledger, proxy, server, store, sweep |
//! | `config` | api, app, claim, delivery, event, ledger, provider, proxy, server, store |
//! | `api` | claim, clock, delivery, event, ledger, server, store |
//! | `proxy` | app, claim, clock, event, ledger, provider, server, store |
//! | `delivery` | app, claim, clock, event, ledger, store |
//! | `app` | claim, event, server |
//! | `sweep` | ledger, store |
//! | `ledger` | claim, clock, store |
//! | `store` | claim, clock, event |
//! | `clock` | claim |
//! | `event` | claim |
//!
//! Whoever is not named uses leaves alone, which all may: [`metrics`], [`quantity`], [`quiet`], [`chain`].
//!
//! - [`claim`]: keys, lifetimes, records and the decisions on them. Pure.
//! - [`provider`]: what senders' documentation says, as data: signatures, event ids, windows. Pure.
//! - [`event`]: what is kept of events, and what failures make of it. Pure.
//! - [`clock`]: the timeline that lifetimes run on; the only place that reads the wall clock.
//! - [`store`]: reads a key, decides, writes it durably, then answers. Alone in mentioning sled and bincode.
//! - [`ledger`]: claims as the API and the proxy ask for them: defaults, waits, counts.
//! - [`sweep`]: removes what is forgotten.
//! - [`server`]: HTTP/1.1, with a limit on everything. Alone in mentioning hyper.
//! - [`app`]: a hand-over: the request for an app, sent once, and what came of it.
//! - [`api`]: the control API: claim, confirm, release, extend, and reading back.
//! - [`proxy`]: stands in front of apps: verify, claim, hand over, confirm or release.
//! - [`delivery`]: hands queued events over until they are delivered or given up on.
//! - [`config`]: TOML into the settings that the modules own; every fault in one run.
//! - [`daemon`]: puts it all together and takes it apart in order.
//! - [`cli`]: the program.
//! - [`metrics`], [`quantity`], [`quiet`], [`chain`]: leaves.

pub mod api;
pub mod app;
pub mod chain;
pub mod claim;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod delivery;
pub mod event;
pub mod ledger;
pub mod metrics;
pub mod provider;
pub mod proxy;
pub mod quantity;
pub mod quiet;
pub mod server;
pub mod store;
pub mod sweep;
