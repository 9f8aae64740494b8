//! `reload`: asks the daemon to load its config anew, and says what came of it.

use clap::Args;
use http::{Method, StatusCode};
use serde_json::Value;

use super::client::ClientArgs;
use super::{Exit, say};

#[derive(Debug, Args)]
pub(super) struct ReloadArgs {
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn reload(args: &ReloadArgs) -> Exit {
    let answer = match args.client.ask(Method::POST, "/v1/reload", None) {
        Ok(answer) => answer,
        Err(exit) => return exit,
    };
    let exit = if answer.status == StatusCode::OK { Exit::Well } else { Exit::Failed };
    if args.client.json {
        say(&answer.text);
        return exit;
    }
    match exit {
        Exit::Well => {
            say(&format!("reloaded; routes: {}", answer.json["routes"]));
            lines(&answer.json["warnings"]).for_each(|warning| say(&format!("warning: {warning}")));
        }
        _ => {
            eprintln!("onced: not reloaded: {}", answer.text_of("detail"));
            lines(&answer.json["faults"]).for_each(|fault| eprintln!("{fault}"));
        }
    }
    exit
}

fn lines(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
