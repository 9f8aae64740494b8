//! Where ids are found, and what is no id.

use super::*;
use crate::provider::{EventIdSource, Identity, MAX_BATCH_ITEMS, MAX_ID_PARTS, MAX_POINTER_STEPS, MissingId};

/// A source as a config would write it.
fn source(toml: &str) -> EventIdSource {
    #[derive(serde::Deserialize)]
    struct Config {
        event_id: EventIdSource,
    }
    toml::from_str::<Config>(&format!("event_id = {toml}")).unwrap().event_id
}

/// The id as text, or the reason for having none.
fn found(source: &EventIdSource, headers: &HeaderMap, body: &[u8]) -> String {
    match source.find(&Request::new(headers, body)) {
        Identity::Known(id) => format!("id {}", id.as_bytes().escape_ascii()),
        Identity::Missing(reason) => format!("{reason:?}"),
        Identity::DuplicateHeader(header) => format!("twice {header}"),
    }
}

fn in_body(toml: &str, body: impl AsRef<[u8]>) -> String {
    found(&source(toml), &HeaderMap::new(), body.as_ref())
}

/// Where "nothing" was hashed like any value, the second event without an id was dropped as a repeat of the first.
#[test]
fn absence_is_not_an_identity() {
    let pointer = r#"{ pointer = "/data/id" }"#;
    let rows = [
        (r#"{"data":{"id":null}}"#, "NotAnId"),
        (r#"{"data":{"id":""}}"#, "Empty"),
        (r#"{"data":{"id":" \t "}}"#, "Empty"),
        (r#"{"data":{"id":{}}}"#, "NotAnId"),
        (r#"{"data":{"id":{"id":"x"}}}"#, "NotAnId"),
        (r#"{"data":{"id":[]}}"#, "NotAnId"),
        (r#"{"data":{"id":["x"]}}"#, "NotAnId"),
        (r#"{"data":{"id":false}}"#, "NotAnId"),
        (r#"{"data":{"id":true}}"#, "NotAnId"),
        (r#"{"data":{}}"#, "Absent"),
        (r#"{"data":null}"#, "Absent"),
        (r#"{"data":"id"}"#, "Absent"),
        (r#"{"data":[{"id":"x"}]}"#, "Absent"),
        (r#"{"id":"x"}"#, "Absent"),
        (r#"[{"data":{"id":"x"}}]"#, "Absent"),
        ("17", "Absent"),
        ("", "NotJson"),
        ("null garbage", "Absent"),
        (r#"{"data":{"id":"x"}"#, "NotJson"),
        (r#"{"data":{"id":"x"}} {}"#, "NotJson"),
        (r#"{"data":{"id":"\ud800"}}"#, "NotText"),
        (r#"{"data":{"id":"x"}}"#, "id x"),
        (" \r\n{ \"data\" : {\"other\":[1,{\"id\":2}], \"id\"\t: \"x\" } }\n", "id x"),
        (r#"{"d\u0061ta":{"\u0069d":"caf\u00e9"}}"#, r"id caf\xc3\xa9"),
    ];
    for (body, expected) in rows {
        assert_eq!(in_body(pointer, body), expected, "{body}");
    }
}

#[test]
fn a_header_is_an_id_once_and_with_something_in_it() {
    let source = source(r#"{ header = "X-GitHub-Delivery" }"#);
    let rows: [(&[&[u8]], &str); 7] = [
        (&[], "Absent"),
        (&[b""], "Empty"),
        (&[b" \t"], "Empty"),
        (&[b"d-1"], "id d-1"),
        (&[b"d-1, d-2"], "id d-1, d-2"),
        (&[b"\xff\xfe"], r"id \xff\xfe"),
        (&[b"d-1", b"d-1"], "twice x-github-delivery"),
    ];
    for (values, expected) in rows {
        let headers = lines(&values.iter().map(|value| ("x-github-delivery", *value)).collect::<Vec<_>>());
        assert_eq!(found(&source, &headers, b""), expected);
    }
}

/// 64-bit ids that went through floating point once lost their last digits, and different events shared an id.
#[test]
fn a_number_is_its_digits() {
    let literals = [
        "9007199254740992",
        "9007199254740993",
        "2868860079149422351",
        "2868860079149422352",
        "12345678901234567890123",
        "1e3",
        "1000",
        "1000.0",
        "-1000",
        "0",
        "1e999999",
    ];
    for literal in literals {
        assert_eq!(in_body(r#"{ pointer = "/id" }"#, format!(r#"{{"id": {literal} }}"#)), format!("id {literal}"));
    }
    assert_eq!(in_body(r#"{ pointer = "/id" }"#, r#"{"id":"1000"}"#), "id 1000", "spelled alike, the same id");
}

#[test]
fn a_key_that_occurs_twice_on_the_way_gives_no_id() {
    let rows = [
        (r#"{"id":"a","id":"b"}"#, "Ambiguous"),
        (r#"{"id":"a","id":"a"}"#, "Ambiguous"),
        (r#"{"id":"a","\u0069d":"b"}"#, "Ambiguous"),
        (r#"{"id":null,"id":"b"}"#, "Ambiguous"),
        (r#"{"id":"a","x":1,"x":2,"y":{"id":1,"id":2}}"#, "id a"),
    ];
    for (body, expected) in rows {
        assert_eq!(in_body(r#"{ pointer = "/id" }"#, body), expected, "{body}");
    }
    assert_eq!(in_body(r#"{ pointer = "/a/id" }"#, r#"{"a":{"id":1},"a":{"id":2}}"#), "Ambiguous");
    assert_eq!(in_body(r#"{ pointer = "/a/id" }"#, r#"{"a":{"id":1,"id":2}}"#), "Ambiguous");
}

#[test]
fn bytes_that_are_no_text_matter_only_on_the_way() {
    let rows: [(&[u8], &str); 5] = [
        (b"{\"id\":\"a\",\"m\":\"\xff\xfe\"}", "id a"),
        (b"\xef\xbb\xbf{\"id\":\"a\"}", "id a"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{\"id\":\"a\"}", "NotJson"),
        (b"{\"id\":\"\xff\"}", "NotJson"),
        (b"{\"\xff\":1,\"id\":\"a\"}", "NotJson"),
    ];
    for (body, expected) in rows {
        assert_eq!(in_body(r#"{ pointer = "/id" }"#, body), expected, "{}", body.escape_ascii());
    }
}

#[test]
fn nesting_costs_no_stack() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(in_body(r#"{ pointer = "/id" }"#, format!(r#"{{"m":{deep},"id":"a"}}"#)), "id a");
    assert_eq!(in_body(r#"{ pointer = "/id" }"#, format!(r#"{{"id":{deep}}}"#)), "NotAnId");
    assert_eq!(in_body(r#"{ pointer = "/id" }"#, r#"{"id":"#.repeat(1_000_000)), "NotJson");
}

/// Where the JSON stands in a form field, the signature is over the form and the id inside the decoded field.
#[test]
fn an_id_is_found_in_a_form_field_and_in_the_json_of_one() {
    let (plain, inside) = (r#"{ form = "id" }"#, r#"{ form = "payload", pointer = "/trigger_id" }"#);
    let rows = [
        (plain, "id=tr_1&x=y", "id tr_1"),
        (plain, "x=y&%69d=a%2Bb+c", "id a+b c"),
        (plain, "id=%FF%zz", r"id \xff%zz"),
        (plain, "id=a&id=a", "Ambiguous"),
        (plain, "id=a&%69d=b", "Ambiguous"),
        (plain, "id=", "Empty"),
        (plain, "id", "Empty"),
        (plain, "id=+", "Empty"),
        (plain, "idx=1&xid=2", "Absent"),
        (plain, "", "Absent"),
        (inside, "payload=%7B%22trigger_id%22%3A%2213.37%22%2C%22m%22%3A%22a+b%26c%22%7D", "id 13.37"),
        (inside, "payload=%7B%22trigger_id%22%3A9007199254740993%7D", "id 9007199254740993"),
        (inside, "payload=%7B%22id%22%3A1%7D", "Absent"),
        (inside, "payload=x", "NotJson"),
        (inside, "a=b", "Absent"),
    ];
    for (toml, body, expected) in rows {
        assert_eq!(in_body(toml, body), expected, "{body}");
    }
    let own = hex::decode("7061796c6f61643d2537422532326964253232253341253232652d352532322532432532326d25323225334125323261253242622b63253232253744").unwrap();
    assert_eq!(in_body(r#"{ form = "payload", pointer = "/id" }"#, own), "id e-5");
}

#[test]
fn pointers_are_those_of_rfc_6901() {
    let body = r#"{"a/b":"slash","m~n":"tilde","~1":"both","":"empty","0":"zero"}"#;
    for (pointer, expected) in
        [("/a~1b", "slash"), ("/m~0n", "tilde"), ("/~01", "both"), ("/", "empty"), ("/0", "zero")]
    {
        assert_eq!(in_body(&format!(r#"{{ pointer = "{pointer}" }}"#), body), format!("id {expected}"));
    }
    let deepest = "/a".repeat(MAX_POINTER_STEPS);
    assert_eq!(source(&format!(r#"{{ pointer = "{deepest}" }}"#)).to_string(), format!("JSON {deepest}"));
}

#[test]
fn a_source_names_exactly_one_place() {
    let bad = [
        "{}",
        r#"{ header = "a", pointer = "/b" }"#,
        r#"{ header = "a", form = "b" }"#,
        r#"{ header = "two words" }"#,
        r#"{ header = "" }"#,
        r#"{ pointer = "" }"#,
        r#"{ pointer = "id" }"#,
        r#"{ pointer = "/a~2" }"#,
        r#"{ pointer = "/a~" }"#,
        r#"{ pointer = "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17" }"#,
        r#"{ heading = "a" }"#,
        r#"{ query = "a", form = "b" }"#,
        "{ parts = [] }",
        r#"{ parts = [{ header = "a" }], header = "b" }"#,
        r#"{ parts = [{ header = "a", pointer = "/b" }] }"#,
        r#"{ batch = "" }"#,
        r#"{ item = [{ pointer = "/a" }] }"#,
        r#"{ batch = "", item = [] }"#,
        r#"{ batch = "", item = [{ header = "a" }] }"#,
        r#"{ batch = "a", item = [{ pointer = "/a" }] }"#,
    ];
    let many = format!("{{ parts = [{}] }}", [r#"{ header = "a" }"#; MAX_ID_PARTS + 1].join(","));
    assert!(toml::from_str::<crate::provider::EventIdFacts>(&format!("source = {many}")).is_err());
    for toml in bad {
        let table = format!("source = {toml}");
        assert!(toml::from_str::<crate::provider::EventIdFacts>(&table).is_err(), "{toml}");
    }
}

/// Several ids of one event are one id, and whatever they hold, two lists of them never are.
#[test]
fn parts_are_joined_without_collisions() {
    let everywhere = source(r#"{ parts = [{ header = "X-Kind" }, { pointer = "/a" }, { query = "q" }] }"#);
    let kind = lines(&[("x-kind", "k")]);
    let at = |target| everywhere.find(&Request::new(&kind, br#"{"a":1}"#).at(&http::Method::POST, target));
    match at("/?q=%41&p=2") {
        Identity::Known(id) => assert_eq!(id.as_bytes(), br#"["k","1","A"]"#),
        other => panic!("{other:?}"),
    }
    assert_eq!(at("/?q=1&q=1"), Identity::Missing(MissingId::Ambiguous));
    assert_eq!(at("/"), Identity::Missing(MissingId::Absent));

    let two = r#"{ parts = [{ pointer = "/a" }, { pointer = "/b" }] }"#;
    let rows = [
        (r#"{"a":"x","b":"y"}"#, r#"id [\"x\",\"y\"]"#),
        (r#"{"a":"x\",\"y","b":"z"}"#, r#"id [\"x\\\",\\\"y\",\"z\"]"#),
        (r#"{"a":"x","b":"y\",\"z"}"#, r#"id [\"x\",\"y\\\",\\\"z\"]"#),
        (r#"{"a":"x\\","b":"y"}"#, r#"id [\"x\\\\\",\"y\"]"#),
        (r#"{"a":"x\n","b":1000}"#, r#"id [\"x\\u000a\",\"1000\"]"#),
        (r#"{"a":"x"}"#, "Absent"),
        (r#"{"b":"y"}"#, "Absent"),
        (r#"{"a":"x","b":""}"#, "Empty"),
        (r#"{"a":"x","b":null}"#, "NotAnId"),
        (r#"{"a":"x","b":"y","b":"z"}"#, "Ambiguous"),
        ("{}", "Absent"),
        ("", "NotJson"),
    ];
    for (body, expected) in rows {
        assert_eq!(in_body(two, body), expected, "{body}");
    }
    let twice = lines(&[("x-kind", b"a"), ("x-kind", b"b")]);
    let headers_and_body = source(r#"{ parts = [{ header = "X-Kind" }, { pointer = "/a" }] }"#);
    assert_eq!(found(&headers_and_body, &twice, br#"{"a":1}"#), "twice x-kind");
    let bytes = lines(&[("x-kind", b"caf\xe9")]);
    assert_eq!(found(&headers_and_body, &bytes, br#"{"a":1}"#), r#"id [\"caf\xe9\",\"1\"]"#);
}

/// Keyed by one element, the others would go with it: those of a batch come again in another company.
#[test]
fn a_batch_is_known_by_all_its_items_in_order() {
    let whole = r#"{ batch = "", item = [{ pointer = "/id" }] }"#;
    let inside = r#"{ batch = "/items", item = [{ pointer = "/a/id" }, { pointer = "/kind" }] }"#;
    let many = |count: usize| format!("[{}]", vec![r#"{"id":1}"#; count].join(","));
    let rows = [
        (whole, r#"[{"id":"a"},{"id":"b"}]"#.to_owned(), r#"id [[\"a\"],[\"b\"]]"#),
        (whole, "[{\"id\":\"a\"},\r\n{\"id\":\"b\"}]\r\n".to_owned(), r#"id [[\"a\"],[\"b\"]]"#),
        (whole, r#"[{"id":"b"},{"id":"a"}]"#.to_owned(), r#"id [[\"b\"],[\"a\"]]"#),
        (whole, r#"[{"id":9007199254740993}]"#.to_owned(), r#"id [[\"9007199254740993\"]]"#),
        (whole, r#"[{"id":"a"},{}]"#.to_owned(), "Absent"),
        (whole, r#"[{"id":"a"},{"id":null}]"#.to_owned(), "NotAnId"),
        (whole, r#"[{"id":"a"},"b"]"#.to_owned(), "Absent"),
        (whole, "[]".to_owned(), "Empty"),
        (whole, r#"{"id":"a"}"#.to_owned(), "NotAnId"),
        (whole, r#"[{"id":"a"}] x"#.to_owned(), "NotAnId"),
        (whole, String::new(), "NotAnId"),
        (whole, many(MAX_BATCH_ITEMS + 1), "TooManyItems"),
        (inside, r#"{"items":[{"a":{"id":1},"kind":"k"}]}"#.to_owned(), r#"id [[\"1\",\"k\"]]"#),
        (inside, r#"{"items":[{"a":{"id":1}}]}"#.to_owned(), "Absent"),
        (inside, r#"{"items":{}}"#.to_owned(), "NotAnId"),
        (inside, r#"{"items":[],"items":[]}"#.to_owned(), "Ambiguous"),
        (inside, "{}".to_owned(), "Absent"),
        (inside, "[]".to_owned(), "Absent"),
    ];
    for (toml, body, expected) in rows {
        assert_eq!(in_body(toml, &body), expected, "{}", &body[..body.len().min(80)]);
    }
    // One that fills a header is a digest of itself.
    let long = in_body(whole, many(MAX_BATCH_ITEMS));
    assert_eq!((long.len(), &long[..10]), (3 + 7 + 64, "id sha256:"));
    assert_ne!(long, in_body(whole, many(MAX_BATCH_ITEMS - 1)));
}

/// What is packed on the way is read unpacked, and within the bound; a header is read all the same.
#[test]
fn an_id_is_found_in_a_packed_body() {
    let packed = hex::decode("1f8b08000000000002ffab56ca4c51b2524ad5353450aa0500f9456c310d000000").unwrap();
    let gzip = lines(&[("content-encoding", b"gzip")]);
    let pointer = source(r#"{ pointer = "/id" }"#);
    assert_eq!(found(&pointer, &gzip, &packed), "id e-10");
    assert_eq!(found(&pointer, &HeaderMap::new(), &packed), "NotJson");
    assert_eq!(found(&pointer, &gzip, b"{\"id\":1}"), "NotUnpacked");
    assert_eq!(found(&pointer, &gzip, &packed[..20]), "NotUnpacked");
    let bounded = Request::new(&gzip, &packed).decoded_up_to(12);
    assert_eq!(pointer.find(&bounded), Identity::Missing(MissingId::NotUnpacked));
    let headers = lines(&[("content-encoding", "gzip"), ("x-id", "a")]);
    assert_eq!(found(&source(r#"{ header = "X-Id" }"#), &headers, b"no gzip"), "id a");
}
