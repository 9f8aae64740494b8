//! Any text as a config: it is taken or its faults are told, and what is taken can be explained.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use onced::config::{self, Environment};

/// Made once: reading the built-in profiles takes longer than any config.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| Environment::default().with_inline_secrets());

fuzz_target!(|text: &str| {
    match config::parse(text, Path::new("onced.toml"), &ENVIRONMENT) {
        Ok(config) => assert!(!config::explain(&config).is_empty()),
        Err(faults) => assert!(!faults.faults().is_empty() && !faults.to_string().is_empty()),
    }
});
