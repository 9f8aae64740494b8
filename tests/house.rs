//! The layout of `src`: who may use whom, and who alone mentions which crate.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// For every room: the rooms that it may use. Leaves may be used by all and are not listed.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("api", &["claim", "clock", "ledger", "server", "store"]),
    ("chain", &[]),
    ("claim", &[]),
    ("cli", &["claim", "clock", "config", "daemon", "server", "store"]),
    ("clock", &["claim"]),
    ("config", &["api", "claim", "ledger", "provider", "proxy", "server", "store"]),
    ("daemon", &["api", "clock", "config", "ledger", "proxy", "server", "store", "sweep"]),
    ("ledger", &["claim", "clock", "store"]),
    ("metrics", &[]),
    ("provider", &[]),
    ("proxy", &["claim", "ledger", "provider", "server", "store"]),
    ("quantity", &[]),
    ("server", &[]),
    ("store", &["claim", "clock"]),
    ("sweep", &["ledger", "store"]),
];
const LEAVES: [&str; 3] = ["chain", "metrics", "quantity"];
/// The modules that have no I/O, no clock and no async.
const PURE: [&str; 2] = ["claim", "provider"];
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

#[test]
fn every_arrow_points_the_way_it_may() {
    let rooms = rooms();
    let known: Vec<_> = MAY_USE.iter().map(|(room, _)| *room).collect();
    assert_eq!(rooms.keys().map(String::as_str).collect::<Vec<_>>(), known, "a new room belongs into the table");
    let mut arrows = 0;
    for (room, may) in MAY_USE {
        for (path, text) in &rooms[room] {
            for used in code(text).flat_map(|line| line.split("crate::").skip(1)) {
                let used: String = used.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                let fine = used == room || may.contains(&used.as_str()) || LEAVES.contains(&used.as_str());
                assert!(fine || used.is_empty(), "{} uses crate::{used}", path.display());
                arrows += 1;
            }
        }
    }
    assert!(arrows > 100, "{arrows}");
}

#[test]
fn sled_and_bincode_stay_in_the_store_and_hyper_in_the_transport() {
    for (room, files) in rooms() {
        for (path, text) in files {
            for line in code(&text) {
                let says = |name: &str| line.contains(&format!("{name}::")) || line.contains(&format!("use {name}"));
                assert!(room == "store" || !says("sled") && !says("bincode"), "{}: {line}", path.display());
                assert!(room == "server" || !says("hyper") && !says("hyper_util"), "{}: {line}", path.display());
            }
        }
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
    for (room, files) in rooms() {
        for (path, text) in files {
            let reads = code(&text).any(|line| line.contains("SystemTime::now"));
            assert!(!reads || path == Path::new("clock/source.rs"), "{room}: {}", path.display());
        }
    }
}
