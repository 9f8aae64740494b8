//! `onced providers`: the real binary, without a daemon.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::process::Command;

use onced::provider::Profiles;
use serde_json::Value;

/// What the command came to: exit code, stdout, stderr.
fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_onced")).arg("providers").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn well(args: &[&str]) -> String {
    let (exit, out, err) = run(args);
    assert_eq!((exit, err.as_str()), (0, ""), "{args:?}");
    out
}

/// A description without the breaks of its lines.
fn description(args: &[&str]) -> String {
    well(args).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_list_has_a_line_for_each_and_marks_ids_that_are_not_signed() {
    let list = well(&[]);
    let profiles = Profiles::built_in();
    let rows: Vec<_> = list.lines().skip(1).filter(|line| !line.starts_with('*')).collect();
    assert_eq!(rows.len(), profiles.iter().count());
    for (row, (name, profile)) in rows.iter().zip(profiles.iter()) {
        assert!(row.starts_with(&format!("{name} ")) && row.contains(&profile.title), "{row}");
        assert!(row.contains(profile.signature.scheme()), "{row}");
        assert_eq!(row.contains(" * "), profile.event_id_is_signed() == Some(false), "{row}");
    }
    let stripe = rows.iter().find(|row| row.starts_with("stripe ")).unwrap();
    let cells: Vec<_> = stripe.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["stripe", "Stripe", "JSON /id", "HMAC-SHA256", "3d", "30d"]);
}

/// What a description must say, in its own words.
const SAID: [(&str, &[&str]); 13] = [
    (
        "github",
        &[
            "provider github: GitHub",
            "header x-github-delivery",
            "It is not signed: a captured request can be replayed under a new id.",
            "A retry carries the same one.",
            "automatic: never",
            "asked for by a person: within 3d",
            "time-out: 10s",
            "failures are kept as dead letters: the sender never tries again by itself",
            "largest body: 25MiB",
            "confirmed_ttl 90h (5/4 of the 3d of manual redelivery at GitHub)",
            "answer_within 8s (4/5 of the 10s that GitHub waits)",
            "event id: the sender's documentation",
            "sources https://docs.github.com/",
        ],
    ),
    (
        "aws-sns",
        &[
            "parameters = { topic_arn = \"…\" }",
            "TopicArn=topic_arn",
            "failures are kept as dead letters: the sender's retries are over within the hour",
        ],
    ),
    ("jira-cloud", &["failures are kept as dead letters: the sender may end its retries early"]),
    ("sentry", &["failures are kept as dead letters: the sender does not say for how long it tries again"]),
    (
        "stripe",
        &[
            "failures are left to the sender's retries, and not kept; a queue route keeps them",
            "It is signed.",
            "any entry v1 of its list",
            "tolerance 300s",
            "time-out: is not published",
        ],
    ),
    (
        "slack",
        &["POST url_verification where JSON /type is \"url_verification\": answered with the text of JSON /challenge"],
    ),
    (
        "paypal",
        &[
            "certificate or public key as PEM; nothing is fetched",
            "parameters = { webhook_id",
            "does not cover the whole body",
        ],
    ),
    ("twilio", &["[hooks] public_url"]),
    (
        "whatsapp",
        &["There is none: every request is handed over, unguarded", "verify_token", "checked against verify_token"],
    ),
    ("mollie-classic", &["verify = \"none\"", "Nothing proves the origin of a request."]),
    ("telegram", &["Nothing is signed: whoever can send a request at all chooses its id."]),
    ("typeform", &["404, 410 would make the sender stop: such an answer of the app goes out as 503"]),
    (
        "hubspot",
        &["The body changes between attempts: on_missing_id = \"hash\" is refused.", "of every item of the body"],
    ),
];

#[test]
fn a_description_says_what_an_operator_must_know() {
    for (name, expected) in SAID {
        let found = description(&[name]);
        for sentence in expected {
            assert!(found.contains(sentence), "{name}: {sentence}\n{found}");
        }
    }
    for (name, profile) in Profiles::built_in().iter() {
        let found = description(&[name]);
        let written = profile.notes.iter().chain(&profile.sources);
        for text in written.chain(profile.event_id.iter().flat_map(|facts| &facts.pitfalls)) {
            assert!(found.contains(text.as_str()), "{name}: {text}");
        }
    }
}

#[test]
fn json_says_the_same_to_programs() {
    let all: Value = serde_json::from_str(&well(&["--json"])).unwrap();
    assert_eq!(all.as_array().unwrap().len(), Profiles::built_in().iter().count());
    let github: Value = serde_json::from_str(&well(&["github", "--json"])).unwrap();
    assert!(all.as_array().unwrap().contains(&github));
    assert_eq!(github["event_id"]["signed"], false);
    assert_eq!(github["event_id"]["stable"], "yes");
    assert_eq!(github["retry"]["manual_seconds"], 259_200);
    assert_eq!(github["retry"]["automatic"], "never");
    assert_eq!(github["retry"]["reliable"], false);
    assert_eq!(github["lifetimes"]["answer_within"]["length"], "8s");
    assert_eq!(github["grounds"]["signature"], "docs");
    assert_eq!(github["signature"]["covers_body"], true);
    let meta: Value = serde_json::from_str(&well(&["meta-graph", "--json"])).unwrap();
    assert_eq!((&meta["event_id"], meta["handshakes"].as_array().unwrap().len()), (&Value::Null, 1));
}

#[test]
fn a_provider_of_a_config_is_shown_without_its_secrets_being_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("onced.toml");
    let partner = "[[route]]\nname = \"p\"\npath = \"/p\"\nprovider = \"my-partner\"\nforward_to = \"http://127.0.0.1:1\"\n\
                   secrets = [{ file = \"/nowhere\" }]\n[provider.my-partner]\ntitle = \"My partner\"\n\
                   retry = { automatic = { within_seconds = 7_200 }, manual = \"never\" }\n\
                   event_id = { source = { header = \"X-Id\" } }\n[provider.my-partner.signature.hmac]\n\
                   algorithm = \"sha512\"\nheader = \"X-Sig\"\nsigned_string = \"{header:X-Id}{body}\"\n\
                   encoding = \"hex\"\nkey = \"text\"\n";
    std::fs::write(&file, partner).unwrap();
    let config = file.to_str().unwrap();
    let found = description(&["my-partner", "--config", config]);
    for sentence in [
        "my-partner: My partner",
        "header x-id",
        "It is signed.",
        "Whether a retry carries the same one is not documented.",
        "HMAC-SHA512 over \"{header:X-Id}{body}\" in header x-sig",
        "automatic: within 2h",
    ] {
        assert!(found.contains(sentence), "{sentence}\n{found}");
    }
    assert!(well(&["--config", config]).contains("\nmy-partner "));
    assert!(!well(&[]).contains("my-partner"));

    std::fs::write(&file, partner.replace("sha512", "sha3")).unwrap();
    let (exit, out, err) = run(&["my-partner", "--config", config]);
    assert_eq!((exit, out.as_str()), (78, ""));
    assert!(err.contains(":12: provider.my-partner: unknown variant `sha3`"), "{err}");
}

#[test]
fn an_unknown_name_is_wrong_usage() {
    let (exit, out, err) = run(&["strype"]);
    assert_eq!((exit, out.as_str()), (2, ""));
    assert!(err.contains("there is no provider \"strype\"") && err.contains("'onced providers'"), "{err}");
}
