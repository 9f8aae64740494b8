//! The app of the proxy's tests, for events that are handed over again.
#![allow(dead_code, reason = "the proxy's tests ask more of it")]

#[path = "../proxy/harness/app.rs"]
mod app;
#[path = "../proxy/harness/message.rs"]
mod message;

pub(crate) use app::{App, Reply, Seen};

use super::harness::in_time;

/// Waits for something that must come.
async fn soon<T>(_what: &str, work: impl Future<Output = T>) -> T {
    in_time(work).await
}
