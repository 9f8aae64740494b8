//! Where secrets may be, and what may not be one.

use tempfile::TempDir;

use super::{environment, faults, label_of, parse};

/// A route on line 1 whose secrets are on line 2.
fn route(secrets: &str) -> String {
    format!(
        "[[route]]\nsecrets = {secrets}\nname = \"a\"\npath = \"/a\"\nprovider = \"github\"\nforward_to = \"http://a\"\n"
    )
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
    let around = environment(&[("CREDENTIALS_DIRECTORY", directory.path().to_str().unwrap()), ("WHSEC", "three")]);
    let text = route(&format!("[{{ file = {file:?} }}, {{ credential = \"dos\" }}, {{ env = \"WHSEC\" }}]"));
    let config = parse(&text, &around).unwrap();
    let label = format!("file {file}");
    let expected = [
        ("one", Some(&*label)),
        ("two", Some("credential dos")),
        ("three", Some("env WHSEC")),
        ("one\n", None),
        ("two\r", None),
    ];
    for (secret, label) in expected {
        assert_eq!(label_of(&config.routes[0], secret), label, "{secret:?}");
    }
}

#[test]
fn an_inline_secret_needs_the_operators_word() {
    let text = route("[{ inline = \"hidden\" }]");
    let [fault] = &faults(&text, &environment(&[]))[..] else { panic!("one fault") };
    assert!(fault.starts_with("onced.toml:2: route[0].secrets[0].inline: is refused"), "{fault}");
    let config = parse(&text, &environment(&[]).with_inline_secrets()).unwrap();
    assert_eq!(label_of(&config.routes[0], "hidden"), Some("inline secret"));
}

#[test]
fn what_cannot_be_a_secret_is_refused_without_being_shown() {
    let directory = TempDir::new().unwrap();
    let around = environment(&[("EMPTY", ""), ("BLANK", " hidden"), ("NEWLINES", "hidden\n\n")]);
    let file = |name: &str, bytes: &[u8]| format!("[{{ file = {:?} }}]", write(&directory, name, bytes));
    let long = "hidden".repeat(20_000);
    for (secrets, key, reason) in [
        (file("empty", b"\n"), "[0].file", "cannot be used: it is empty"),
        (
            file("lines", b"hidden\nhidden\n"),
            "[0].file",
            "cannot be used: character 7 is invisible: U+000A, control character",
        ),
        (file("nul", b"hid\0den"), "[0].file", "cannot be used: character 4 is invisible: U+0000, control character"),
        (
            file("mark", "\u{feff}hidden".as_bytes()),
            "[0].file",
            "cannot be used: character 1 is invisible: U+FEFF, byte order mark",
        ),
        (file("bytes", b"hidden\xff"), "[0].file", "cannot be used: it is not UTF-8 from byte 7 on"),
        (file("newlines", b"hidden\n\n"), "[0].file", "cannot be used: it has a blank at its end, character 7"),
        (file("long", long.as_bytes()), "[0].file", "cannot be read: too large for a secret"),
        (
            file("longish", &long.as_bytes()[..20_000]),
            "[0].file",
            "cannot be used: it has 20000 bytes; the limit is 16384",
        ),
        ("[{ file = \"/nowhere/hidden\" }]".into(), "[0].file", "cannot be read: No such file"),
        ("[{ env = \"EMPTY\" }]".into(), "[0].env", "cannot be used: it is empty"),
        ("[{ env = \"BLANK\" }]".into(), "[0].env", "cannot be used: it has a blank at its beginning, character 1"),
        ("[{ env = \"NEWLINES\" }]".into(), "[0].env", "cannot be used: it has a blank at its end, character 7"),
        ("[{ env = \"ABSENT\" }]".into(), "[0].env", "is not set in the environment"),
        ("[{ credential = \"x\" }]".into(), "[0].credential", "needs $CREDENTIALS_DIRECTORY"),
        ("[{ credential = \"../hidden\" }]".into(), "[0].credential", "must be the name of a credential"),
        ("[{}]".into(), "[0]", "needs exactly one of credential, file and env"),
        ("[{ env = \"BLANK\", file = \"x\" }]".into(), "[0]", "needs exactly one of"),
        ("[\"hidden\"]".into(), "[0]", "must be a table, not a text"),
        ("\"hidden\"".into(), "", "must be a list, not a text"),
        ("[]".into(), "", "needs at least one; only verify"),
    ] {
        let found = faults(&route(&secrets), &around).join("\n");
        assert!(found.contains(&format!("onced.toml:2: route[0].secrets{key}: {reason}")), "{secrets}: {found}");
        assert!(!found.contains("hidden"), "{found}");
    }
}

#[test]
fn every_secret_that_the_provider_cannot_decode_is_refused_in_its_place() {
    let around = environment(&[("GOOD", "whsec_aGlkZGVu"), ("HYPHEN", "hid-den"), ("SHORT", "whsec_")]);
    let secrets = r#"[{ env = "HYPHEN" }, { env = "GOOD" }, { env = "SHORT" }]"#;
    let text = route(secrets).replace("github", "standard-webhooks") + "tolerance = \"1ms\"\n";
    let reason = "cannot be used: it is not base64 (standard alphabet), which this provider's secrets are";
    assert_eq!(
        faults(&text, &around),
        [
            format!("onced.toml:2: route[0].secrets[0].env: {reason}"),
            format!("onced.toml:2: route[0].secrets[2].env: {reason}"),
            "onced.toml:7: route[0].tolerance: must be whole seconds, at least 1s; or \"off\"".to_owned(),
        ]
    );
    assert!(parse(&route(secrets), &around).is_ok(), "GitHub's are text");
}

#[test]
fn what_is_wrong_with_a_secret_hides_no_other_fault_of_its_route() {
    let text = route("[{ env = \"ABSENT\" }]") + "tolerance = \"5s\"\nevent_id = {}\n";
    let found = faults(&text, &environment(&[]));
    let keys = ["secrets[0].env", "tolerance", "event_id"];
    assert_eq!(found.len(), keys.len(), "{found:#?}");
    for (fault, key) in found.iter().zip(keys) {
        assert!(fault.contains(&format!("route[0].{key}: ")), "{fault}");
    }
}

#[test]
fn of_a_token_one_newline_goes_as_well() {
    let token = "0123456789012345678901";
    let (once, twice) = (format!("{token}\n"), format!("{token}\n\n"));
    let around = environment(&[("ONCE", &once), ("TWICE", &twice)]);
    let text = |env: &str| format!("[[api.token]]\nname = \"a\"\nenv = {env:?}\nscopes = \"claim\"\n");
    let config = parse(&text("ONCE"), &around).unwrap();
    assert!(config.api.tokens[0].token.is(token.as_bytes()));
    let reason = "must be 22 to 512 visible ASCII characters";
    assert_eq!(faults(&text("TWICE"), &around), [format!("onced.toml:3: api.token[0].env: {reason}")]);
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
        "[[route]]\nprovider = \"stripe\"\nverify = \"hidden\"\ntolerance = \"hidden\"\nsecrets = \"hidden\"\n\
         event_id = { header = \"hidden hidden\", pointer = \"hidden\" }",
        "[[route]]\nevent_id = { pointer = \"/hidden/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a\" }",
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
