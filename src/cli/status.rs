//! `status`: is it well, and if not, why.

use clap::Args;
use http::Method;
use serde_json::Value;

use super::client::ClientArgs;
use super::{Exit, say};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    client: ClientArgs,
}

/// What is shown of the metrics, and how it is called.
const SHOWN: [(&str, &str); 11] = [
    ("onced_build_info", "version"),
    ("onced_store_records", "records, as the last sweep counted them"),
    ("onced_store_disk_bytes", "on disk"),
    ("onced_store_free_bytes", "free beside the store"),
    ("onced_degraded_total", "degraded answers"),
    ("onced_late_confirms_total", "late confirms"),
    ("onced_queue_events", "events"),
    ("onced_breaker_open", "breaker, 1 is open"),
    ("onced_dead_letters", "dead letters"),
    ("onced_event_bytes", "taken by events"),
    ("onced_events_not_kept_total", "events that could not be kept"),
];

pub(super) fn status(args: &StatusArgs) -> Exit {
    let ready = match args.client.ask(Method::GET, "/readyz", None) {
        Ok(ready) => ready,
        Err(exit) => return exit,
    };
    // Not the status alone: somebody else may have answered.
    let exit = if ready.json["ready"] == true { Exit::Well } else { Exit::Failed };
    if args.client.json {
        say(&ready.text);
        return exit;
    }
    match ready.json["reasons"].as_array() {
        Some(reasons) if !reasons.is_empty() => {
            let reasons: Vec<_> = reasons.iter().filter_map(Value::as_str).collect();
            say(&format!("not well, at {}: {}", args.client.endpoint(), reasons.join(", ")));
        }
        Some(_) => say(&format!("well: ready, at {}", args.client.endpoint())),
        None => say(&format!("unclear: {}", ready.text)),
    }
    for warning in ready.json["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        say(&format!("warning: {warning}"));
    }
    if let Ok(metrics) = args.client.ask(Method::GET, "/metrics", None) {
        for (name, title) in SHOWN {
            for line in metrics.text.lines() {
                if let Some(shown) = shown(line, name) {
                    say(&format!("{title}: {shown}"));
                }
            }
        }
    }
    exit
}

/// A sample of a metric as people read it: `held 3`, `4.5 MiB`, `0.1.0`.
fn shown(line: &str, name: &str) -> Option<String> {
    let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
    let (labels, value) = rest.rsplit_once(' ')?;
    let labels: Vec<&str> = labels.split('"').skip(1).step_by(2).collect();
    let labels = labels.join(" ");
    Some(if name.ends_with("_bytes") {
        format!("{:.1} MiB", value.parse::<f64>().ok()? / f64::from(1 << 20))
    } else if name.ends_with("_info") {
        labels
    } else if labels.is_empty() {
        value.to_owned()
    } else {
        format!("{labels} {value}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_shown_as_people_read_it() {
        for (line, name, expected) in [
            ("onced_build_info{version=\"0.1.0\"} 1", "onced_build_info", Some("0.1.0")),
            ("onced_store_records{state=\"held\"} 3", "onced_store_records", Some("held 3")),
            ("onced_store_disk_bytes 4734976", "onced_store_disk_bytes", Some("4.5 MiB")),
            ("onced_degraded_total{namespace=\"a\",reason=\"io\"} 2", "onced_degraded_total", Some("a io 2")),
            ("onced_store_disk_bytes_other 1", "onced_store_disk_bytes", None),
            ("# HELP onced_degraded_total text", "onced_degraded_total", None),
        ] {
            assert_eq!(shown(line, name).as_deref(), expected, "{line}");
        }
    }
}
