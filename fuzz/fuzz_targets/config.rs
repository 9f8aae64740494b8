//! Any text as a config: it is taken or its faults are told, and what is taken can be explained.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use onced::config::{self, Environment};

fuzz_target!(|text: &str| {
    let environment = Environment::default().with_inline_secrets();
    match config::parse(text, Path::new("onced.toml"), &environment) {
        Ok(config) => assert!(!config::explain(&config).is_empty()),
        Err(faults) => assert!(!faults.faults().is_empty() && !faults.to_string().is_empty()),
    }
});
