//! The config from outside: what is taken, what is refused, and whether the shipped file is true.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "config/faulty.rs"]
mod faulty;
#[path = "config/good.rs"]
mod good;
#[path = "config/queue.rs"]
mod queue;
#[path = "config/quick.rs"]
mod quick;
#[path = "config/resolved.rs"]
mod resolved;
#[path = "config/rows.rs"]
mod rows;
#[path = "config/secrets.rs"]
mod secrets;
#[path = "config/shipped.rs"]
mod shipped;
#[path = "config/warnings.rs"]
mod warnings;

use std::ffi::OsString;
use std::path::Path;

use hmac::{KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderValue};
use onced::config::{self, Config, ConfigFaults, Environment};
use onced::provider::{Request, UnixSeconds, Verification};
use onced::proxy::RouteSettings;

/// An environment with these variables.
fn environment(variables: &[(&str, &str)]) -> Environment {
    let owned = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Environment::new(owned)
}

fn parse(text: &str, environment: &Environment) -> Result<Config, ConfigFaults> {
    config::parse(text, Path::new("onced.toml"), environment)
}

/// What is wrong with a text, as it is printed, a line each.
fn faults(text: &str, environment: &Environment) -> Vec<String> {
    let faults = parse(text, environment).unwrap_err();
    faults.to_string().lines().map(str::to_owned).collect()
}

/// The label of the route's secret that this text is, judged by what GitHub would sign with it.
fn label_of<'r>(route: &'r RouteSettings, secret: &str) -> Option<&'r str> {
    let body = b"{}";
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let mut headers = HeaderMap::new();
    headers.insert("x-hub-signature-256", HeaderValue::try_from(signature).unwrap());
    let verifier = route.sender.verifier.as_ref().expect("the route verifies");
    let request = Request::new(&headers, body);
    match verifier.verify(&request, UnixSeconds(0)) {
        Verification::Verified { secret, .. } => Some(secret),
        Verification::Stale { .. } | Verification::Rejected(_) => None,
    }
}
