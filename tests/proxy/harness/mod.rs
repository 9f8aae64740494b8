//! A daemon in this process, an app that does what the test tells it, and a sender that writes bytes.
//!
//! The app answers nothing by itself: it hands each request to the test as a [`Hit`], and the test says what the app
//! does. That forces the order of things without a sleep.
pub(crate) mod app;
mod event;
mod front;
mod message;
mod sender;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::timeout;

pub(crate) use app::{App, End, Reply, Seen};
pub(crate) use event::{Event, hmac, standard_digest, stripe_digest};
pub(crate) use front::{Front, route};
pub(crate) use sender::{Answer, Sender};

/// Text for GitHub and Stripe, base64 for Standard Webhooks.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Ends a test that waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, work).await {
        Ok(value) => value,
        Err(_) => panic!("this did not come: {what}"),
    }
}

/// Lets everything else run until the condition holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The machine's time in seconds, as signatures carry it.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}
