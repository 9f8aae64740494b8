//! Lists, page by page, and what is asked for by a path.

use clap::Args;
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::client::{Answer, ClientArgs, refused};
use super::{Exit, say};

/// Rows that the daemon gives at once.
const MAX_PAGE: u64 = 1_000;

/// How much of a list is wanted.
#[derive(Debug, Args)]
pub(super) struct PageArgs {
    /// So many at most; with --json, of one page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// With --json: the next of an earlier page
    #[arg(long, value_name = "NEXT", requires = "json")]
    after: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Lists all pages, or as many rows as are wanted; as JSON one page, since each is an answer of the daemon.
pub(super) fn print_pages(
    args: &PageArgs,
    path: &str,
    fields: &[(&str, Option<String>)],
    row: impl Fn(&Value) -> String,
) -> Exit {
    let (mut after, mut left) = (args.after.clone(), args.limit);
    loop {
        let limit = left.map(|left| if args.client.json { left } else { left.min(MAX_PAGE) }.to_string());
        let paging = [("after", after), ("limit", limit)];
        let answer = match wanted(&args.client, &with_query(path, fields.iter().chain(&paging))) {
            Ok(answer) => answer,
            Err(exit) => return exit,
        };
        if args.client.json {
            say(&answer.text);
            return Exit::Well;
        }
        let items = answer.json["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().for_each(|item| say(&row(item)));
        left = left.map(|left| left.saturating_sub(items.len() as u64));
        after = answer.json["next"].as_str().map(ToOwned::to_owned);
        if after.is_none() || left == Some(0) {
            return Exit::Well;
        }
    }
}

fn with_query<'a>(path: &str, fields: impl Iterator<Item = &'a (&'a str, Option<String>)>) -> String {
    let given = fields.filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<_> =
        given.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// Asks for something and prints it.
pub(super) fn print(client: &ClientArgs, path: &str, lines: impl Fn(&Value) -> Vec<String>) -> Exit {
    match wanted(client, path) {
        Ok(answer) if client.json => say(&answer.text),
        Ok(answer) => lines(&answer.json).iter().for_each(|line| say(line)),
        Err(exit) => return exit,
    }
    Exit::Well
}

/// An answer that is what was asked for; anything else has been printed.
pub(super) fn wanted(client: &ClientArgs, path: &str) -> Result<Answer, Exit> {
    object(client, client.ask(Method::GET, path, None)?)
}

/// The answer, if it is 200 and an object; anything else has been printed.
pub(super) fn object(client: &ClientArgs, answer: Answer) -> Result<Answer, Exit> {
    if answer.status == StatusCode::OK && answer.json.is_object() {
        return Ok(answer);
    }
    if client.json {
        say(&answer.text);
    }
    Err(refused(&answer))
}
