//! `events`: what is kept of events, in every state; to list and show, and to write a body out.

use std::io::Write as _;

use clap::{Args, Subcommand};
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::Exit;
use super::client::{ClientArgs, refused};
use super::event_text::{event_lines, event_row};
use super::pages::{PageArgs, print, print_pages};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct EventsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List them
    List(ListArgs),
    /// Show one: what was sent, and how it went
    Show(OneArgs),
    /// Write the body of one, and nothing else, as it was sent
    Body(OneArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Those in one state only
    #[arg(long, value_parser = ["queued", "delivering", "delivered", "dead", "parked", "passed"])]
    state: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// Which events are meant.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Those of one route only
    #[arg(long, value_name = "NAME")]
    pub(super) route: Option<String>,
    /// Those given up on for one cause only
    #[arg(long, value_parser = ["rejected", "attempts_exhausted", "too_old", "unreachable"])]
    pub(super) cause: Option<String>,
    /// Those given up on before then only, or else received, as in 2027-01-15T08:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(super) before: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct OneArgs {
    /// Its id, which the app knows as Onced-Delivery
    #[arg(value_name = "ID")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) client: ClientArgs,
}

impl FilterArgs {
    pub(super) fn fields(&self) -> Vec<(&'static str, Option<String>)> {
        vec![("route", self.route.clone()), ("cause", self.cause.clone()), ("before", self.before.clone())]
    }
}

impl OneArgs {
    pub(super) fn path(&self, below: &str) -> String {
        event_path(&self.id, below)
    }
}

/// The path of an event, and of what is below it.
pub(super) fn event_path(id: &str, below: &str) -> String {
    format!("/v1/events/{}{below}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

pub(super) fn events(args: &EventsArgs) -> Exit {
    match &args.action {
        None => list(&args.list),
        Some(Action::List(args)) => list(args),
        Some(Action::Show(one)) => show(one),
        Some(Action::Body(one)) => body(one),
    }
}

fn list(args: &ListArgs) -> Exit {
    let mut fields = args.filter.fields();
    fields.push(("state", args.state.clone()));
    print_pages(&args.page, "/v1/events", &fields, event_row)
}

pub(super) fn show(one: &OneArgs) -> Exit {
    print(&one.client, &one.path(""), event_lines)
}

pub(super) fn body(one: &OneArgs) -> Exit {
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
