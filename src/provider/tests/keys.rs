//! How ids become keys of claims.

use super::*;
use crate::provider::{EventId, EventIdSource, Identity, MAX_KEY_BYTES, body_key_text};
use std::collections::HashMap;

fn id(bytes: &[u8]) -> EventId {
    let source: EventIdSource = toml::from_str(r#"form = "id""#).unwrap();
    let body: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
    match source.find(&Request::new(&HeaderMap::new(), format!("id={body}").as_bytes())) {
        Identity::Known(id) => id,
        other => panic!("{other:?}"),
    }
}

fn is_claim_key(key: &str) -> bool {
    (1..=MAX_KEY_BYTES).contains(&key.len()) && !key.chars().any(char::is_control)
}

#[test]
fn an_id_that_can_be_a_key_is_its_own() {
    let longest = "x".repeat(MAX_KEY_BYTES);
    let emoji = "🦀".repeat(MAX_KEY_BYTES / 4);
    for text in ["evt_1", "a/b", "a%2Fb", "..", "a b", "K", "k", "trailing ", "é", "e\u{301}", "once", &longest, &emoji]
    {
        assert_eq!(id(text.as_bytes()).key_text(), text);
    }
}

#[test]
fn any_other_id_is_named_by_its_digest() {
    let (long, c1) = ("x".repeat(MAX_KEY_BYTES + 1), "a\u{85}".as_bytes());
    let ids: [&[u8]; 8] = [b"\xff", b"a\n", b"a\0b", b"a\x7f", c1, long.as_bytes(), b"onced:", b"onced:id-sha256:00"];
    for bytes in ids {
        let key = id(bytes).key_text();
        assert!(key.starts_with("onced:id-sha256:") && is_claim_key(&key), "{key}");
    }
}

/// Random ids from a small alphabet of awkward bytes, and the keys of ids as ids again.
#[test]
fn different_ids_have_different_keys() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let pieces: [&[u8]; 8] = [b"a", b"\n", b"\xff", b"onced:", b"id-sha256:", b"%0a", b"\xc3\xa9", b"body-sha256:"];
    let mut owner: HashMap<String, Vec<u8>> = HashMap::new();
    let mut ids: Vec<Vec<u8>> = (0..2_000)
        .map(|_| (0..random.usize(1..6)).flat_map(|_| pieces[random.usize(..pieces.len())].to_vec()).collect())
        .filter(|bytes: &Vec<u8>| !bytes.trim_ascii().is_empty())
        .collect();
    ids.extend(ids.clone().iter().map(|bytes| id(bytes).key_text().into_bytes()));
    assert!(ids.len() > 3_000);
    for bytes in ids {
        let key = id(&bytes).key_text();
        assert!(is_claim_key(&key), "{key:?}");
        let first = owner.entry(key).or_insert_with(|| bytes.clone());
        assert_eq!(*first, bytes);
    }
}

#[test]
fn the_key_of_a_body_is_no_ids_key() {
    let key = body_key_text(b"a\n");
    assert!(key.starts_with("onced:body-sha256:") && is_claim_key(&key));
    assert_ne!(key, id(b"a\n").key_text());
    assert_ne!(key, id(key.as_bytes()).key_text());
}

#[test]
fn debug_output_holds_no_control_bytes() {
    assert_eq!(format!("{:?}", id(b"a\x1b[2J\"")), r#"EventId("a\x1b[2J\"")"#);
}
