//! `dead-letters`: events that were given up on; to list, show, redrive and discard them.

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Map, Value};

use super::client::{ClientArgs, failed};
use super::event_text::letter_row;
use super::events::{FilterArgs, OneArgs, body, show};
use super::pages::{PageArgs, object, print_pages};
use super::replay::replay_once;
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
    /// List them
    List(ListArgs),
    /// Show one: what was sent, and how it went
    Show(ShowArgs),
    /// Hand one over again now, or queue many anew; each gets a fresh budget of attempts
    #[command(
        after_help = "One is handed over at once, and the exit code says what came of it (see 'onced replay --help'); \
                            if the app does not take it, it waits in the queue for its next attempt. Many are queued, and \
                            delivered as the limits of their routes allow; the daemon goes on with it when this command ends."
    )]
    Redrive(RedriveArgs),
    /// Give one up for good; of a queue route its key stays done, so a redelivery is a duplicate until 'onced forget'
    Discard(OneArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Write its body, and nothing else, as it was sent
    #[arg(long, conflicts_with = "json")]
    body: bool,
}

#[derive(Debug, Args)]
struct RedriveArgs {
    /// The id of one, which the app knows as Onced-Delivery
    #[arg(value_name = "ID", conflicts_with_all = ["route", "cause", "before", "all"])]
    id: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// All of them
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn dead_letters(args: &DeadLettersArgs) -> Exit {
    match &args.action {
        None => list(&args.list),
        Some(Action::List(args)) => list(args),
        Some(Action::Show(args)) if args.body => body(&args.one),
        Some(Action::Show(args)) => show(&args.one),
        Some(Action::Redrive(args)) => match &args.id {
            Some(id) => replay_once(&args.client, id),
            None => redrive(args),
        },
        Some(Action::Discard(one)) => discard(one),
    }
}

fn list(args: &ListArgs) -> Exit {
    print_pages(&args.page, "/v1/dead-letters", &args.filter.fields(), letter_row)
}

/// Whoever mistakes an id is not to lose an event that waits, or the history of one.
fn discard(one: &OneArgs) -> Exit {
    tell(&one.client, one.client.ask(Method::DELETE, &one.path("?state=dead"), None))
}

fn redrive(args: &RedriveArgs) -> Exit {
    let fields = args.filter.fields().into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let filter: Map<String, Value> = fields.collect();
    // Nobody is to hand everything over again for having left out a word.
    if filter.is_empty() && !args.all {
        return failed("which ones? an ID, --route, --cause, --before, or --all", Exit::Usage);
    }
    let asked = args.client.ask(Method::POST, "/v1/dead-letters/redrive", Some(&filter.into()));
    let answer = match asked.and_then(|answer| object(&args.client, answer)) {
        Ok(answer) => answer,
        Err(exit) => return exit,
    };
    if args.client.json {
        say(&answer.text);
    } else if answer.json["finished"] == true {
        say(&format!("redriven: {}", answer.json["redriven"]));
    } else {
        say(&format!("redriven: {} so far; job {} goes on", answer.json["redriven"], answer.json["job"]));
    }
    Exit::Well
}
