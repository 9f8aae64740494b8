//! `providers`: what is known of senders, the built-in ones and those of a config.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{Exit, say};
use crate::config::{self, Environment};
use crate::provider::{Caused, Handshake, Lifetimes, Profile, Profiles, Redelivery, StatusRange};
use crate::quantity::{format_bytes, format_duration};

/// The width of a detail's topic, its blank included.
const TOPIC_WIDTH: usize = 14;
/// Where lines are broken; a narrow terminal breaks them once more.
const LINE_WIDTH: usize = 110;

#[derive(Debug, Args)]
pub(super) struct ProvidersArgs {
    /// The provider to describe; without it all are listed
    name: Option<String>,
    /// A config whose own providers are shown too
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn providers(args: &ProvidersArgs) -> Exit {
    let environment = Environment::default();
    let profiles = match &args.config {
        Some(path) => config::providers(path, &environment),
        None => Ok(Profiles::built_in()),
    };
    let profiles = match profiles {
        Ok(profiles) => profiles,
        Err(faults) => {
            eprintln!("{faults}");
            return Exit::Config;
        }
    };
    match (&args.name, args.json) {
        (None, false) => list(&profiles),
        (None, true) => {
            say(&profiles.iter().map(|(name, profile)| as_json(name, profile)).collect::<Value>().to_string())
        }
        (Some(name), as_is) => match profiles.find(name) {
            Some(profile) if as_is => say(&as_json(name, profile).to_string()),
            Some(profile) => describe(name, profile),
            None => {
                eprintln!("onced: there is no provider {name:?}; 'onced providers' lists them");
                return Exit::Usage;
            }
        },
    }
    Exit::Well
}

/// A line each, in columns.
fn list(profiles: &Profiles) {
    let heading = ["NAME", "TITLE", "EVENT ID", "SIGNATURE", "RETRIES", "REDELIVERY"].map(str::to_owned);
    let rows: Vec<_> =
        std::iter::once(heading).chain(profiles.iter().map(|(name, profile)| row(name, profile))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<_> = (0..6).map(width).collect();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        say(cells.join("  ").trim_end());
    }
    say("* The id is not signed: a captured request can be replayed under a new one.");
}

fn row(name: &str, profile: &Profile) -> [String; 6] {
    let id = profile.event_id.as_ref().map_or("none".to_owned(), |facts| {
        let mark = if profile.event_id_is_signed() == Some(false) { " *" } else { "" };
        format!("{}{mark}", facts.source.summary())
    });
    let window = |redelivery: Redelivery| redelivery.window().map_or(redelivery.to_string(), format_duration);
    [
        name.to_owned(),
        profile.title.clone(),
        id,
        profile.signature.scheme().to_owned(),
        window(profile.retry.automatic),
        window(profile.retry.manual),
    ]
}

/// Topic by topic.
fn describe(name: &str, profile: &Profile) {
    topic("provider", [format!("{name}: {}", profile.title)]);
    topic("event id", event_id(profile));
    let details = profile.signature.details();
    topic("signature", std::iter::once(profile.signature.scheme().to_owned()).chain(details));
    topic("needs", profile.needs());
    topic("retries", windows(profile));
    topic("lifetimes", lifetimes(&profile.lifetimes()));
    topic("handshake", profile.handshake.iter().map(handshake));
    topic("answers", answers(profile));
    topic("notes", profile.notes.iter().cloned());
    if let Some(grounds) = &profile.grounds {
        let groups = [
            ("event id", grounds.event_id),
            ("signature", grounds.signature),
            ("retries", grounds.retry),
            ("time-out", grounds.timeout),
        ];
        topic("grounds", groups.map(|(group, confidence)| format!("{group}: {}", confidence.in_words())));
    }
    topic("sources", profile.sources.iter().cloned());
}

fn event_id(profile: &Profile) -> Vec<String> {
    let facts = profile.event_id.as_ref();
    let mut lines: Vec<String> = facts.map(|facts| facts.source.to_string()).into_iter().collect();
    lines.extend(facts.and_then(|facts| facts.scope.as_ref()).map(|scope| format!("unique within: {scope}")));
    lines.extend(profile.event_id_remarks().into_iter().map(str::to_owned));
    if profile.body_changes {
        lines.push("The body changes between attempts: on_missing_id = \"hash\" is refused.".to_owned());
    }
    lines.extend(facts.map_or(&[][..], |facts| &facts.pitfalls).iter().cloned());
    lines
}

fn windows(profile: &Profile) -> Vec<String> {
    let timeout = profile.timeout().map_or("is not published".to_owned(), format_duration);
    let mut lines = vec![
        format!("automatic: {}", profile.retry.automatic),
        format!("asked for by a person: {}", profile.retry.manual),
        format!("time-out: {timeout}"),
        profile.failures(),
    ];
    lines.extend(profile.max_body_bytes.map(|bytes| format!("largest body: {}", format_bytes(bytes))));
    lines
}

fn lifetimes(lifetimes: &Lifetimes) -> Vec<String> {
    let line = |key: &str, caused: &Caused| format!("{key} {} ({})", format_duration(caused.span), caused.cause);
    vec![
        line("processing_ttl", &lifetimes.processing_ttl),
        line("confirmed_ttl", &lifetimes.confirmed_ttl),
        line("answer_within", &lifetimes.answer_within),
    ]
}

fn handshake(handshake: &Handshake) -> String {
    let when: Vec<_> = handshake.when.iter().map(ToString::to_string).collect();
    let when = if when.is_empty() { String::new() } else { format!(" where {}", when.join(" and ")) };
    let checked = match (handshake.verified, &handshake.token) {
        (_, Some(place)) => format!(", checked against verify_token by {place}"),
        (false, None) => ", not verified".to_owned(),
        (true, None) => String::new(),
    };
    format!("{} {}{when}{checked}: {}", handshake.method, handshake.name, handshake.answer)
}

fn answers(profile: &Profile) -> Vec<String> {
    let list = |ranges: &[StatusRange]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let success = if profile.success.is_empty() { "any 2xx".to_owned() } else { list(&profile.success) };
    let mut lines = vec![format!("success: {success}")];
    lines.extend(profile.acknowledgement.as_ref().map(|answer| format!("acknowledgement: {answer}")));
    if !profile.stop_statuses.is_empty() {
        lines.push(format!(
            "{} would make the sender stop: such an answer of the app goes out as 503",
            list(&profile.stop_statuses)
        ));
    }
    lines
}

/// Says the lines of a topic, the topic before the first; nothing where there are none.
fn topic(topic: &str, lines: impl IntoIterator<Item = String>) {
    let mut before = topic;
    for line in lines {
        for (nth, piece) in broken(&line).into_iter().enumerate() {
            let indent = if nth == 0 { "" } else { "  " };
            say(&format!("{before:TOPIC_WIDTH$}{indent}{piece}"));
            before = "";
        }
    }
}

/// A line in pieces that fit.
fn broken(line: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for word in line.split(' ') {
        let last = pieces.last_mut().filter(|last| {
            last.is_empty() || last.chars().count() + 1 + word.chars().count() <= LINE_WIDTH - TOPIC_WIDTH
        });
        match last {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) => last.extend([" ", word]),
            None => pieces.push(word.to_owned()),
        }
    }
    pieces
}

/// The same for programs.
fn as_json(name: &str, profile: &Profile) -> Value {
    let texts = |ranges: &[StatusRange]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>();
    let caused = |caused: &Caused| json!({ "length": format_duration(caused.span), "cause": caused.cause });
    let lifetimes = profile.lifetimes();
    json!({
        "name": name,
        "title": profile.title,
        "event_id": profile.event_id.as_ref().map(|facts| json!({
            "source": facts.source.to_string(),
            "batch": facts.source.is_batch(),
            "signed": profile.event_id_is_signed(),
            "stable": facts.stable.as_str(),
            "scope": facts.scope,
            "pitfalls": facts.pitfalls,
        })),
        "signature": {
            "scheme": profile.signature.scheme(),
            "details": profile.signature.details(),
            "covers_body": profile.signature.covers_body(),
        },
        "needs": profile.needs(),
        "body_changes": profile.body_changes,
        "retry": {
            "automatic": profile.retry.automatic.to_string(),
            "automatic_seconds": profile.retry.automatic.window().map(|window| window.as_secs()),
            "manual": profile.retry.manual.to_string(),
            "manual_seconds": profile.retry.manual.window().map(|window| window.as_secs()),
            "reliable": profile.retries_automatically(),
            "failures": profile.failures(),
        },
        "timeout_seconds": profile.timeout_seconds,
        "max_body_bytes": profile.max_body_bytes,
        "lifetimes": {
            "processing_ttl": caused(&lifetimes.processing_ttl),
            "confirmed_ttl": caused(&lifetimes.confirmed_ttl),
            "answer_within": caused(&lifetimes.answer_within),
        },
        "handshakes": profile.handshake.iter().map(handshake).collect::<Vec<_>>(),
        "success": texts(&profile.success),
        "acknowledgement": profile.acknowledgement.as_ref().map(ToString::to_string),
        "stop_statuses": texts(&profile.stop_statuses),
        "notes": profile.notes,
        "grounds": profile.grounds.as_ref().map(|grounds| json!({
            "event_id": grounds.event_id.as_str(),
            "signature": grounds.signature.as_str(),
            "retry": grounds.retry.as_str(),
            "timeout": grounds.timeout.as_str(),
        })),
        "sources": profile.sources,
    })
}
