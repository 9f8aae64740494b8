//! `replay`: hands an event over again, once or several times, and reports what came of each run.
//!
//! Without `--to` the daemon does it, and sends to the app of the event's route alone. With `--to` this command fetches the
//! event and sends it itself ([`super::replay_to`]).

use clap::Args;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::{ClientArgs, refused};
use super::event_text::number;
use super::events::event_path;
use super::replay_to::Sender;
use super::{Exit, say};

#[derive(Debug, Args)]
#[command(
    after_help = "Through the guard, an event that was handled is answered as a duplicate and not handed over: of ten \
                        runs of an event whose app answers 2xx, one is forwarded and nine are duplicates. --force goes past \
                        the guard.\n\n\
                        With --to the command sends the event itself, to exactly that URL, without what its sender proved \
                        itself with: cookie, and headers whose names contain auth, token, secret, password, api-key or \
                        apikey are left out. A signature header stays, since it is what the app would check; nothing of ours \
                        is added, no Onced-* header and no Idempotency-Key. The \
                        guard is a claim in the namespace \"replay\", which remembers for 24 hours that this event was handled \
                        at this URL: until then each further run is a duplicate, of ten all are (exit code 3).\n\n\
                        Exit codes: 0 something was forwarded and nothing failed, 1 a run failed (the app answered other \
                        than 2xx, or not at all), 3 all were duplicates, 75 another attempt is under way."
)]
pub(super) struct ReplayArgs {
    /// The event's id, which the app knows as Onced-Delivery
    #[arg(value_name = "EVENT")]
    id: String,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    times: u64,
    /// Send it to this URL instead of the app of its route
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Hand it over even if it was handled
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// What one run came to; the words are those of the daemon.
pub(super) struct Run {
    pub(super) outcome: String,
    pub(super) attempt: Option<u64>,
    pub(super) status: Option<u64>,
}

/// Why there is no further run; it has been printed.
pub(super) struct Stopped {
    exit: Exit,
    /// What the daemon answered, for `--json`.
    answer: Option<String>,
    /// The last run, where it was made and what follows from it could not be told the daemon.
    run: Option<Run>,
}

impl From<Exit> for Stopped {
    fn from(exit: Exit) -> Self {
        Self { exit, answer: None, run: None }
    }
}

impl Stopped {
    /// A run was made, and there can be no further one.
    pub(super) fn after(run: Run, exit: Exit) -> Self {
        Self { exit, answer: None, run: Some(run) }
    }
}

pub(super) fn replay(args: &ReplayArgs) -> Exit {
    match &args.to {
        None => report(&args.client, args.times, || ask(&args.client, &args.id, args.force)),
        Some(url) => match Sender::new(&args.client, &args.id, url, args.force) {
            Ok(sender) => report(&args.client, args.times, || sender.send()),
            Err(exit) => exit,
        },
    }
}

/// Hands one event over again, through the guard.
pub(super) fn replay_once(client: &ClientArgs, id: &str) -> Exit {
    report(client, 1, || ask(client, id, false))
}

/// One run a request: each may take as long as the app may, and its line appears when it is over.
fn ask(client: &ClientArgs, id: &str, force: bool) -> Result<Run, Stopped> {
    let body = json!({ "times": 1, "force": force });
    let answer = client.ask(Method::POST, &event_path(id, "/replay"), Some(&body))?;
    if answer.status != StatusCode::OK || !answer.json.is_object() {
        return Err(Stopped { exit: refused(&answer), answer: Some(answer.text), run: None });
    }
    let result = &answer.json["results"][0];
    Ok(Run {
        outcome: result["outcome"].as_str().unwrap_or("unclear").to_owned(),
        attempt: result["attempt"].as_u64(),
        status: result["status"].as_u64(),
    })
}

/// Runs so many times and reports: a table, or with `--json` one object of the form of the daemon's own answer.
fn report(client: &ClientArgs, times: u64, run: impl Fn() -> Result<Run, Stopped>) -> Exit {
    if !client.json {
        say("run  outcome      attempt  status");
    }
    let (runs, stopped) = runs(times, run, |number, run| {
        if !client.json {
            say(&row(number, run));
        }
    });
    match &stopped {
        _ if !client.json => say(&summary(&runs)),
        Some(Stopped { answer: Some(answer), .. }) if runs.is_empty() => say(answer),
        Some(_) | None => say(&as_json(&runs).to_string()),
    }
    stopped.map_or_else(|| exit_of(&runs), |why| why.exit)
}

/// The runs that were made, each told of as soon as it is over, and why there are no more.
fn runs(times: u64, run: impl Fn() -> Result<Run, Stopped>, tell: impl Fn(u64, &Run)) -> (Vec<Run>, Option<Stopped>) {
    let mut runs = Vec::new();
    for number in 1..=times {
        let (run, stopped) = match run() {
            Ok(run) => (Some(run), None),
            Err(mut why) => (why.run.take(), Some(why)),
        };
        if let Some(run) = run {
            tell(number, &run);
            runs.push(run);
        }
        if stopped.is_some() {
            return (runs, stopped);
        }
    }
    (runs, None)
}

fn count(runs: &[Run], outcome: &str) -> usize {
    runs.iter().filter(|run| run.outcome == outcome).count()
}

fn row(at: u64, run: &Run) -> String {
    let (attempt, status) = (number(&run.attempt.into()), number(&run.status.into()));
    format!("{at:>3}  {:<11}  {attempt:>7}  {status:>6}", run.outcome)
}

fn summary(runs: &[Run]) -> String {
    let counted = [("forwarded", "forwarded"), ("duplicate", "duplicates"), ("in_progress", "in progress")];
    let mut parts: Vec<_> = counted.map(|(outcome, title)| (count(runs, outcome), title)).into();
    let named: usize = parts.iter().map(|(count, _)| count).sum();
    parts.push((runs.len() - named, "failed"));
    let told = parts.iter().enumerate().filter(|(at, (count, _))| *at < 2 || *count > 0);
    told.map(|(_, (count, title))| format!("{title} {count}")).collect::<Vec<_>>().join(", ")
}

fn as_json(runs: &[Run]) -> Value {
    let results: Vec<_> = runs
        .iter()
        .map(|run| json!({ "outcome": run.outcome, "attempt": run.attempt, "status": run.status }))
        .collect();
    json!({
        "results": results,
        "forwarded": count(runs, "forwarded"),
        "duplicates": count(runs, "duplicate"),
    })
}

fn exit_of(runs: &[Run]) -> Exit {
    let [forwarded, duplicates, in_progress] =
        ["forwarded", "duplicate", "in_progress"].map(|outcome| count(runs, outcome));
    match () {
        () if forwarded + duplicates + in_progress < runs.len() => Exit::Failed,
        () if in_progress > 0 => Exit::Held,
        () if forwarded == 0 => Exit::AlreadyDone,
        () => Exit::Well,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The app had taken the event, the claim could not be confirmed, and the report knew of no run.
    #[test]
    fn a_run_that_was_made_is_in_the_report_though_what_follows_from_it_failed() {
        let made = || Run { outcome: "forwarded".to_owned(), attempt: Some(1), status: Some(200) };
        let told = std::cell::RefCell::new(Vec::new());
        let (all, stopped) =
            runs(3, || Err(Stopped::after(made(), Exit::Failed)), |number, _| told.borrow_mut().push(number));
        assert_eq!((summary(&all).as_str(), told.into_inner()), ("forwarded 1, duplicates 0", vec![1]));
        assert!(stopped.is_some_and(|stopped| stopped.exit == Exit::Failed));
        let (none, stopped) = runs(3, || Err(Exit::Failed.into()), |_, _| panic!("there is none"));
        assert!(none.is_empty() && stopped.is_some());
    }

    #[test]
    fn the_report_counts_and_the_exit_code_tells_the_worst() {
        for (outcomes, told, exit) in [
            (&["forwarded", "duplicate", "duplicate"][..], "forwarded 1, duplicates 2", Exit::Well),
            (&["duplicate"], "forwarded 0, duplicates 1", Exit::AlreadyDone),
            (&["forwarded", "in_progress"], "forwarded 1, duplicates 0, in progress 1", Exit::Held),
            (
                &["in_progress", "failed", "forwarded"],
                "forwarded 1, duplicates 0, in progress 1, failed 1",
                Exit::Failed,
            ),
            (&["of a later version"], "forwarded 0, duplicates 0, failed 1", Exit::Failed),
        ] {
            let run = |outcome: &&str| Run { outcome: (*outcome).to_owned(), attempt: Some(3), status: None };
            let runs: Vec<_> = outcomes.iter().map(run).collect();
            assert_eq!((summary(&runs).as_str(), exit_of(&runs)), (told, exit), "{outcomes:?}");
        }
    }
}
