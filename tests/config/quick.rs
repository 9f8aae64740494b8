//! A route from the command line alone.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use onced::config::{self, explain, quick_route};
use tempfile::TempDir;

use super::{environment, label_of};

/// A directory with a secret in it, in a file whose name TOML must not take at its word.
fn with_secret() -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a \"secret\"\\n\n\u{7f} é.txt");
    std::fs::write(&path, "It's a Secret to Everybody\n").unwrap();
    (directory, path)
}

#[test]
fn a_quick_route_is_the_defaults_and_one_route() {
    for mode in ["sync", "queue"] {
        quick_route_in(mode);
    }
}

fn quick_route_in(mode: &str) {
    let (_directory, secret) = with_secret();
    let around = environment(&[]);
    let config = quick_route("github", &secret, "http://127.0.0.1:3000/hook", mode, &around).unwrap();
    let [route] = config.routes.as_slice() else { panic!("one route") };
    assert_eq!((&*route.name, route.namespace.as_str()), ("github", "route:github"));
    assert!(label_of(route, "It's a Secret to Everybody").is_some());
    let lines = explain(&config);
    let first = format!("route github: /hooks/github, mode {mode}, github, forward_to http://127.0.0.1:3000/hook");
    assert!(lines.contains(&first), "{lines:#?}");
    let of_routes = |line: &String| ["route ", "hooks: ", "history: "].iter().all(|start| !line.starts_with(start));
    let others = |lines: Vec<String>| lines.into_iter().filter(of_routes).collect::<Vec<_>>();
    let mut embedded = config::embedded(&around);
    embedded.shutdown = config.shutdown;
    assert_eq!(others(lines), others(explain(&embedded)));
}

#[test]
fn faults_of_a_quick_route_name_the_flags() {
    let (_directory, secret) = with_secret();
    let app = "http://127.0.0.1:3000/hook";
    let nowhere = Path::new("/nowhere/\"");
    let known = "command line: --provider: is not a known provider; 'onced providers' lists those that are";
    for (provider, file, app, expected) in [
        ("git\"hub\n", &*secret, app, vec![known]),
        ("GitHub/*", &*secret, app, vec![known]),
        (
            "github",
            nowhere,
            app,
            vec!["command line: --secret-file: cannot be read: No such file or directory (os error 2)"],
        ),
        (
            "standard-webhooks",
            &*secret,
            app,
            vec![
                "command line: --secret-file: cannot be used: it is not base64 (standard alphabet), which this provider's \
                 secrets are",
            ],
        ),
        (
            "github",
            Path::new(std::ffi::OsStr::from_bytes(b"\xff")),
            app,
            vec!["command line: --secret-file: must be a path in UTF-8"],
        ),
        (
            "nobody",
            nowhere,
            "https://a\\",
            vec![
                "command line: --forward: must be an http or https URL, such as http://127.0.0.1:3000/webhooks",
                known,
                "command line: --secret-file: cannot be read: No such file or directory (os error 2)",
            ],
        ),
    ] {
        let faults = quick_route(provider, file, app, "sync", &environment(&[])).unwrap_err();
        let said = faults.to_string();
        assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{provider:?} {file:?} {app}");
    }
}
