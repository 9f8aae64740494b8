//! The config: one TOML text into the settings that the modules own.
//!
//! The text is checked whole: every fault is found in one run, with line, dotted key and reason ([`ConfigFaults`]), and
//! a config that has one is no config. Syntax comes first: a text that is no TOML has no keys to speak of. Unknown keys
//! are faults.
//!
//! A route comes out complete: what its table leaves open follows from the provider's profile ([`Environment`] has the
//! profiles), each number with its [`Cause`]; its secrets have become a verifier, and no copy of them is kept. What is
//! allowed and odd is a [`Warning`], which refuses nothing.
//!
//! In reading order: [`Environment`]; `faults`, `item` and `section`, by which any table is read; `value`, `secrets`,
//! `unique` and `listeners`, which several tables share; then a file for each table; [`quick_route`], a config from the
//! command line alone; [`explain()`].

mod api;
mod cause;
mod environment;
mod explain;
mod faults;
mod history;
mod hooks;
mod item;
mod listeners;
mod namespaces;
mod provider;
mod quick;
mod route;
mod secrets;
mod section;
mod shutdown;
mod store;
mod unique;
mod value;
mod warning;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

pub use cause::{Cause, Causes, DeliveryCauses, HistoryCauses, NamespaceCauses, RetryCauses, RouteCauses};
pub use environment::Environment;
pub use explain::explain;
pub use faults::{ConfigFaults, Fault};
pub use quick::quick_route;
pub use warning::{About, Oddity, Warning};

use crate::api::ApiSettings;
use crate::delivery::{HistorySettings, LaneSettings};
use crate::ledger::LedgerSettings;
use crate::provider::Profiles;
use crate::proxy::{HooksSettings, PublicUrl, RouteSettings};
use crate::server::ShutdownSettings;
use crate::store::StoreSettings;

use faults::{Faults, Reported};
use provider::Providers;
use route::Routes;
use section::Section;
use unique::Unique;

/// The largest config that is read. A route takes about 500 bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Stands in for the public URL of a faulty `[hooks]`.
const UNKNOWN_URL: &str = "https://unknown.invalid";

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
    /// The providers that routes can name: the built-in ones and those of the file.
    pub providers: Profiles,
    /// The routes, in the order of the file.
    pub routes: Vec<RouteSettings>,
    /// How the events of the routes are delivered, in the same order; every route has a lane.
    pub lanes: Vec<LaneSettings>,
    /// What is kept of finished events.
    pub history: HistorySettings,
    /// The end of the daemon.
    pub shutdown: ShutdownSettings,
    /// Why settings are what they are.
    pub causes: Causes,
    /// What is odd about the routes, in their order, and then about the rest.
    pub warnings: Vec<Warning>,
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
    with_root(text, path, |root| assemble(root, environment))
}

/// Reads the table that a text is; what a reader of it reports comes out as the faults of the text.
fn with_root<T>(
    text: &str,
    path: &Path,
    read: impl FnOnce(Section<'_>) -> Result<T, Reported>,
) -> Result<T, ConfigFaults> {
    let (document, syntax) = DeTable::parse_recoverable(text);
    let faults = Faults::new(text);
    if !syntax.is_empty() {
        for error in &syntax {
            faults.report(error.span().map_or(0, |span| span.start), "", error.message());
        }
        return Err(ConfigFaults::new(path, faults.into_found()));
    }
    let read = read(Section::new(&faults, String::new(), 0, Some(document.get_ref())));
    let found = faults.into_found();
    match read {
        Ok(read) if found.is_empty() => Ok(read),
        Ok(_) | Err(_) => Err(ConfigFaults::new(path, found)),
    }
}

/// Reads the providers of a file and nothing else of it: whoever asks about them need not be able to read its secrets.
///
/// # Errors
/// When the file cannot be read, is no TOML, or has faults in its providers.
pub fn providers(path: &Path, environment: &Environment) -> Result<Profiles, ConfigFaults> {
    let text = read_bounded(path).map_err(|error| ConfigFaults::unreadable(path, error))?;
    with_root(&text, path, |mut root| Providers::read(root.named("provider"), environment.profiles())?.all())
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
    let store = root.section("store").and_then(|section| store::read(section, environment));
    let store_dir = store.as_ref().map_or(Path::new("."), |store| &store.dir);
    let api = root.section("api");
    let api = api.and_then(|section| api::read(section, environment, store_dir, &mut addresses));
    let namespaces = namespaces::read(root.section("defaults"), root.named("namespace"));
    let providers = Providers::read(root.named("provider"), environment.profiles());
    let around = providers.as_ref().map_or_else(|_| environment.clone(), |providers| providers.around(environment));
    let sections = root.tables("route");
    let has_routes = matches!(&sections, Ok(sections) if !sections.is_empty());
    let hooks = root.section("hooks");
    let hooks = hooks.and_then(|section| hooks::read(section, has_routes, &mut addresses));
    let public_url = match &hooks {
        Ok(hooks) => hooks.public_url.as_ref().map(PublicUrl::as_str),
        Err(_) => Some(UNKNOWN_URL),
    };
    let routes = route::read(sections, &around, namespaces.as_ref().ok(), public_url);
    let history = root.section("history").and_then(history::read);
    let shutdown = root.section("shutdown");
    let shutdown =
        shutdown.and_then(|section| shutdown::read(section, routes.as_ref().map_or(Duration::ZERO, Routes::longest)));
    root.finish();
    let (namespaces, routes, store, shutdown) = (namespaces?, routes?, store?, shutdown?);
    let (history, history_causes) = history?;
    let mut warnings = routes.warnings;
    warnings.extend(warning::of_the_rest(&routes.settings, &shutdown, &history, &store));
    Ok(Config {
        api: api?,
        hooks: hooks?,
        store,
        ledger: namespaces.ledger,
        providers: providers?.all()?,
        routes: routes.settings,
        lanes: routes.lanes,
        history,
        shutdown,
        causes: Causes {
            defaults: namespaces.default_causes,
            by_namespace: namespaces.causes,
            by_route: routes.causes,
            history: history_causes,
        },
        warnings,
    })
}
