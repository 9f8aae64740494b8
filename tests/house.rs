//! The layout of `src`: who may use whom, and who alone mentions which crate. And whether the commands that texts name
//! are there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// For every room: the rooms that it may use. Leaves may be used by all and are not listed.
const MAY_USE: [(&str, &[&str]); 19] = [
    ("api", &["claim", "clock", "delivery", "event", "ledger", "server", "store"]),
    ("app", &["claim", "event", "server"]),
    ("chain", &[]),
    ("claim", &[]),
    ("cli", &["claim", "clock", "config", "daemon", "provider", "server", "store"]),
    ("clock", &["claim"]),
    ("config", &["api", "app", "claim", "delivery", "event", "ledger", "provider", "proxy", "server", "store"]),
    ("daemon", &["api", "app", "claim", "clock", "config", "delivery", "ledger", "proxy", "server", "store", "sweep"]),
    ("delivery", &["app", "claim", "clock", "event", "ledger", "store"]),
    ("event", &["claim"]),
    ("ledger", &["claim", "clock", "store"]),
    ("metrics", &[]),
    ("provider", &[]),
    ("proxy", &["app", "claim", "clock", "event", "ledger", "provider", "server", "store"]),
    ("quantity", &[]),
    ("quiet", &[]),
    ("server", &[]),
    ("store", &["claim", "clock", "event"]),
    ("sweep", &["ledger", "store"]),
];
const LEAVES: [&str; 4] = ["chain", "metrics", "quantity", "quiet"];
/// The modules that have no I/O, no clock and no async.
const PURE: [&str; 3] = ["claim", "event", "provider"];
const IMPURE: [&str; 8] =
    ["std::fs", "std::net", "std::thread", "std::time::Instant", "SystemTime", "tokio", ".await", "getrandom"];

/// Every source file below `src`, by the room that it is in.
fn rooms() -> BTreeMap<String, Vec<(PathBuf, String)>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut rooms, mut dirs) = (BTreeMap::<String, Vec<_>>::new(), vec![src.clone()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&src).unwrap();
                let room = below.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).unwrap();
                rooms.entry(room).or_default().push((below.to_owned(), text));
            }
        }
    }
    rooms.remove("lib");
    rooms.remove("main");
    rooms
}

/// The code of a file without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap())
}

/// The rooms that a file's code names behind `crate::`, also in a list of several.
fn rooms_named(text: &str) -> Vec<String> {
    let code: String = code(text).collect::<Vec<_>>().join("\n");
    let mut named = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => named.push(word(rest)),
            Some(list) => named.extend(heads(list)),
        }
    }
    named
}

/// The first word of every item of a list, up to its closing brace; what is in braces within an item is its own matter.
fn heads(list: &str) -> Vec<String> {
    let (mut heads, mut depth, mut at_head) = (Vec::new(), 0, true);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_head = true,
            _ if at_head && !character.is_whitespace() => {
                heads.push(word(&list[at..]));
                at_head = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()
}

#[test]
fn a_list_of_rooms_is_read_item_by_item() {
    let text = "use crate::{\n    store::{Store, SyncMode},\n    metrics, // no\n    api as b };\nlet x = crate::claim::Key; // crate::cli\n";
    assert_eq!(rooms_named(text), ["store", "metrics", "api", "claim"]);
}

/// How many `super::` lead from a file to the root of the crate.
fn depth(path: &Path) -> usize {
    path.iter().filter(|part| *part != "mod.rs").count()
}

/// The rooms that a file's code names by going up to the root, or beyond it from a module within the file: an arrow that the
/// table does not see.
fn rooms_named_from_below(text: &str, depth: usize) -> Vec<String> {
    let code: String = code(text).flat_map(|line| line.chars().filter(|c| !c.is_whitespace())).collect();
    let mut named = Vec::new();
    // What lies between two `super::` is empty where they follow each other.
    let mut supers = 0;
    for rest in code.split("super::").skip(1) {
        supers += 1;
        if rest.is_empty() {
            continue;
        }
        if std::mem::take(&mut supers) >= depth {
            named.extend(rest.strip_prefix('{').map_or_else(|| vec![word(rest)], heads));
        }
    }
    named.retain(|name| MAY_USE.iter().any(|(room, _)| room == name));
    named
}

/// A path in the middle of the code passed where only imports were looked at.
#[test]
fn an_arrow_by_way_of_super_is_seen_wherever_it_stands() {
    for (text, depth, named) in [
        ("use super::super::store::Store;", 2, &["store"][..]),
        ("let x = super::super::store::Store::open();", 2, &["store"]),
        ("mod tests { fn f() { super::super::super::api::Api } }", 2, &["api"]),
        ("use super::super::{\n    cli::x, // api\n    Other, store::y};", 2, &["cli", "store"]),
        ("fn f(x: super::\n        super::store::Store, y: super::super::sweep::X)", 2, &["store", "sweep"]),
        ("use super::store::Store; let x = super::store::Y;", 2, &[]),
        ("super::super::Other; // super::super::store::X", 2, &[]),
    ] {
        assert_eq!(rooms_named_from_below(text, depth), named, "{text}");
    }
}

#[test]
fn every_arrow_points_the_way_it_may() {
    let rooms = rooms();
    let known: Vec<_> = MAY_USE.iter().map(|(room, _)| *room).collect();
    assert_eq!(rooms.keys().map(String::as_str).collect::<Vec<_>>(), known, "a new room belongs into the table");
    let mut used = BTreeSet::new();
    for (room, may) in MAY_USE {
        for (path, text) in &rooms[room] {
            for named in rooms_named(text) {
                let fine = named == room || may.contains(&&*named) || LEAVES.contains(&&*named);
                assert!(fine, "{} uses crate::{named}", path.display());
                used.insert((room, named));
            }
            let around = format!("use {}", "super::".repeat(depth(path)));
            assert!(!code(text).any(|line| line.starts_with(&around)), "{} says crate in other words", path.display());
            let hidden = rooms_named_from_below(text, depth(path));
            assert!(hidden.is_empty(), "{} names {hidden:?} by way of super", path.display());
        }
    }
    for (room, may) in MAY_USE {
        for may in may {
            assert!(used.contains(&(room, (*may).to_owned())), "{room} does not use crate::{may}, though it may");
        }
    }
}

#[test]
fn the_map_shows_the_arrows_as_they_are() {
    let map = include_str!("../src/lib.rs");
    let shown: BTreeSet<_> = map.lines().filter(|line| line.starts_with("//! | `")).collect();
    let users = MAY_USE.iter().filter(|(_, may)| !may.is_empty());
    let arrows: Vec<_> = users.map(|(room, may)| format!("//! | `{room}` | {} |", may.join(", "))).collect();
    assert_eq!(shown, arrows.iter().map(String::as_str).collect());
}

/// Crates that one place alone mentions, and that place: a room, or a file of one.
const CONFINED: [(&str, &str); 4] =
    [("sled", "store/engine"), ("bincode", "store/record"), ("hyper", "server"), ("hyper_util", "server")];

#[test]
fn each_of_these_crates_is_mentioned_in_one_place() {
    for (name, place) in CONFINED {
        let says = |line: &str| line.contains(&format!("{name}::")) || line.contains(&format!("use {name}"));
        let mut mentions = 0;
        for (path, text) in rooms().into_values().flatten() {
            for line in code(&text).filter(|line| says(line)) {
                assert!(path.starts_with(place), "{}: {line}", path.display());
                mentions += 1;
            }
        }
        assert!(mentions > 0, "{place} does not mention {name}");
    }
}

#[test]
fn what_decides_is_pure() {
    let rooms = rooms();
    let mut lines = 0;
    for room in PURE {
        let is_test = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
        for (path, text) in rooms[room].iter().filter(|(path, _)| !is_test(path)) {
            for line in code(text) {
                lines += 1;
                for word in IMPURE {
                    assert!(!line.contains(word), "{}: {line}", path.display());
                }
            }
        }
    }
    assert!(lines > 1_000, "{lines}");
}

#[test]
fn the_wall_clock_is_read_in_one_place() {
    let reads = |text: &str| code(text).any(|line| line.contains("SystemTime::now"));
    let readers = rooms().into_values().flatten().filter(|(_, text)| reads(text));
    assert_eq!(readers.map(|(path, _)| path).collect::<Vec<_>>(), [Path::new("clock/source.rs")]);
}

/// The commands that the program's help lists.
fn commands() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_onced")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let listed = help.split("Commands:\n").nth(1).unwrap().lines();
    listed.take_while(|line| line.starts_with("  ")).map(|line| word(line.trim_start())).collect()
}

/// The commands that a text tells its reader to use: `onced` and a word, in quotes, as a path, or at the beginning of a line.
fn commands_named(text: &str) -> impl Iterator<Item = String> {
    let starts = text
        .match_indices("onced ")
        .filter(|(at, _)| text[..*at].chars().last().is_none_or(|before| "`'/\n".contains(before)));
    starts.map(|(at, onced)| word(&text[at + onced.len()..])).filter(|word| !word.is_empty())
}

#[test]
fn every_command_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let commands = commands();
    let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
    let shipped = fs::read_dir(root.join("systemd")).unwrap().map(|entry| read(entry.unwrap().path()));
    let sources = [vec![read(root.join("README.md"))], shipped.collect(), rooms().into_values().flatten().collect()];
    for texts in sources {
        let mut named = 0;
        for (path, text) in &texts {
            for command in commands_named(text) {
                assert!(commands.contains(&command), "{} names 'onced {command}'", path.display());
                named += 1;
            }
        }
        assert!(named > 1, "{named} in {} texts", texts.len());
    }
}
