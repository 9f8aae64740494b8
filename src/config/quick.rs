//! A route without a file: what `onced serve --provider … --secret-file … --forward …` runs on.

use std::fmt::Write as _;
use std::path::Path;

use super::faults::{ConfigFaults, Fault};
use super::{Config, Environment, parse};

/// What stands before the faults of flags.
const PLACE: &str = "command line";

/// The embedded defaults and one route: named after the provider, at `/hooks/` and that name, in this mode.
///
/// It is written as TOML and read like any other, so that there is no second way in which a route comes about.
///
/// # Errors
/// When a flag is wrong: all of them, by the names of the flags.
pub fn quick_route(
    provider: &str,
    secret_file: &Path,
    forward_to: &str,
    mode: &str,
    environment: &Environment,
) -> Result<Config, ConfigFaults> {
    let Some(secret_file) = secret_file.to_str() else {
        let fault = fault("--secret-file", "must be a path in UTF-8".to_owned());
        return Err(ConfigFaults::new(Path::new(PLACE), vec![fault]));
    };
    let text = format!(
        "[[route]]\nprovider = {provider}\nname = {provider}\npath = {path}\nsecrets = [{{ file = {file} }}]\nforward_to = {app}\nmode = {mode}\n",
        provider = quoted(provider),
        path = quoted(&format!("/hooks/{provider}")),
        file = quoted(secret_file),
        app = quoted(forward_to),
        mode = quoted(mode),
    );
    parse(&text, Path::new(PLACE), environment).map_err(|faults| by_flag(&faults))
}

/// Speaks of the flags instead of the lines of a text that nobody sees.
fn by_flag(faults: &ConfigFaults) -> ConfigFaults {
    let told = |found: &Fault| fault(flag(&found.key), found.reason.clone());
    let mut told: Vec<_> = faults.faults().iter().map(told).collect();
    // Name and path are made of the provider: what is wrong with them follows from its own fault, which stands first.
    told.dedup_by(|later, first| later.key == first.key);
    ConfigFaults::new(Path::new(PLACE), told)
}

fn flag(key: &str) -> &str {
    match key {
        "route[0].provider" | "route[0].name" | "route[0].path" => "--provider",
        "route[0].secrets" | "route[0].secrets[0].file" => "--secret-file",
        "route[0].forward_to" => "--forward",
        "route[0].mode" => "--mode",
        other => other,
    }
}

fn fault(flag: &str, reason: String) -> Fault {
    Fault { line: None, key: flag.to_owned(), reason }
}

/// A basic string of TOML 1.0: quotation marks, backslashes and control characters must not stand in it as they are.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(control)).expect("a String takes all that is written");
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}
