//! Where secrets may be, and what may not be one.

use onced::config::Config;
use onced::proxy::SenderSettings;
use tempfile::TempDir;

use super::{environment, faults, parse};

/// A route on line 1 whose secrets are on line 2.
fn route(secrets: &str) -> String {
    format!(
        "[[route]]\nsecrets = {secrets}\nname = \"a\"\npath = \"/a\"\nprovider = \"github\"\nforward_to = \"http://a\"\n"
    )
}

fn texts(config: &Config) -> Vec<(&str, &str)> {
    let SenderSettings::Verified { secrets, .. } = &config.routes[0].sender else {
        panic!("verified")
    };
    secrets.iter().map(|secret| (secret.label(), secret.as_str())).collect()
}

fn write(directory: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_secret_is_read_from_file_credential_and_variable() {
    let directory = TempDir::new().unwrap();
    let file = write(&directory, "unix", b"one\n");
    write(&directory, "dos", b"two\r\n");
    let around = environment(&[
        ("CREDENTIALS_DIRECTORY", directory.path().to_str().unwrap()),
        ("WHSEC", "three"),
    ]);
    let text = route(&format!(
        "[{{ file = {file:?} }}, {{ credential = \"dos\" }}, {{ env = \"WHSEC\" }}]"
    ));
    let config = parse(&text, &around).unwrap();
    let label = format!("file {file}");
    assert_eq!(
        texts(&config),
        [(&*label, "one"), ("credential dos", "two"), ("env WHSEC", "three")]
    );
}

#[test]
fn an_inline_secret_needs_the_operators_word() {
    let text = route("[{ inline = \"hidden\" }]");
    let [fault] = &faults(&text, &environment(&[]))[..] else {
        panic!("one fault")
    };
    assert!(
        fault.starts_with("onced.toml:2: route[0].secrets[0].inline: is refused"),
        "{fault}"
    );
    let config = parse(&text, &environment(&[]).with_inline_secrets()).unwrap();
    assert_eq!(texts(&config), [("inline secret", "hidden")]);
}

#[test]
fn what_cannot_be_a_secret_is_refused_without_being_shown() {
    let directory = TempDir::new().unwrap();
    let around = environment(&[("EMPTY", ""), ("BLANK", " hidden"), ("NEWLINES", "hidden\n\n")]);
    let file = |name: &str, bytes: &[u8]| format!("[{{ file = {:?} }}]", write(&directory, name, bytes));
    let long = "hidden".repeat(20_000);
    for (secrets, key, reason) in [
        (file("empty", b"\n"), "[0].file", "is an empty secret"),
        (
            file("lines", b"hidden\nhidden\n"),
            "[0].file",
            "has a blank at one end, a control character",
        ),
        (
            file("nul", b"hid\0den"),
            "[0].file",
            "has a blank at one end, a control character",
        ),
        (
            file("mark", "\u{feff}hidden".as_bytes()),
            "[0].file",
            "has a blank at one end, a control character",
        ),
        (file("bytes", b"hidden\xff"), "[0].file", "holds bytes that are no text"),
        (
            file("long", long.as_bytes()),
            "[0].file",
            "cannot be read: too large for a secret",
        ),
        (
            file("longish", &long.as_bytes()[..5_000]),
            "[0].file",
            "is longer than 4096 bytes",
        ),
        (
            "[{ file = \"/nowhere/hidden\" }]".into(),
            "[0].file",
            "cannot be read: No such file",
        ),
        ("[{ env = \"EMPTY\" }]".into(), "[0].env", "is an empty secret"),
        ("[{ env = \"BLANK\" }]".into(), "[0].env", "has a blank at one end"),
        ("[{ env = \"NEWLINES\" }]".into(), "[0].env", "has a blank at one end"),
        (
            "[{ env = \"ABSENT\" }]".into(),
            "[0].env",
            "is not set in the environment",
        ),
        (
            "[{ credential = \"x\" }]".into(),
            "[0].credential",
            "needs $CREDENTIALS_DIRECTORY",
        ),
        (
            "[{ credential = \"../hidden\" }]".into(),
            "[0].credential",
            "must be the name of a credential",
        ),
        ("[{}]".into(), "[0]", "needs exactly one of credential, file and env"),
        (
            "[{ env = \"BLANK\", file = \"x\" }]".into(),
            "[0]",
            "needs exactly one of",
        ),
        ("[\"hidden\"]".into(), "[0]", "must be a table, not a text"),
        ("\"hidden\"".into(), "", "must be a list, not a text"),
        ("[]".into(), "", "needs at least one; only verify"),
    ] {
        let found = faults(&route(&secrets), &around).join("\n");
        assert!(
            found.contains(&format!("onced.toml:2: route[0].secrets{key}: {reason}")),
            "{secrets}: {found}"
        );
        assert!(!found.contains("hidden"), "{found}");
    }
}

#[test]
fn no_secret_that_stands_in_the_wrong_place_is_repeated() {
    for text in [
        "hidden",
        "a = hidden",
        "a = \"hidden",
        "secret = \"hidden\"",
        "[api]\nlisten = \"hidden\"\nsocket = 1\nloopback = \"hidden\"\n[hooks]\npublic_url = \"hidden\"",
        "[[route]]\nname = \"HIDDEN hidden\"\nprovider = \"hidden\"\nforward_to = \"http://u:hidden@a\"\nmode = \"hidden\"",
        "[[api.token]]\nname = \"a\"\nscopes = \"hidden\"\nnamespaces = [\"HIDDEN hidden\"]\nenv = \"hidden\"",
        "[store]\ndir = [\"hidden\"]\ncache = \"hidden\"\nsync = \"hidden\"",
    ] {
        let found = faults(text, &environment(&[])).join("\n");
        assert!(!found.contains("hidden"), "{text}: {found}");
    }
}

#[test]
fn a_token_is_long_and_belongs_to_one_name() {
    let (short, long) = ("hidden".repeat(3), "hidden".repeat(4));
    let around = environment(&[("SHORT", &short), ("LONG", &long), ("ALSO", &long)]);
    let token =
        |name: &str, env: &str| format!("[[api.token]]\nname = {name:?}\nenv = {env:?}\nscopes = [\"claim\"]\n");
    let text = token("a", "SHORT") + &token("b", "LONG") + &token("c", "ALSO") + &token("b", "SHORT");
    let found = faults(&text, &around);
    assert_eq!(
        found,
        [
            "onced.toml:3: api.token[0].env: must be 22 to 512 visible ASCII characters",
            "onced.toml:11: api.token[2].env: is the same as api.token[1].env",
            "onced.toml:14: api.token[3].name: is the same as api.token[1].name",
            "onced.toml:15: api.token[3].env: must be 22 to 512 visible ASCII characters",
        ]
    );
}
