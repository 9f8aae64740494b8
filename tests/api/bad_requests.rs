//! Requests that are wrong before a field is looked at: size, method, path, content type, and bodies that do not come.

use std::time::Duration;

use super::harness::{House, OURS, assert_defined, assert_nothing_stored, bare, post, with_headers};

#[tokio::test]
async fn a_body_above_its_limit_is_a_413_that_names_it_and_closes() {
    let house = House::new();
    let home = house.start().await;
    let head = |path: &str, framing: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n")
    };
    for (path, limit) in [("/v1/claim", 32_768), ("/v1/extend", 32_768), ("/v1/batch", 4_194_304)] {
        let padded = |length: usize| format!("{{{}}}", " ".repeat(length - 2));
        // At the limit it is read, and found to lack every field.
        let answer = home.ask(&post(path, &padded(limit))).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_field"), "{path}");
        let announced = head(path, &format!("Content-Length: {}", limit + 1));
        let chunked = head(path, "Transfer-Encoding: chunked") + &format!("{:x}\r\n{}", limit + 1, padded(limit + 1));
        for request in [announced, chunked] {
            let mut connection = home.connect().await;
            connection.send(&request).await;
            let answer = connection.answer().await;
            assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"), "{path}");
            assert!(answer.text().contains(&limit.to_string()), "{}", answer.text());
            assert_eq!(answer.header("connection"), Some("close"), "{path}");
            assert!(connection.is_closed().await, "{path}");
        }
    }
    assert_nothing_stored(&home, "too large").await;
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_whose_announced_length_is_too_large_is_never_asked_for() {
    let house = House::new();
    let home = house.start().await;
    let mut connection = home.connect().await;
    let headers = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999\r\nExpect: 100-continue";
    connection.send(format!("POST /v1/claim HTTP/1.1\r\n{headers}\r\n\r\n")).await;
    assert!(connection.head().await.starts_with("HTTP/1.1 413 "), "no 100 before");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wrong_method_is_a_405_that_says_which_are_right() {
    let house = House::new();
    let home = house.start().await;
    let paths = [
        ("/v1/claim", "POST"),
        ("/v1/confirm", "POST"),
        ("/v1/release", "POST"),
        ("/v1/extend", "POST"),
        ("/v1/batch", "POST"),
        ("/v1/claims", "GET"),
        ("/v1/claims/a/k", "GET, DELETE"),
        ("/v1/dead-letters", "GET"),
        ("/v1/events/0", "GET, DELETE"),
        ("/v1/events/0/body", "GET"),
        ("/healthz", "GET"),
        ("/readyz", "GET"),
        ("/metrics", "GET"),
        ("/openapi.json", "GET"),
    ];
    for (path, allow) in paths {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "BREW"] {
            if allow.split(", ").any(|allowed| allowed == method) {
                continue;
            }
            let what = format!("{method} {path}");
            let body = format!("{{\"namespace\":\"a\",\"key\":\"k\",\"token\":\"{OURS}\"}}");
            let mut connection = home.connect().await;
            let answer = connection.ask(with_headers(method, path, &["Content-Type: application/json"], &body)).await;
            assert_eq!((answer.status, answer.problem().as_str()), (405, "method_not_allowed"), "{what}");
            assert_eq!(answer.header("allow"), Some(allow), "{what}");
            assert_defined(connection, &answer, &what).await;
        }
    }
    assert_nothing_stored(&home, "wrong method").await;
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_path_of_nobody_is_a_404() {
    let house = House::new();
    let home = house.start().await;
    for path in ["/", "/v1", "/v1/claim/", "/v1/Claim", "/v1//claim", "/v1/claims/", "/v1/claims/a", "/v1/claims/a/b/c"]
    {
        for method in ["GET", "POST"] {
            let answer = home.ask(&bare(method, path)).await;
            assert_eq!((answer.status, answer.problem().as_str()), (404, "not_found"), "{method} {path}");
        }
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_wrong_content_type_is_a_415() {
    let house = House::new();
    let home = house.start().await;
    let body = format!("{{\"namespace\":\"a\",\"key\":\"k\",\"token\":\"{OURS}\"}}");
    let wrong: [&[&str]; 9] = [
        &[],
        &["Content-Type:"],
        &["Content-Type: text/plain"],
        &["Content-Type: text/json"],
        &["Content-Type: application/x-www-form-urlencoded"],
        &["Content-Type: multipart/form-data; boundary=x"],
        &["Content-Type: application/jsonp"],
        &["Content-Type: text/plain; application/json"],
        &["Content-Type: application/json", "Content-Type: application/json"],
    ];
    for verb in ["claim", "confirm", "release", "extend", "batch"] {
        for headers in wrong {
            let what = format!("{verb}: {headers:?}");
            let mut connection = home.connect().await;
            let answer = connection.ask(with_headers("POST", &format!("/v1/{verb}"), headers, &body)).await;
            assert_eq!((answer.status, answer.problem().as_str()), (415, "unsupported_media_type"), "{what}");
            assert!(answer.text().contains("application/json"), "{what}");
            assert_defined(connection, &answer, &what).await;
        }
    }
    assert_nothing_stored(&home, "wrong content type").await;
    for right in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=utf-8"] {
        let header = format!("Content-Type: {right}");
        let answer = home.ask(&with_headers("POST", "/v1/claim", &[&header], &body)).await;
        assert_eq!(answer.status, 201, "{right}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn half_a_body_and_then_silence_is_a_408_and_the_connection_is_closed() {
    for path in ["/v1/claim", "/v1/batch"] {
        let house = House::new();
        let home = house.start().await;
        let mut connection = home.connect().await;
        let headers =
            "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue";
        connection.send(format!("POST {path} HTTP/1.1\r\n{headers}\r\n\r\n")).await;
        // Only who reads the body asks for it: the clock of the body runs from here.
        assert!(connection.head().await.starts_with("HTTP/1.1 100 "), "{path}");
        connection.send("{\"namespace\":\"a\",\"key\":\"k\"").await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(11)).await;
        tokio::time::resume();
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.problem().as_str()), (408, "body_timeout"), "{path}");
        assert_eq!(answer.header("connection"), Some("close"), "{path}");
        assert!(connection.is_closed().await, "{path}");
        assert_nothing_stored(&home, path).await;
        home.daemon.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_or_is_no_chunks_stores_nothing() {
    let house = House::new();
    let home = house.start().await;
    let whole = format!("{{\"namespace\":\"a\",\"key\":\"k\",\"token\":\"{OURS}\"}}");
    let head = "POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let short = format!("{head}Content-Length: {}\r\n\r\n{whole}", whole.len() + 1);
    let unfinished = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{whole}\r\n", whole.len());
    for request in [short, unfinished] {
        let mut connection = home.connect().await;
        connection.send(&request).await;
        connection.hang_up().await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "body_incomplete"));
        assert!(connection.is_closed().await);
        assert_nothing_stored(&home, &request).await;
    }
    let mut connection = home.connect().await;
    let answer = connection.ask(format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "body_incomplete"));
    assert!(connection.is_closed().await);
    home.daemon.stop().await.unwrap();
}
