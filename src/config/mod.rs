//! The config: one TOML text into the settings that the modules own.
//!
//! The text is checked whole: every fault is found in one run, with line, dotted key and reason ([`ConfigFaults`]), and
//! a config that has one is no config. Syntax comes first: a text that is no TOML has no keys to speak of. Unknown keys
//! are faults, and so are keys that only a later version takes, with a reason of their own.
//!
//! Not here: what follows from a provider (lifetimes, time-outs, whether a secret decodes). The config knows providers
//! by name alone ([`Environment`]) and leaves unset what they decide.
//!
//! In reading order: [`Environment`]; `faults`, `item` and `section`, by which any table is read; `value`, `secrets`,
//! `unique` and `listeners`, which several tables share; then a file for each table; [`explain()`].

mod api;
mod cause;
mod environment;
mod explain;
mod faults;
mod hooks;
mod item;
mod listeners;
mod namespaces;
mod route;
mod secrets;
mod section;
mod shutdown;
mod store;
mod unique;
mod value;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

pub use cause::{Cause, Causes, NamespaceCauses, RouteCauses};
pub use environment::Environment;
pub use explain::{explain, explain_route};
pub use faults::{ConfigFaults, Fault};

use crate::api::ApiSettings;
use crate::daemon::ShutdownSettings;
use crate::ledger::LedgerSettings;
use crate::proxy::{HooksSettings, RouteSettings};
use crate::store::StoreSettings;

use faults::{Faults, Reported};
use section::Section;
use unique::Unique;

/// The largest config that is read. A route takes about 500 bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Tables of later versions: recorded events, and profiles of the user's own.
const LATER: [&str; 2] = ["history", "provider"];

/// Everything that can be set, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The control API.
    pub api: ApiSettings,
    /// Where senders arrive.
    pub hooks: HooksSettings,
    /// The store.
    pub store: StoreSettings,
    /// The namespaces of the claim API.
    pub ledger: LedgerSettings,
    /// The routes, in the order of the file.
    pub routes: Vec<RouteSettings>,
    /// The end of the daemon.
    pub shutdown: ShutdownSettings,
    /// Why lifetimes are what they are.
    pub causes: Causes,
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read, is no TOML, or has faults: all of them.
pub fn load(path: &Path, environment: &Environment) -> Result<Config, ConfigFaults> {
    let text = read_bounded(path).map_err(|error| ConfigFaults::unreadable(path, error))?;
    parse(&text, path, environment)
}

/// Reads a text; `path` is for the faults.
///
/// # Errors
/// When it is no TOML, or has faults: all of them.
pub fn parse(text: &str, path: &Path, environment: &Environment) -> Result<Config, ConfigFaults> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let faults = Faults::new(text);
    if !syntax.is_empty() {
        for error in &syntax {
            faults.report(error.span().map_or(0, |span| span.start), "", error.message());
        }
        return Err(ConfigFaults::new(path, faults.into_found()));
    }
    let root = Section::new(&faults, String::new(), 0, Some(document.get_ref()));
    let config = assemble(root, environment);
    let found = faults.into_found();
    match config {
        Ok(config) if found.is_empty() => Ok(config),
        Ok(_) | Err(_) => Err(ConfigFaults::new(path, found)),
    }
}

/// What holds without any file.
#[must_use]
pub fn embedded(environment: &Environment) -> Config {
    parse("", Path::new("embedded defaults"), environment).expect("an empty text sets nothing that could be wrong")
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for a config"));
    }
    Ok(text)
}

/// Reads every table before it gives up on any. What a table needs from a faulty one is stood in for: the config is
/// refused anyway, and a fault that only follows from another one would mislead.
fn assemble(mut root: Section<'_>, environment: &Environment) -> Result<Config, Reported> {
    let mut addresses = Unique::default();
    let store = root
        .section("store")
        .and_then(|section| store::read(section, environment));
    let store_dir = store.as_ref().map_or(Path::new("."), |store| &store.dir);
    let api = root.section("api");
    let api = api.and_then(|section| api::read(section, environment, store_dir, &mut addresses));
    let namespaces = namespaces::read(root.section("defaults"), root.named("namespace"));
    let sections = root.tables("route");
    let has_routes = matches!(&sections, Ok(sections) if !sections.is_empty());
    let routes = route::read(sections, environment, namespaces.as_ref().ok());
    let hooks = root.section("hooks");
    let hooks = hooks.and_then(|section| hooks::read(section, has_routes, &mut addresses));
    let shutdown = root.section("shutdown");
    let shutdown = shutdown.and_then(|section| shutdown::read(section, longest(&routes)));
    root.finish(&LATER);
    let (namespaces, (routes, by_route)) = (namespaces?, routes?);
    Ok(Config {
        api: api?,
        hooks: hooks?,
        store: store?,
        ledger: namespaces.ledger,
        routes,
        shutdown: shutdown?,
        causes: Causes {
            defaults: namespaces.default_causes,
            by_namespace: namespaces.causes,
            by_route,
        },
    })
}

/// The longest `max_duration`; zero without routes.
fn longest(routes: &Result<route::Routes, Reported>) -> Duration {
    let routes = routes.iter().flat_map(|(routes, _)| routes);
    routes.map(|route| route.max_duration).max().unwrap_or_default()
}
