//! Which route a path belongs to: the exact one, else the longest prefix. Paths are compared as they arrived, byte by
//! byte.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::settings::RouteSettings;
use crate::app::RoutePath;

/// Attempts of one route that may be under way at once, those that wait for another included. They go on without their
/// senders, each with its body, for up to `max_duration`: an app that hangs would gather them without end.
pub(super) const MAX_ATTEMPTS: usize = 1_000;
/// Handshakes of one route that may be with the app at once and that nobody has signed. Anybody can send them, so they
/// have places of their own, where they take none from events; and a sender asks now and then, one at a time.
pub(super) const MAX_UNSIGNED_HANDSHAKES: usize = 32;

/// The routes by path.
#[derive(Debug)]
pub(super) struct Table {
    exact: HashMap<Box<str>, Route>,
    /// The longest first.
    prefixes: Vec<(Box<str>, Route)>,
}

/// A route with the places for what is under way there.
#[derive(Debug)]
struct Route {
    settings: Arc<RouteSettings>,
    places: Places,
}

/// What may be under way on a route.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// One is taken for each attempt, and for each handshake that is signed.
    pub(super) signed: Arc<Semaphore>,
    /// One is taken for each handshake that is with the app and that nobody has signed.
    pub(super) unsigned: Arc<Semaphore>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'a> {
    /// To this route.
    Route(Match<'a>),
    /// Out of the part of the app that its route stands for, or may lead there for some app.
    Climbing,
    /// Nowhere.
    Nothing,
}

/// A route, and what of the path goes on to its app.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match<'a> {
    pub(super) route: &'a Arc<RouteSettings>,
    /// What may be under way there.
    pub(super) places: &'a Places,
    /// What follows the prefix; empty for an exact path.
    pub(super) suffix: &'a str,
}

impl Table {
    /// A table of these routes. A route that a table before had under the same name keeps its places: what is under way
    /// there counts as before.
    pub(super) fn new(routes: Vec<RouteSettings>, before: Option<&Self>) -> Self {
        let (mut exact, mut prefixes) = (HashMap::new(), Vec::new());
        for settings in routes {
            let path = settings.path.clone();
            let places = before.and_then(|table| table.places_of(&settings.name));
            let route = Route { settings: Arc::new(settings), places: places.unwrap_or_default() };
            match path {
                RoutePath::Exact(path) => drop(exact.insert(path, route)),
                RoutePath::Prefix(path) => prefixes.push((path, route)),
            }
        }
        prefixes.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { exact, prefixes }
    }

    pub(super) fn routes(&self) -> impl Iterator<Item = &RouteSettings> {
        self.all().map(|route| &*route.settings)
    }

    fn all(&self) -> impl Iterator<Item = &Route> {
        self.exact.values().chain(self.prefixes.iter().map(|(_, route)| route))
    }

    fn places_of(&self, name: &str) -> Option<Places> {
        self.all().find_map(|route| (&*route.settings.name == name).then(|| route.places.clone()))
    }

    pub(super) fn find<'a>(&'a self, path: &'a str) -> Found<'a> {
        if let Some(route) = self.exact.get(path) {
            return Found::Route(route.matched(""));
        }
        let fits = |(prefix, route): &'a (Box<str>, Route)| Some((route, path.strip_prefix(&**prefix)?));
        match self.prefixes.iter().find_map(fits) {
            Some((_, suffix)) if climbs(suffix) => Found::Climbing,
            Some((route, suffix)) => Found::Route(route.matched(suffix)),
            None => Found::Nothing,
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        let of = |count| Arc::new(Semaphore::new(count));
        Self { signed: of(MAX_ATTEMPTS), unsigned: of(MAX_UNSIGNED_HANDSHAKES) }
    }
}

impl Route {
    fn matched<'a>(&'a self, suffix: &'a str) -> Match<'a> {
        Match { route: &self.settings, places: &self.places, suffix }
    }
}

/// Whether a suffix could leave the part of the app that its prefix stands for. The app decodes it, perhaps before it
/// takes it apart, so `..` counts in every spelling of one decoding, between whatever some server takes for a
/// separator, and with parameters behind it (`..;x`), which some servers cut off. An app that decodes twice (`%252e`)
/// is not covered: for any other app those are letters of a name.
fn climbs(suffix: &str) -> bool {
    let plain = suffix.to_ascii_lowercase().replace("%2e", ".").replace("%3b", ";");
    let plain = plain.replace("%2f", "/").replace("%5c", "\\");
    plain.split(['/', '\\']).any(|segment| segment.split(';').next() == Some(".."))
}
