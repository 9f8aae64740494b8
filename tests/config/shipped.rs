//! `systemd/onced.toml`: it loads, it says the defaults, and it leaves no key out.

use std::collections::BTreeSet;

use onced::config::{self, Config, Environment};
use tempfile::TempDir;

use super::{environment, faults, parse};

const SHIPPED: &str = include_str!("../../systemd/onced.toml");

/// The file with every option taken: a `#` that a space follows begins a remark, any other one a key.
fn with_all_options() -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(option) if !option.is_empty() && !option.starts_with(' ') => format!("{option}\n"),
        _ => format!("{line}\n"),
    };
    SHIPPED.lines().map(line).collect()
}

/// The directory stands in for both `/etc/onced` and the unit's credentials.
fn with_files(directory: &TempDir) -> Environment {
    for (name, text) in [
        ("tls.crt", include_str!("../server/certificate.pem")),
        ("tls.key", include_str!("../server/key.pem")),
        ("billing-token", "0123456789012345678901\n"),
        ("stripe-whsec", "whsec_1\n"),
        ("whatsapp-app-secret", "one\n"),
        ("whatsapp-verify-token", "two\n"),
        ("my-partner-secret", "three\n"),
        ("shopify-secret", "four\n"),
        ("app.secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    environment(&[("CREDENTIALS_DIRECTORY", directory.path().to_str().unwrap())])
}

#[test]
fn the_shipped_file_says_what_holds_without_it_in_the_unit() {
    let unit = environment(&[("STATE_DIRECTORY", "/var/lib/onced"), ("RUNTIME_DIRECTORY", "/run/onced")]);
    let shipped = parse(SHIPPED, &environment(&[])).unwrap();
    let embedded = config::embedded(&unit);
    let settings = |config: &Config| {
        let Config {
            api,
            hooks,
            store,
            ledger,
            routes,
            lanes,
            history,
            shutdown,
            causes: _,
            providers: _,
            warnings: _,
        } = config;
        format!("{api:?} {hooks:?} {store:?} {ledger:?} {routes:?} {lanes:?} {history:?} {shutdown:?}")
    };
    assert_eq!(settings(&shipped), settings(&embedded));
}

#[test]
fn the_shipped_file_loads_with_every_option_taken() {
    let directory = TempDir::new().unwrap();
    let around = with_files(&directory);
    let text = with_all_options().replace("/etc/onced", directory.path().to_str().unwrap());
    let config = parse(&text, &around).unwrap();
    assert_eq!((config.routes.len(), config.api.tokens.len()), (5, 1));
    assert_eq!(config.warnings, []);
}

/// A text in which every table that the loader takes has one unknown key, and the table's header in the shipped file.
/// Inline tables stand in the line of their own key.
const ONE_STRANGER_EACH: &[(&str, &str)] = &[
    ("", "x = 1"),
    ("[api]", "[api]\nx = 1"),
    ("[[api.token]]", "[[api.token]]\nx = 1"),
    ("[api]", "[api]\ntls = { x = 1 }"),
    ("[hooks]", "[hooks]\nx = 1"),
    ("[hooks]", "[hooks]\ntls = { x = 1 }"),
    ("[store]", "[store]\nx = 1"),
    ("[defaults]", "[defaults]\nx = 1"),
    ("[namespace.stripe]", "[namespace.a]\nx = 1"),
    ("[[route]]", "[[route]]\nx = 1"),
    ("[[route]]", "[[route]]\nsecrets = [{ x = 1 }]"),
    ("[[route]]", "[[route]]\nevent_id = { x = 1 }"),
    ("[route.delivery]", "[[route]]\n[route.delivery]\nx = 1"),
    ("[route.delivery]", "[[route]]\n[route.delivery]\nacknowledge = { x = 1 }"),
    ("[history]", "[history]\nx = 1"),
    ("[shutdown]", "[shutdown]\nx = 1"),
];

/// The loader names the keys that it knows when it meets one that it does not: so it is asked, table by table.
#[test]
fn the_shipped_file_has_every_key_that_the_loader_takes() {
    let mut keys = BTreeSet::new();
    for (header, text) in ONE_STRANGER_EACH {
        let found = faults(text, &environment(&[])).join("\n");
        let (_, known) = found.split_once("x: is unknown; known here: ").expect("the stranger is reported");
        for key in known.lines().next().unwrap().split(", ") {
            keys.insert((*header, key.to_owned()));
        }
    }
    assert!(keys.len() > 50, "{keys:?}");
    let missing: Vec<_> = keys.iter().filter(|(header, key)| !mentions(header, key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Whether the shipped file shows a key: a table at the top, or `key =` in a table with that header, or a table of its
/// own below that one.
fn mentions(header: &str, key: &str) -> bool {
    if header.is_empty() {
        return [format!("[{key}]"), format!("[{key}."), format!("[[{key}]]")]
            .iter()
            .any(|table| SHIPPED.contains(table.as_str()));
    }
    let shown = format!("{key} =");
    let name = header.trim_matches(['[', ']']);
    let tables = [format!("[{name}.{key}]"), format!("[[{name}.{key}]]")];
    let mut here = false;
    SHIPPED.lines().any(|line| {
        let line = line.trim_start_matches('#');
        if line.starts_with('[') {
            here = line == header;
            return tables.iter().any(|table| line == table);
        }
        let start = |at: usize| !line[..at].ends_with(|before: char| before == '_' || before.is_alphanumeric());
        here && line.match_indices(&shown).any(|(at, _)| start(at))
    })
}
