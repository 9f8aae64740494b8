//! The config from outside: what is taken, what is refused, and whether the shipped file is true.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "config/faulty.rs"]
mod faulty;
#[path = "config/good.rs"]
mod good;
#[path = "config/rows.rs"]
mod rows;
#[path = "config/secrets.rs"]
mod secrets;
#[path = "config/shipped.rs"]
mod shipped;

use std::ffi::OsString;
use std::path::Path;

use onced::config::{self, Config, ConfigFaults, Environment};

const PROVIDERS: [&str; 3] = ["github", "stripe", "standard-webhooks"];

/// An environment with these variables in which the built-in providers are known.
fn environment(variables: &[(&str, &str)]) -> Environment {
    let owned = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Environment::new(owned).with_providers(PROVIDERS)
}

fn parse(text: &str, environment: &Environment) -> Result<Config, ConfigFaults> {
    config::parse(text, Path::new("onced.toml"), environment)
}

/// What is wrong with a text, as it is printed, a line each.
fn faults(text: &str, environment: &Environment) -> Vec<String> {
    let faults = parse(text, environment).unwrap_err();
    faults.to_string().lines().map(str::to_owned).collect()
}
