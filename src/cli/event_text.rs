//! Events as people read them.

use serde_json::Value;

/// An event in one line.
pub(super) fn event_row(event: &Value) -> String {
    line(event, &event["state"])
}

/// A dead letter in one line.
pub(super) fn letter_row(event: &Value) -> String {
    line(event, &event["deliveries"][0]["cause"])
}

fn line(event: &Value, word: &Value) -> String {
    let delivery = &event["deliveries"][0];
    let next = delivery["next_attempt_at"].as_str().map(|next| format!(", next {next}")).unwrap_or_default();
    format!(
        "{} {} {} {} after {}, last {} {}{next}, key {}",
        text(&event["id"]),
        text(&event["received_at"]),
        text(&event["route"]),
        text(word),
        attempts(&delivery["attempts"]),
        number(&delivery["last_status"]),
        text(&delivery["last_attempt_at"]),
        // It is the sender's: no terminal is to obey it.
        text(&event["key"]).escape_debug(),
    )
}

/// An event in full, but for its body.
pub(super) fn event_lines(event: &Value) -> Vec<String> {
    let mut lines = vec![event_row(event)];
    for delivery in list(&event["deliveries"]) {
        lines.push(format!("app: {}", text(&delivery["app"])));
        if let Some(cause) = delivery["cause"].as_str() {
            lines.push(format!("given up on: {cause}"));
        }
        let excerpt = text(&delivery["excerpt"]);
        if !matches!(excerpt, "" | "-") {
            // One line, whatever an app says: no line breaks, and nothing that a terminal obeys.
            lines.push(format!("app said: {}", excerpt.escape_debug()));
        }
    }
    lines.extend(list(&event["attempts"]).map(attempt));
    lines.push(format!("sender's id: {}", text(&event["sender_id"]).escape_debug()));
    lines.push(format!("target: {}", text(&event["target"])));
    for header in list(&event["headers"]) {
        let value = match header["value"].as_str() {
            Some(value) => value.escape_debug().to_string(),
            None => format!("(base64) {}", text(&header["value_base64"])),
        };
        lines.push(format!("header: {}: {value}", text(&header["name"])));
    }
    lines.push(format!("body: {} bytes ('onced events body ID' writes them)", event["body_bytes"]));
    lines
}

fn attempt(attempt: &Value) -> String {
    let status = attempt["status"].as_u64().map(|status| format!(" {status}")).unwrap_or_default();
    format!(
        "attempt {}: {}, took {} ms, {}{status}",
        attempt["number"],
        text(&attempt["at"]),
        attempt["took_ms"],
        text(&attempt["outcome"])
    )
}

fn attempts(count: &Value) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text, or a dash for none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// A number, or a dash for none.
pub(super) fn number(value: &Value) -> String {
    value.as_u64().map_or("-".to_owned(), |number| number.to_string())
}
