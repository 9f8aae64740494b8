//! `dead-letters`: events that were given up on; to list, show and discard them.

use std::io::Write as _;

use clap::{Args, Subcommand};
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::client::{Answer, ClientArgs, failed};
use super::verbs::tell;
use super::{Exit, say};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct DeadLettersArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show one: what was sent, and how it went
    Show(ShowArgs),
    /// Give one up for good
    Discard(OneArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Those of one route only
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// With --json: the next of an earlier page
    #[arg(long, value_name = "ID", requires = "json")]
    after: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct OneArgs {
    /// Its id, which the app knows as Onced-Delivery
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Write its body, and nothing else, as it was sent
    #[arg(long, conflicts_with = "json")]
    body: bool,
}

pub(super) fn dead_letters(args: &DeadLettersArgs) -> Exit {
    match &args.action {
        None => list(&args.list),
        Some(Action::Show(show)) if show.body => body(&show.one),
        Some(Action::Show(show)) => print(&show.one.client, show.one.path(""), event_lines),
        Some(Action::Discard(one)) => tell(&one.client, one.client.ask(Method::DELETE, &one.path(""), None)),
    }
}

impl OneArgs {
    fn path(&self, below: &str) -> String {
        format!("/v1/events/{}{below}", utf8_percent_encode(&self.id, NON_ALPHANUMERIC))
    }
}

/// Lists all pages; as JSON one, since each is an answer of the daemon.
fn list(args: &ListArgs) -> Exit {
    let mut after = args.after.clone();
    loop {
        let fields = [("route", &args.route), ("after", &after)];
        let query: Vec<_> = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)))
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        let answer = match wanted(&args.client, &format!("/v1/dead-letters?{}", query.join("&"))) {
            Ok(answer) => answer,
            Err(exit) => return exit,
        };
        if args.client.json {
            say(&answer.text);
            return Exit::Well;
        }
        answer.json["items"].as_array().into_iter().flatten().for_each(|item| say(&row(item)));
        after = answer.json["next"].as_str().map(ToOwned::to_owned);
        if after.is_none() {
            return Exit::Well;
        }
    }
}

/// Asks for something and prints it.
fn print(client: &ClientArgs, path: String, lines: impl Fn(&Value) -> Vec<String>) -> Exit {
    match wanted(client, &path) {
        Ok(answer) if client.json => say(&answer.text),
        Ok(answer) => lines(&answer.json).iter().for_each(|line| say(line)),
        Err(exit) => return exit,
    }
    Exit::Well
}

fn body(one: &OneArgs) -> Exit {
    match one.client.ask(Method::GET, &one.path("/body"), None) {
        Ok(answer) if answer.status == StatusCode::OK => {
            let mut out = std::io::stdout().lock();
            // A reader that has gone has read enough.
            let _reader_gone = out.write_all(&answer.bytes).and_then(|()| out.flush()).is_err();
            Exit::Well
        }
        Ok(answer) => refused(&answer),
        Err(exit) => exit,
    }
}

/// An answer that is what was asked for; anything else has been printed.
fn wanted(client: &ClientArgs, path: &str) -> Result<Answer, Exit> {
    let answer = client.ask(Method::GET, path, None)?;
    match answer.status == StatusCode::OK && answer.json.is_object() {
        true => Ok(answer),
        false => {
            if client.json {
                say(&answer.text);
            }
            Err(refused(&answer))
        }
    }
}

fn refused(answer: &Answer) -> Exit {
    let detail = answer.text_of("detail");
    let why = if detail.is_empty() { "what answered is no onced daemon" } else { detail };
    let exit = if answer.status == StatusCode::BAD_REQUEST { Exit::Usage } else { Exit::Failed };
    failed(why, exit)
}

/// An event in one line.
fn row(event: &Value) -> String {
    let delivery = &event["deliveries"][0];
    let status = delivery["last_status"].as_u64().map_or("-".to_owned(), |status| status.to_string());
    format!(
        "{} {} {} {} after {}, last {} {}, key {}",
        text(&event["id"]),
        text(&event["received_at"]),
        text(&event["route"]),
        text(&delivery["cause"]),
        attempts(&delivery["attempts"]),
        status,
        text(&delivery["last_attempt_at"]),
        text(&event["key"]),
    )
}

/// An event in full, but for its body.
fn event_lines(event: &Value) -> Vec<String> {
    let mut lines = vec![row(event)];
    for delivery in event["deliveries"].as_array().into_iter().flatten() {
        lines.push(format!("app: {}", text(&delivery["app"])));
        let excerpt = text(&delivery["excerpt"]);
        if !excerpt.is_empty() {
            // One line, whatever an app says: no line breaks, and nothing that a terminal obeys.
            lines.push(format!("app said: {}", excerpt.escape_debug()));
        }
    }
    lines.push(format!("sender's id: {}", text(&event["sender_id"]).escape_debug()));
    lines.push(format!("target: {}", text(&event["target"])));
    for header in event["headers"].as_array().into_iter().flatten() {
        let value = match header["value"].as_str() {
            Some(value) => value.escape_debug().to_string(),
            None => format!("(base64) {}", text(&header["value_base64"])),
        };
        lines.push(format!("header: {}: {value}", text(&header["name"])));
    }
    lines.push(format!("body: {} bytes (--body writes them)", event["body_bytes"]));
    lines
}

fn attempts(count: &Value) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

/// A text, or a dash for none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
