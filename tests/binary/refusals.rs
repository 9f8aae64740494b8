//! Starts that must be refused: with the file and the way out in the message, exit code 1, and every byte left as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::token;
use crate::harness::{Daemon, House, Refused};

/// The files of a store, for comparison; what every start touches is left out.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !["lock", "reserve"].iter().any(|name| path.ends_with(name)) {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Starts, and is refused with all these words, nothing changed.
fn refused(house: &House, words: &[&str]) -> Refused {
    let before = content(&house.store);
    let Err(refused) = house.try_start() else {
        panic!("it started, though {words:?}");
    };
    assert_eq!(refused.status.code(), Some(1), "{}", refused.text());
    for word in words {
        assert!(refused.text().contains(word), "{word:?} is not in: {}", refused.text());
    }
    let after = content(&house.store);
    let names = |files: &BTreeMap<_, _>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "{words:?}: files came or went");
    for (path, bytes) in &before {
        assert!(after[path] == *bytes, "{words:?}: {} was changed", path.display());
    }
    refused
}

/// A store with something in it.
fn filled(ending: Ending) -> House {
    let house = House::new();
    let daemon = house.start();
    let mut client = daemon.client();
    for number in 0..50 {
        client.claim("a", &format!("k-{number}"), &token(number), "1h");
        client.confirm("a", &format!("k-{number}"));
    }
    ending.of(daemon);
    house
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    InOrder,
    Killed,
}

impl Ending {
    fn of(self, daemon: Daemon) {
        match self {
            Self::InOrder => daemon.stop(),
            Self::Killed => {
                // The mark follows within a second or so.
                thread::sleep(Duration::from_millis(2_300));
                daemon.kill();
            }
        }
    }
}

const ENDINGS: [Ending; 2] = [Ending::InOrder, Ending::Killed];

/// After what was done is undone, all is there.
fn starts_whole(house: &House) {
    let daemon = house.start();
    let mut client = daemon.client();
    for number in 0..50 {
        let answer = client.claim("a", &format!("k-{number}"), &token(999), "1s");
        assert_eq!(answer.outcome(), "done", "{}", answer.text);
    }
}

#[test]
fn a_directory_without_a_parent_is_not_made() {
    let mut house = House::new();
    house.store = house.beside("no/such");
    let refused = house.try_start().err().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.text().contains("no/such") && refused.text().contains("parent"), "{}", refused.text());
    assert!(!house.beside("no").exists());
}

#[test]
fn a_directory_that_this_user_may_not_write_to_is_named() {
    if !rustix::process::geteuid().is_root() || !crate::tools::has("setpriv") {
        crate::tools::skipped("not root");
        return;
    }
    let mut house = filled(Ending::InOrder);
    use std::os::unix::fs::PermissionsExt as _;
    let open = |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open(house.beside(""));
    open(house.store.clone());
    house.wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(ToOwned::to_owned).to_vec();
    let reachable = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_onced"), "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !reachable {
        println!("skipped: another user cannot reach the binary under test");
        return;
    }
    refused(&house, &[house.store.to_str().unwrap(), "may write"]);
    house.wrapper.clear();
    starts_whole(&house);
}

#[test]
fn a_second_daemon_on_the_same_directory_is_refused_and_the_first_goes_on() {
    let house = House::new();
    let daemon = house.start();
    assert_eq!(daemon.client().claim("a", "k", &token(1), "1h").status, 201);
    let second = house.try_start().err().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(second.text().contains("in use by another process"), "{}", second.text());
    assert_eq!(daemon.client().claim("a", "k", &token(2), "1h").outcome(), "in_progress");
}

#[test]
fn a_newer_format_is_left_alone() {
    for ending in ENDINGS {
        let house = filled(ending);
        let format = house.store.join("format");
        let ours = fs::read(&format).unwrap();
        fs::write(&format, "onced store, format 2\n").unwrap();
        refused(&house, &["format 2", "up to 1"]);
        fs::write(&format, "hello\n").unwrap();
        refused(&house, &["format is damaged"]);
        fs::write(&format, ours).unwrap();
        starts_whole(&house);
    }
}

#[test]
fn a_missing_part_is_named_and_nothing_new_is_made_in_its_place() {
    for ending in ENDINGS {
        let house = filled(ending);
        for parts in [
            &["mark"][..],
            &["format"],
            &["records"],
            &["records", "format"],
            &["records", "mark"],
            &["format", "mark"],
            &["records/db"],
            &["records/conf"],
        ] {
            for part in parts {
                fs::rename(house.store.join(part), house.beside(&part.replace('/', "-"))).unwrap();
            }
            refused(&house, &["missing", "backup"]);
            for part in parts {
                fs::rename(house.beside(&part.replace('/', "-")), house.store.join(part)).unwrap();
            }
        }
        starts_whole(&house);
    }
}

#[test]
fn a_damaged_mark_is_refused() {
    let house = filled(Ending::InOrder);
    let path = house.store.join("mark");
    let sound = fs::read(&path).unwrap();
    for position in 0..sound.len() {
        if position % 20 == 0 {
            let mut bytes = sound.clone();
            bytes[position] ^= 1;
            fs::write(&path, bytes).unwrap();
            refused(&house, &["mark is damaged"]);
        }
    }
    fs::write(&path, "").unwrap();
    refused(&house, &["mark is damaged"]);
    fs::write(&path, sound).unwrap();
    starts_whole(&house);
}

#[test]
fn a_database_cut_short_is_refused_and_left_as_it_was() {
    for ending in ENDINGS {
        let house = filled(ending);
        let db = house.store.join("records/db");
        let sound = fs::read(&db).unwrap();
        // Where the last record ends, what lies behind is padding.
        let end = sound.iter().rposition(|byte| *byte != 0).unwrap();
        for length in [0, 1, 100, end / 2, end - 100] {
            fs::write(&db, &sound[..length]).unwrap();
            refused(&house, &["records", "backup"]);
        }
        fs::write(&db, sound).unwrap();
        starts_whole(&house);
    }
}

/// A flipped bit is refused, or it hit nothing that was acknowledged: then all is there, or what is not there is told.
#[test]
fn a_flipped_bit_in_the_records_is_refused_or_harmless() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (flips, keys) = (number("ONCED_FLIPS", 8), number("ONCED_KEYS", 3_000));
    let mut random = fastrand::Rng::with_seed(crate::kill::seed());
    let (mut refusals, mut harmless, mut told) = (0, 0, 0);
    for ending in ENDINGS {
        let house = filled(ending);
        let daemon = house.start();
        let more: Vec<_> = (50..keys).map(|number| command("confirm", number)).collect();
        daemon.client().batch(&more);
        ending.of(daemon);
        let sound = content(&house.store);
        for (path, bytes) in sound.iter().filter(|(path, _)| path.starts_with(house.store.join("records"))) {
            let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            for _ in 0..flips {
                let (at, bit) = (random.usize(..end), random.u8(..8));
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                fs::write(path, flipped).unwrap();
                let damaged = content(&house.store);
                match house.try_start() {
                    Err(refused) => {
                        refusals += 1;
                        assert_eq!(refused.status.code(), Some(1), "{}", refused.text());
                        assert!(refused.text().contains("from a backup, or move it away"), "{}", refused.text());
                        assert!(damaged == content(&house.store), "something was changed");
                    }
                    Ok(daemon) => {
                        let claims: Vec<_> = (0..keys).map(|number| command("claim", number)).collect();
                        let answers = daemon.client().batch(&claims);
                        let lost = |answer: &&Value| answer["outcome"] != json!("done");
                        let silently = answers.iter().filter(lost).filter(|answer| answer["degraded"] != json!(true));
                        let place = format!("{} {at} of {end}, bit {bit}, {ending:?}", path.display());
                        assert_eq!(silently.count(), 0, "{place}");
                        told += usize::from(answers.iter().any(|answer| lost(&answer)));
                        harmless += usize::from(!answers.iter().any(|answer| lost(&answer)));
                    }
                }
                restore(&house.store, &sound);
            }
        }
    }
    println!("refused {refusals}, harmless {harmless}, told when asked {told}");
    assert!(refusals > 0);
}

fn command(verb: &str, number: u64) -> Value {
    json!({"command": verb, "namespace": "a", "key": format!("k-{number}")})
}

fn restore(dir: &Path, sound: &BTreeMap<PathBuf, Vec<u8>>) {
    fs::remove_dir_all(dir).unwrap();
    for (path, bytes) in sound {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
