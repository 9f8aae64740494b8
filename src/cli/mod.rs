//! The command line.
//!
//! `serve` and `check` work on a config, `providers` on what is compiled in and perhaps on one; the others ask a running
//! daemon over its API ([`client`]). What a command prints is for people unless `--json` is given: then it is the daemon's
//! own answer, unchanged.

mod audit;
mod client;
mod dead_letters;
mod event_text;
mod events;
mod exit;
mod logging;
mod pages;
mod providers;
mod reload;
mod replay;
mod replay_to;
mod serve;
mod status;
mod verbs;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use exit::Exit;

/// Where the config is when nothing is said.
const DEFAULT_CONFIG: &str = "/etc/onced/onced.toml";

#[derive(Debug, Parser)]
#[command(name = "onced", version, about = "Makes sure a webhook takes effect once and is never lost")]
#[command(after_help = "Exit codes: 0 well, 1 failed, 2 wrong usage, 3 already done, 69 daemon unreachable, \
                        75 held by another, 78 bad config.")]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon
    Serve(serve::ServeArgs),
    /// Check a config: every fault, or what holds and why
    Check(ConfigArgs),
    /// List the providers that are known, or describe one
    Providers(providers::ProvidersArgs),
    /// Claim a key
    Claim(verbs::ClaimArgs),
    /// Say that the work on a key is done
    Confirm(verbs::ConfirmArgs),
    /// Give a key back
    Release(verbs::ReleaseArgs),
    /// Ask for more time on a key
    Extend(verbs::ExtendArgs),
    /// Read a key back
    Get(verbs::KeyArgs),
    /// Forget a key, whatever it is
    Forget(verbs::KeyArgs),
    /// List events, in whatever state; show one, or write its body out
    Events(events::EventsArgs),
    /// List events that were given up on; show, redrive or discard them
    DeadLetters(dead_letters::DeadLettersArgs),
    /// Hand an event over again, to its app or to a URL
    Replay(replay::ReplayArgs),
    /// Say who replayed, redrove and discarded what
    Audit(audit::AuditArgs),
    /// Load the daemon's config anew: all of it, or nothing with the reasons
    Reload(reload::ReloadArgs),
    /// Say whether the daemon is well, and if not, why
    Status(status::StatusArgs),
}

/// Where the config comes from.
#[derive(Debug, Clone, Args)]
struct ConfigArgs {
    /// The config; without it /etc/onced/onced.toml where that exists, else embedded defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Take secrets that stand in the config itself
    #[arg(long)]
    allow_inline_secrets: bool,
}

/// Runs the program.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let program = match Program::try_parse_from(args) {
        Ok(program) => program,
        Err(error) => {
            // Help and version come this way too, to stdout and with success.
            let printed = error.print().is_ok();
            return if error.use_stderr() || !printed { Exit::Usage } else { Exit::Well };
        }
    };
    match program.command {
        Command::Serve(args) => serve::serve(&args),
        Command::Check(args) => serve::check(&args),
        Command::Providers(args) => providers::providers(&args),
        Command::Claim(args) => verbs::claim(&args),
        Command::Confirm(args) => verbs::confirm(&args),
        Command::Release(args) => verbs::release(&args),
        Command::Extend(args) => verbs::extend(&args),
        Command::Get(args) => verbs::get(&args),
        Command::Forget(args) => verbs::forget(&args),
        Command::Events(args) => events::events(&args),
        Command::DeadLetters(args) => dead_letters::dead_letters(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Reload(args) => reload::reload(&args),
        Command::Status(args) => status::status(&args),
    }
}

/// Prints a line for whoever reads stdout. A reader that has gone, as in `onced status | head -1`, has read enough.
fn say(line: &str) {
    use std::io::Write as _;
    let _reader_gone = writeln!(std::io::stdout(), "{line}").is_err();
}
