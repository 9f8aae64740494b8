//! `audit`: who did what to events, the newest first.

use clap::Args;

use super::Exit;
use super::event_text::text;
use super::pages::{PageArgs, print_pages};

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    #[command(flatten)]
    page: PageArgs,
}

pub(super) fn audit(args: &AuditArgs) -> Exit {
    print_pages(&args.page, "/v1/audit", &[], |entry| {
        let [at, actor, action, target] = ["at", "actor", "action", "target"].map(|field| text(&entry[field]));
        format!("{at} {actor} {action} {target}")
    })
}
