//! Requests that are made to cost time and memory, or to be read in two ways: each ends in a value, in a time that grows with
//! the length of the input and no faster.

use super::*;
use crate::provider::{MAX_FORM_FIELDS, MAX_SIGNED_ITEMS};
use http::Method;
use std::io::Write as _;
use std::time::Duration;

const HMAC: &str = r#"algorithm = "sha256", encoding = "hex", key = "text""#;

fn judge(signature: &str, request: &Request<'_>) -> Result<(), String> {
    let secrets = [secret(SECRET)];
    let terms = Terms { secrets: &secrets, public_url: Some("https://a.example"), ..Terms::default() };
    let verifier = Verifier::new(&signing_with(signature), &terms).unwrap();
    match verifier.verify(request, UnixSeconds(NOW)) {
        Verification::Verified { .. } => Ok(()),
        Verification::Stale { skew_seconds, .. } => Err(format!("stale by {skew_seconds}")),
        Verification::Rejected(rejection) => Err(rejection.to_string()),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn signed(text: &[u8]) -> String {
    hex::encode(mac(SECRET.as_bytes(), text))
}

/// A few kilobytes on the wire that would be gigabytes in memory.
#[test]
fn a_body_is_decoded_up_to_the_limit_and_only_where_it_is_asked_for() {
    let zeros = vec![0; 1 << 20];
    let bomb = gzip(&zeros);
    assert!(bomb.len() < 2_000);
    let decoded = format!(r#"{{ hmac = {{ {HMAC}, header = "X", signed_string = "{{decoded-body}}" }} }}"#);
    let wire = format!(r#"{{ hmac = {{ {HMAC}, header = "X", signed_string = "{{body}}" }} }}"#);
    let of_zeros = lines(&[("x", signed(&zeros)), ("content-encoding", "gzip".to_owned())]);
    let of_bomb = lines(&[("x", signed(&bomb)), ("content-encoding", "gzip".to_owned())]);
    let limited = |headers, limit| Request::new(headers, &bomb).decoded_up_to(limit);
    assert_eq!(judge(&decoded, &limited(&of_zeros, 1 << 20)), Ok(()));
    let too_large = Err("the decoded body is larger than the route takes".to_owned());
    assert_eq!(judge(&decoded, &limited(&of_zeros, (1 << 20) - 1)), too_large);
    assert_eq!(judge(&wire, &limited(&of_bomb, 0)), Ok(()));
    // Members without content, each of which would cost a decoder.
    let empty = gzip(b"").repeat(2);
    let headers = lines(&[("x", signed(b"")), ("content-encoding", "GZIP".to_owned())]);
    assert_eq!(
        judge(&decoded, &Request::new(&headers, &empty)),
        Err("the body is not one whole gzip member".to_owned())
    );
    for (coding, text) in [("identity", "plain"), ("x-gzip", "")] {
        let body = if text.is_empty() { gzip(b"") } else { text.into() };
        let headers = lines(&[("x", signed(text.as_bytes())), ("content-encoding", coding.to_owned())]);
        assert_eq!(judge(&decoded, &Request::new(&headers, &body)), Ok(()), "{coding}");
    }
    for coding in ["br", "gzip, gzip", ""] {
        let headers = lines(&[("x", signed(b"")), ("content-encoding", coding.to_owned())]);
        let reason = "the body has a content coding other than gzip";
        assert_eq!(judge(&decoded, &Request::new(&headers, b"")), Err(reason.to_owned()), "{coding}");
    }
}

#[test]
fn a_form_is_sorted_up_to_a_number_of_fields() {
    let scheme = format!(r#"{{ hmac = {{ {HMAC}, header = "X", signed_string = "{{form-sorted}}" }} }}"#);
    let form = "application/x-www-form-urlencoded".to_owned();
    let body = |fields: usize| vec!["a=b"; fields].join("&");
    for (fields, expected) in [
        (MAX_FORM_FIELDS, Ok(())),
        (MAX_FORM_FIELDS + 1, Err(format!("more than {MAX_FORM_FIELDS} fields in the form"))),
        (2_000_000, Err(format!("more than {MAX_FORM_FIELDS} fields in the form"))),
    ] {
        let headers = lines(&[("x", signed(b"ab")), ("content-type", form.clone())]);
        assert_eq!(judge(&scheme, &Request::new(&headers, body(fields).as_bytes())), expected, "{fields}");
    }
    let headers = lines(&[("x", signed(b"")), ("content-type", form)]);
    assert_eq!(judge(&scheme, &Request::new(&headers, "&".repeat(1 << 20).as_bytes())), Ok(()));
}

#[test]
fn a_batch_is_verified_up_to_a_number_of_elements_and_to_its_end() {
    let scheme = format!(
        r#"{{ hmac = {{ {HMAC}, items = "/items", signature = {{ pointer = "/s" }}, signed_string = "{{pointer:/id}}" }} }}"#
    );
    let right = format!(r#"{{"id":1,"s":"{}"}}"#, signed(b"1"));
    let wrong = right.replace(r#""id":1"#, r#""id":2"#);
    let batch = |elements: Vec<&str>| format!(r#"{{"items":[{}]}}"#, elements.join(","));
    let rows = [
        (batch(vec![&right]), Ok(())),
        (batch(vec![&right; MAX_SIGNED_ITEMS]), Ok(())),
        (batch(vec![&right; MAX_SIGNED_ITEMS + 1]), Err("more than 256 elements in the batch")),
        (batch(vec!["1"; 500_000]), Err("more than 256 elements in the batch")),
        (batch(vec![&right, &wrong]), Err("no secret made this signature")),
        (batch(vec![&right, "null"]), Err("JSON /s is missing")),
        (batch(vec![]), Err("the batch is empty, or is no array")),
        (format!(r#"{{"items":{right}}}"#), Err("the batch is empty, or is no array")),
        (format!(r#"{{"items":[{right}"#), Err("the batch is empty, or is no array")),
        ("[]".to_owned(), Err("the batch is empty, or is no array")),
    ];
    for (row, (body, expected)) in rows.into_iter().enumerate() {
        let outcome = judge(&scheme, &Request::new(&HeaderMap::new(), body.as_bytes()));
        assert_eq!(outcome, expected.map_err(str::to_owned), "row {row}");
    }
}

/// Each says that the text is unusable, and none takes long: a million brackets, keys twice, halves of characters.
#[test]
fn json_that_is_read_before_anybody_is_known_ends_in_a_reason() {
    let scheme = format!(
        r#"{{ hmac = {{ {HMAC}, signature = {{ pointer = "/s" }}, signed_string = "{{pointer:/id}}{{pointer:/more?}}" }} }}"#
    );
    let s = signed(b"1");
    let rows = [
        (format!(r#"{{"id":1,"s":"{s}"}}"#), Ok(())),
        (format!(r#"{{"id":"\u0031","s":"{s}"}}"#), Ok(())),
        (format!(r#"{{"id":"1","more":null,"s":"{s}"}}"#), Ok(())),
        (format!(r#"{{"id":"1","more":"","s":"{s}"}}"#), Ok(())),
        (format!(r#"{{"id":"","more":1,"s":"{s}"}}"#), Ok(())),
        (format!(r#"{{"id":null,"more":1,"s":"{s}"}}"#), Err("JSON /id is missing")),
        (format!(r#"{{"id":true,"s":"{s}"}}"#), Err("no secret made this signature")),
        (format!(r#"{{"id":1.0,"s":"{s}"}}"#), Err("no secret made this signature")),
        (format!(r#"{{"id":[1],"s":"{s}"}}"#), Err("JSON /id is no text")),
        (format!(r#"{{"id":"\ud800","s":"{s}"}}"#), Err("JSON /id is no text")),
        (format!(r#"{{"id":1,"id":1,"s":"{s}"}}"#), Err("JSON /id is there more than once")),
        (format!(r#"{{"id":1,"s":"{s}","s":"{s}"}}"#), Err("JSON /s is there more than once")),
        (r#"{"id":1}"#.to_owned(), Err("JSON /s is missing")),
        (r#"{"id":1,"s":""}"#.to_owned(), Err("the signature is malformed")),
        ("[".repeat(1 << 20), Err("JSON /s is missing")),
        (r#"{"a":"#.repeat(1 << 18), Err("JSON /s cannot be looked for, since the body is not JSON")),
        (format!(r#"{{"a":{}"#, "[".repeat(1 << 20)), Err("JSON /s cannot be looked for, since the body is not JSON")),
        (String::new(), Err("JSON /s cannot be looked for, since the body is not JSON")),
    ];
    for (row, (body, expected)) in rows.into_iter().enumerate() {
        let outcome = judge(&scheme, &Request::new(&HeaderMap::new(), body.as_bytes()));
        assert_eq!(outcome, expected.map_err(str::to_owned), "row {row}");
    }
}

#[test]
fn a_list_of_headers_is_taken_up_to_a_length_and_for_headers_alone() {
    let scheme = format!(r#"{{ hmac = {{ {HMAC}, header = "X", signed_string = "{{listed-headers:L}}{{body}}" }} }}"#);
    let rows = [
        ("l,a".to_owned(), Err("no secret made this signature")),
        ("l,b".to_owned(), Err("a header that is listed as signed did not come exactly once")),
        ("l,é".to_owned(), Err("the list of signed headers is malformed")),
        ("l,,a".to_owned(), Err("the list of signed headers is malformed")),
        ("a".to_owned(), Err("the list of signed headers leaves l out")),
        (format!("l{}", ",a".repeat(30_000)), Err("the list of signed headers is malformed")),
    ];
    for (list, expected) in rows {
        let headers = lines(&[("x", signed(b"")), ("l", list), ("a", "1".to_owned())]);
        assert_eq!(judge(&scheme, &Request::new(&headers, b"")), expected.map_err(str::to_owned));
    }
}

/// Every one would cost a hash of the body.
#[test]
fn a_public_key_is_tried_on_a_few_signatures_only() {
    let key = "e734ea6c2b6257de72355e472aa05a4c487e6b463c029ed306df2f01b5636b58";
    let list = r#"format = { list = { between = ",", after_name = "=", name = "v" } }"#;
    let scheme = format!(r#"{{ ed25519 = {{ header = "X", {list}, encoding = "hex", signed_string = "{{body}}" }} }}"#);
    let verifier = with_secrets(&signing_with(&scheme), &[secret(key)], None).unwrap();
    for (count, reason) in [(2, "no secret made this signature"), (3, "more signatures than are tried")] {
        let headers = lines(&[("x", vec![format!("v={}", "00".repeat(64)); count].join(","))]);
        assert_eq!(verdict(&verifier, &headers), Err(reason.to_owned()), "{count}");
    }
}

#[test]
fn texts_of_a_request_are_found_in_their_places_and_taken_as_they_are() {
    let signed_string = "{method} {target} {query:q} {form:f} {body-sha256}";
    let scheme = format!(r#"{{ hmac = {{ {HMAC}, header = "X", signed_string = "{signed_string}" }} }}"#);
    let body = b"f=a+b&g=1";
    let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(body));
    let headers = lines(&[("x", signed(format!("PUT /p?q=%C3%A9&r=%2f é a b {hash}").as_bytes()))]);
    let judge_at = |target| judge(&scheme, &Request::new(&headers, body).at(&Method::PUT, target));
    assert_eq!(judge_at("/p?q=%C3%A9&r=%2f"), Ok(()));
    assert_eq!(judge_at("/p?q=%C3%A9&r=%2F"), Err("no secret made this signature".to_owned()));
    assert_eq!(judge_at("/p?r=%2f"), Err("query parameter q is missing".to_owned()));
    assert_eq!(judge_at("/p?q=1&%71=1"), Err("query parameter q is there more than once".to_owned()));
}

/// A table of verdicts is as green where a row takes a minute. What is sixteen times as long takes sixteen times the time
/// where work is linear, and 256 times where it grows with the square.
#[test]
fn hostile_input_costs_no_more_than_in_proportion_to_its_length() {
    const SHORT: usize = 1 << 14;
    const TIMES: usize = 16;
    /// For machines that have other things to do, as is the second.
    const AT_MOST: u32 = 64;
    const GRAIN: Duration = Duration::from_millis(20);

    let hmac = |rest: &str| format!(r#"{{ hmac = {{ {HMAC}, {rest} }} }}"#);
    let json = hmac(r#"signature = { pointer = "/s" }, signed_string = "{pointer:/id}""#);
    let batch = hmac(r#"items = "/i", signature = { pointer = "/s" }, signed_string = "{pointer:/id}""#);
    let form = hmac(r#"header = "X", signed_string = "{form-sorted}""#);
    let listed = hmac(r#"header = "X", signed_string = "{listed-headers:L}{body}""#);
    let entries = hmac(
        r#"header = "X", signed_string = "{body}", format = { list = { between = ",", after_name = "=", name = "v" } }"#,
    );
    let query = hmac(r#"header = "X", signed_string = "{query:q}""#);
    type Make = fn(usize) -> Sent;
    let rows: [(&str, &str, Make); 12] = [
        ("brackets", &json, |n| Sent::body("[".repeat(n))),
        ("objects in objects", &json, |n| Sent::body(r#"{"a":"#.repeat(n / 5))),
        ("one key again and again", &json, |n| Sent::body(format!(r#"{{{}"s":1}}"#, r#""s":1,"#.repeat(n / 6)))),
        ("escapes", &json, |n| Sent::body(format!(r#"{{"id":1,"s":"{}"}}"#, r"\u0041".repeat(n / 6)))),
        ("half an escape", &json, |n| Sent::body(format!(r#"{{"id":1,"s":"{}\"#, r"\\".repeat(n / 2)))),
        ("elements", &batch, |n| Sent::body(format!(r#"{{"i":[{}1]}}"#, "1,".repeat(n / 2)))),
        ("fields", &form, |n| Sent::body("b=a&".repeat(n / 4))),
        ("no fields", &form, |n| Sent::body("&".repeat(n))),
        ("one field in escapes", &form, |n| Sent::body("%41".repeat(n / 3))),
        ("headers that are listed", &listed, |n| Sent::lines(&[("x", "00".to_owned()), ("l", "l,".repeat(n / 2))])),
        ("signatures", &entries, |n| Sent::lines(&[("x", "v=00,".repeat(n / 5))])),
        ("parameters", &query, |n| Sent { target: format!("/?{}", "a=b&".repeat(n / 4)), ..Sent::body(String::new()) }),
    ];
    for (what, scheme, make) in rows {
        let quickest = |length| (0..5).map(|_| make(length).time(scheme)).min().unwrap();
        let (short, long) = (quickest(SHORT), quickest(SHORT * TIMES));
        assert!(long <= short * AT_MOST + GRAIN, "{what}: {short:?}, and {long:?} for {TIMES} times the length");
    }
}

/// A request by somebody who has no secret.
struct Sent {
    headers: HeaderMap,
    target: String,
    body: String,
}

impl Sent {
    fn body(body: String) -> Self {
        let headers = [("x", "00"), ("content-type", "application/x-www-form-urlencoded")];
        Self { headers: lines(&headers), target: "/".to_owned(), body }
    }

    fn lines(of: &[(&str, String)]) -> Self {
        Self { headers: lines(of), ..Self::body(String::new()) }
    }

    /// How long it takes to refuse it.
    fn time(&self, scheme: &str) -> Duration {
        let request = Request::new(&self.headers, self.body.as_bytes()).at(&Method::POST, &self.target);
        let start = worked();
        let outcome = judge(scheme, &request);
        let took = worked() - start;
        assert!(outcome.is_err());
        took
    }
}

/// How long this thread has worked: on a machine that has other things to do, it waits for longer than that.
fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("no thread has worked for less than nothing")
}
