//! Configs that are refused: line, key and reason of every fault.

use onced::config::{self, Environment};
use tempfile::TempDir;

use super::rows::{ALONE, IN_A_ROUTE, REPLACED, ROUTE};
use super::{environment, faults, parse};

pub(super) fn around() -> Environment {
    environment(&[("S", "whsec_1"), ("T", "tttttttttttttttttttttttttttttt")])
}

/// The text has this fault and no other.
pub(super) fn assert_only(text: &str, expected: &str) {
    let found = faults(text, &around());
    let [fault] = found.as_slice() else { panic!("{text}\n{found:#?}") };
    assert!(fault.starts_with(&format!("onced.toml:{expected}")), "{text}\n{fault}\n{expected}");
}

#[test]
fn a_fault_has_its_line_key_and_reason() {
    for (text, expected) in ALONE {
        assert_only(text, expected);
    }
}

#[test]
fn a_fault_of_a_route_has_its_line_key_and_reason() {
    parse(ROUTE, &around()).unwrap();
    for (line, expected) in IN_A_ROUTE {
        assert_only(&format!("{ROUTE}{line}\n"), expected);
    }
    for (number, line, expected) in REPLACED {
        let mut lines: Vec<_> = ROUTE.lines().collect();
        lines[number - 1] = line;
        assert_only(&lines.join("\n"), expected);
    }
}

#[test]
fn two_routes_have_neither_name_nor_path_in_common() {
    let found = faults(&ROUTE.repeat(2), &around());
    assert_eq!(
        found,
        [
            "onced.toml:8: route[1].name: is the same as route[0].name",
            "onced.toml:9: route[1].path: is the same as route[0].path",
        ]
    );
}

/// The settings of a namespace are one set: of two accounts of it, one would be ignored without a word.
#[test]
fn routes_that_share_a_namespace_agree_on_it() {
    let (open, closed) = ("on_store_failure = \"open\"", "on_store_failure = \"closed\"");
    let (two, three) = ("confirmed_ttl = \"2d\"", "confirmed_ttl = \"3d\"");
    let table = "[namespace.\"route:a\"]\non_store_failure = \"closed\"\nconfirmed_ttl = \"2d\"";
    // What the two routes say, what follows them, and the line and key of the fault.
    let rows = [
        ("", "", "", ""),
        ("", open, "", ""),
        (closed, closed, "", ""),
        ("", "", table, ""),
        (closed, two, table, ""),
        (open, closed, "", "15 on_store_failure"),
        ("", closed, "", "15 on_store_failure"),
        (closed, "", "", "8 on_store_failure"),
        ("", open, table, "15 on_store_failure"),
        (two, two, "", ""),
        (two, "", "", ""),
        ("", two, "", ""),
        (two, three, "", "15 confirmed_ttl"),
        ("", three, table, "15 confirmed_ttl"),
    ];
    for (first, second, after, expected) in rows {
        let other = ROUTE.replace("name = \"a\"", "name = \"b\"\nnamespace = \"a\"").replace("/a", "/b");
        let text = format!("{ROUTE}{first}\n{other}{second}\n{after}\n");
        let found = parse(&text, &around()).map_or_else(|faults| faults.to_string(), |_| String::new());
        let expected = expected.split_once(' ').map_or_else(String::new, |(line, key)| {
            format!(
                "onced.toml:{line}: route[1].{key}: must be the same as route[0].{key}: both routes share one namespace"
            )
        });
        assert_eq!(found, expected, "{text}");
    }
    let alone = ROUTE.replace("name = \"a\"", "name = \"b\"").replace("/a", "/b");
    parse(&format!("{ROUTE}{closed}\n{two}\n{alone}{three}\n"), &around()).unwrap();
}

#[test]
fn ten_faults_are_reported_in_one_run_by_line() {
    let text = r#"[api]
listen = "0.0.0.0:8601"
sokcet = "/tmp/x"
[store]
sync = "sometimes"
cache = 64
[defaults]
confirmed_ttl = "forever"
[[route]]
name = "a"
path = "hooks"
secrets = [{ env = "ABSENT" }]
provider = "nobody"
max_duration = "60s"
processing_ttl = "30s"
"#;
    let units = "must be a whole number and a unit, one of ms, s, m, h, d";
    assert_eq!(
        faults(text, &around()),
        [
            "onced.toml:2: api.listen: reaches beyond loopback, which needs [[api.token]] and tls",
            "onced.toml:3: api.sokcet: is unknown; known here: listen, socket, loopback, tls, token",
            "onced.toml:5: store.sync: must be \"always\" or \"interval\"",
            "onced.toml:6: store.cache: must be a text in quotes, not a number without quotes",
            &format!("onced.toml:8: defaults.confirmed_ttl: {units}"),
            "onced.toml:9: route[0].forward_to: is required",
            "onced.toml:11: route[0].path: must begin with '/' and be visible ASCII without '?' and '#' (percent-encode the rest)",
            "onced.toml:12: route[0].secrets[0].env: is not set in the environment",
            "onced.toml:13: route[0].provider: is not a known provider; 'onced providers' lists those that are",
            "onced.toml:15: route[0].processing_ttl: must be at least the 1m of route[0].max_duration",
        ]
    );
}

#[test]
fn every_fault_of_syntax_is_reported() {
    let found = faults("a = \nb = 1\nb = 2\nc = \"open\n", &around());
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn a_file_that_cannot_be_read_is_a_fault_too() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("onced.toml");
    let load = || config::load(&path, &around());
    let said = load().unwrap_err().to_string();
    assert_eq!(said, format!("{}: cannot be read: No such file or directory (os error 2)", path.display()));
    std::fs::write(&path, b"\xff").unwrap();
    assert!(load().unwrap_err().to_string().contains("cannot be read: "));
    std::fs::write(&path, "#".repeat((4 << 20) + 1)).unwrap();
    assert!(load().unwrap_err().to_string().ends_with("too large for a config"));
    std::fs::write(&path, ROUTE).unwrap();
    assert_eq!(load().unwrap().routes.len(), 1);
}
