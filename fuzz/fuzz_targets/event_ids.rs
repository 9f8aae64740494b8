//! Bodies and headers against every place where an id can stand: whatever is found is a key, and a JSON string is what
//! another reader takes it for.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use onced::provider::{EventIdSource, Identity, MAX_KEY_BYTES, Profiles, Request};
use onced_fuzz::Sent;

/// Where the built-in profiles look, and `/id` first of all.
static SOURCES: LazyLock<Vec<EventIdSource>> = LazyLock::new(|| {
    let id: EventIdSource = serde_json::from_str(r#"{"pointer":"/id"}"#).expect("a place");
    let field: EventIdSource = serde_json::from_str(r#"{"form":"payload","pointer":"/id"}"#).expect("a place");
    let profiles = Profiles::built_in();
    let of_profiles = profiles.iter().filter_map(|(_, profile)| Some(profile.event_id.as_ref()?.source.clone()));
    [id, field].into_iter().chain(of_profiles).collect()
});

fuzz_target!(|input: &[u8]| {
    let Some(sent) = Sent::read(input) else { return };
    let choice = sent.choice % SOURCES.len();
    let request = Request::new(&sent.headers, sent.body);
    let Identity::Known(id) = SOURCES[choice].find(&request) else { return };
    let key = id.key_text();
    assert!(!key.is_empty() && key.len() <= MAX_KEY_BYTES && !key.chars().any(char::is_control), "{key:?} is no key");
    if choice == 0
        && let Ok(document) = serde_json::from_slice::<serde_json::Value>(sent.body)
        && let Some(text) = document["id"].as_str()
    {
        assert_eq!(id.as_bytes(), text.as_bytes(), "two readers see two ids");
    }
});
