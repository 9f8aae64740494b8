//! `status`: is it well, and if not, why.

use clap::Args;
use http::Method;
use serde_json::Value;

use super::Exit;
use super::client::ClientArgs;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    client: ClientArgs,
}

/// What is shown of the metrics, and how it is called.
const SHOWN: [(&str, &str); 6] = [
    ("onced_build_info", "version"),
    ("onced_store_records", "records at the last sweep"),
    ("onced_store_disk_bytes", "bytes on disk"),
    ("onced_store_free_bytes", "bytes free beside the store"),
    ("onced_degraded_total", "degraded answers"),
    ("onced_late_confirms_total", "late confirms"),
];

pub(super) fn status(args: &StatusArgs) -> Exit {
    let ready = match args.client.ask(Method::GET, "/readyz", None) {
        Ok(ready) => ready,
        Err(exit) => return exit,
    };
    // Not the status alone: somebody else may have answered.
    let exit = if ready.json["ready"] == true { Exit::Well } else { Exit::Failed };
    if args.client.json {
        println!("{}", ready.text);
        return exit;
    }
    match ready.json["reasons"].as_array() {
        Some(reasons) if !reasons.is_empty() => {
            let reasons: Vec<_> = reasons.iter().filter_map(Value::as_str).collect();
            println!("not well: {}", reasons.join(", "));
        }
        Some(_) => println!("well: ready"),
        None => println!("unclear: {}", ready.text),
    }
    if let Ok(metrics) = args.client.ask(Method::GET, "/metrics", None) {
        for (name, title) in SHOWN {
            for line in metrics.text.lines().filter(|line| is_sample(line, name)) {
                let (sample, value) = line.rsplit_once(' ').unwrap_or((line, ""));
                println!("{title}: {value} {}", sample.strip_prefix(name).unwrap_or_default());
            }
        }
    }
    exit
}

fn is_sample(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
}
