//! The unit and the account, judged by systemd itself.
//!
//! Where there is no systemd the tests say so and judge nothing; in CI, which has it, they fail.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use onced::config::{self, Environment};
use onced::quantity::parse_duration;
use tempfile::TempDir;

/// The exposure that the sandbox must not exceed, in tenths: what is left is being a network service at all.
const MAX_EXPOSURE_TENTHS: &str = "12";

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd").join(name)
}

fn unit() -> String {
    std::fs::read_to_string(shipped("onced.service")).unwrap()
}

/// `None`, and a word about it, where the program is absent and may be.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
            println!("skipped: there is no {program} here");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

/// The unit as shipped, but for the path of the program: what is verified here is not installed.
fn unit_of_the_built_program(directory: &TempDir) -> String {
    let built = format!("={} ", env!("CARGO_BIN_EXE_onced"));
    let text = unit().replace("=/usr/bin/onced ", &built);
    assert_eq!(text.matches(&built).count(), 2, "the unit runs /usr/bin/onced to start and to reload");
    let path = directory.path().join("onced.service");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn systemd_has_nothing_to_say_about_the_unit() {
    let directory = TempDir::new().unwrap();
    let unit = unit_of_the_built_program(&directory);
    let Some(output) = run("systemd-analyze", &["verify", &unit]) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn the_sandbox_stays_as_tight_as_it_is() {
    let directory = TempDir::new().unwrap();
    let unit = unit_of_the_built_program(&directory);
    let threshold = format!("--threshold={MAX_EXPOSURE_TENTHS}");
    let Some(output) = run("systemd-analyze", &["security", "--offline=yes", &threshold, &unit]) else {
        return;
    };
    let report = String::from_utf8_lossy(&output.stdout);
    let score = report.lines().find(|line| line.contains("Overall exposure level"));
    println!("{}", score.unwrap_or("no score"));
    assert!(output.status.success() && score.is_some(), "{report}");
}

#[test]
fn the_account_is_what_systemd_sysusers_takes() {
    let root = TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("etc")).unwrap();
    let (root, file) = (format!("--root={}", root.path().display()), shipped("onced.sysusers"));
    let Some(output) = run("systemd-sysusers", &["--dry-run", &root, file.to_str().unwrap()]) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Creating user 'onced'"), "{said}");
}

/// A length in the unit.
fn seconds(key: &str) -> Duration {
    let unit = unit();
    let value = unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    parse_duration(&format!("{value}s")).unwrap()
}

/// A recovery that takes longer than systemd's own 90 s would be killed at every restart, and begin anew each time.
#[test]
fn systemd_waits_for_a_long_recovery() {
    assert!(seconds("TimeoutStartSec=") >= Duration::from_secs(20 * 60));
}

/// systemd would otherwise kill what the drain still waits for.
#[test]
fn systemd_waits_longer_than_the_default_drain() {
    let text = "[[route]]\nname = \"a\"\npath = \"/a\"\nforward_to = \"http://a\"\nverify = \"none\"\n\
                event_id = { header = \"Id\" }\n";
    let config = config::parse(text, Path::new("a.toml"), &Environment::default()).unwrap();
    let stop = seconds("TimeoutStopSec=");
    assert!(stop > config.shutdown.drain + Duration::from_secs(5), "{stop:?}");
}
