//! `onced reload` and `SIGHUP`: the program loads its file anew, or says why not.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::client::token;
use crate::harness::House;

const PATIENCE: Duration = Duration::from_secs(30);

fn namespace(processing_ttl: &str) -> String {
    format!("[namespace.a]\nprocessing_ttl = \"{processing_ttl}\"\n")
}

#[test]
fn the_command_waits_for_the_reload_and_says_what_came_of_it() {
    let mut house = House::new();
    let daemon = house.start();
    let mut client = daemon.client();
    let mut expires_in = |key: &str| {
        let claim = json!({ "namespace": "a", "key": key, "token": token(1) });
        client.post("claim", &claim).unwrap().number("expires_in_ms")
    };
    assert!((119_000..=120_000).contains(&expires_in("before")));

    house.tables = namespace("5m");
    house.config();
    let (code, told, _) = house.ask(&daemon, &["reload"]);
    assert_eq!((code, told.as_str()), (Some(0), "reloaded; routes: 0\n"));
    assert!((299_000..=300_000).contains(&expires_in("after")));

    house.tables = namespace("0s") + "[namespace.b]\nttl = 1\n";
    house.config();
    let (code, told, why) = house.ask(&daemon, &["reload"]);
    assert_eq!((code, told.as_str()), (Some(1), ""));
    for part in ["namespace.a.processing_ttl:", "namespace.b.ttl: is unknown"] {
        assert!(why.contains(part), "{why}");
    }
    let (code, told, _) = house.ask(&daemon, &["reload", "--json"]);
    assert!(code == Some(1) && told.contains("\"reload_refused\"") && told.contains("\"faults\":["), "{told}");
    assert!((299_000..=300_000).contains(&expires_in("still")));
}

#[test]
fn a_hangup_loads_the_file_anew_and_the_log_has_what_came_of_it() {
    let mut house = House::new();
    let mut daemon = house.start();
    house.tables = namespace("5m");
    house.config();
    daemon.signal(Signal::HUP);
    assert!(daemon.log.wait_for("the config was loaded anew", PATIENCE), "{:#?}", daemon.log.lines());
    house.tables = namespace("never");
    house.config();
    daemon.signal(Signal::HUP);
    assert!(daemon.log.wait_for("the config was not loaded anew", PATIENCE), "{:#?}", daemon.log.lines());
    assert!(daemon.log.entry("namespace.a.processing_ttl").is_some(), "{:#?}", daemon.log.lines());
    daemon.terminate();
    assert!(daemon.wait(PATIENCE).success());
}

#[test]
fn callers_come_and_go_with_a_reload() {
    let mut house = House::new();
    let daemon = house.start();
    let file = house.beside("billing-token");
    std::fs::write(&file, "0123456789012345678901\n").unwrap();
    let with = ["--token-file", file.to_str().unwrap()];
    assert_eq!(house.ask(&daemon, &["claim", "a:before", with[0], with[1]]).0, Some(1));
    let with_token = format!("[[api.token]]\nname = \"billing\"\nfile = {file:?}\nscopes = [\"claim\"]\n");
    for (tables, code) in [(with_token, Some(0)), (String::new(), Some(1))] {
        house.tables = tables;
        house.config();
        assert_eq!(house.ask(&daemon, &["reload"]).0, Some(0));
        let key = format!("a:{code:?}");
        let claimed = house.ask(&daemon, &["claim", &key, with[0], with[1]]);
        assert_eq!(claimed.0, code, "{claimed:?}");
    }
}
