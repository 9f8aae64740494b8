//! The commands that ask a daemon: the real binary against a daemon in this process.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::harness::{DESCRIPTORS, Home, House, OURS, START_MS, THEIRS, rfc3339};

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { exit: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// Runs the binary in a directory, with these variables of ours and no others.
async fn run_in(dir: &Path, variables: &[(&str, &str)], args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onced"));
    command.args(args).current_dir(dir).env_remove("ONCED_API").env_remove("ONCED_TOKEN_FILE");
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = {
        let _no_store_opens = DESCRIPTORS.write().await;
        command.spawn().unwrap()
    };
    // The daemon of this process goes on meanwhile.
    let output = tokio::task::spawn_blocking(|| child.wait_with_output());
    let output = output.await.unwrap().unwrap();
    Said::of(&output)
}

/// Runs the binary against a daemon, over its socket.
pub(crate) async fn run(home: &Home, args: &[&str]) -> Said {
    let socket = home.socket.to_str().unwrap();
    let args = [args, &["--api", socket]].concat();
    run_in(Path::new("/"), &[], &args).await
}

#[tokio::test]
async fn every_command_ends_with_the_exit_code_of_its_outcome() {
    let house = House::new();
    let home = house.start().await;
    let rows: [(&[&str], i32, &str); 27] = [
        (&["get", "a:k"], 1, ""),
        (&["release", "a:k", "--token", OURS], 0, "released"),
        (&["extend", "a:k", "--token", OURS], 75, "not_holder"),
        (&["forget", "a:k"], 0, "forgotten"),
        (&["claim", "a:k", "--token", OURS, "--processing-ttl", "60s", "--fingerprint", "one"], 0, "claimed"),
        (&["claim", "a:k", "--token", OURS], 0, "claimed"),
        (&["claim", "a:k"], 75, "in_progress"),
        (&["claim", "a:k", "--wait", "0s"], 75, "in_progress"),
        (&["claim", "a:k", "--fingerprint", "two"], 1, "mismatch"),
        (&["get", "a:k"], 0, "held"),
        (&["extend", "a:k", "--token", OURS, "--processing-ttl", "90s"], 0, "extended"),
        (&["extend", "a:k", "--token", THEIRS], 75, "not_holder"),
        (&["release", "a:k", "--token", THEIRS], 75, "not_holder"),
        (&["release", "a:k", "--token", OURS], 0, "released"),
        (&["claim", "a:k", "--token", THEIRS, "--owner", "billing"], 0, "claimed"),
        (&["confirm", "a:k", "--token", THEIRS, "--confirmed-ttl", "1h", "--result", "{\"n\":1}"], 0, "confirmed"),
        (&["confirm", "a:k"], 0, "confirmed"),
        (&["claim", "a:k"], 3, "done"),
        (&["release", "a:k", "--token", THEIRS], 3, "done"),
        (&["extend", "a:k", "--token", THEIRS], 3, "done"),
        (&["get", "a:k"], 0, "done"),
        (&["forget", "a:k"], 0, "forgotten"),
        (&["get", "a:k"], 1, ""),
        (&["claim", "a:k", "--processing-ttl", "0s"], 2, ""),
        (&["claim", "A:k"], 2, ""),
        (&["claim", "route:r:k"], 1, ""),
        (&["confirm", "a:k", "--result", "no json"], 2, ""),
    ];
    for (args, exit, begin) in rows {
        let said = run(&home, args).await;
        assert_eq!(said.exit, exit, "{args:?}: {said:?}");
        if begin.is_empty() {
            assert!(said.out.is_empty() && said.err.starts_with("onced: "), "{args:?}: {said:?}");
        } else {
            assert!(said.out.starts_with(begin) && said.err.is_empty(), "{args:?}: {said:?}");
            assert_eq!(said.out.lines().count(), 1, "{args:?}: {said:?}");
        }
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn with_json_a_command_prints_the_answer_of_the_daemon_as_it_is() {
    let house = House::new();
    let home = house.start().await;
    let claim = run(&home, &["claim", "a:k", "--token", OURS, "--processing-ttl", "60s", "--json"]).await;
    let mut json = claim.json();
    assert!(json.as_object_mut().unwrap().remove("fence").is_some());
    let expected = json!({
        "outcome": "claimed", "first_delivery": true, "token": OURS, "attempt": 1, "previous": "none",
        "repeated": false, "expires_at": rfc3339(START_MS + 60_000), "expires_in_ms": 60_000, "degraded": false,
    });
    assert_eq!((claim.exit, json), (0, expected));
    let busy = run(&home, &["claim", "a:k", "--json"]).await;
    assert_eq!((busy.exit, &busy.json()["retry_after_ms"]), (75, &json!(60_000)));
    assert_eq!(run(&home, &["get", "a:k", "--json"]).await.json(), home.get("/a/k").await.json());
    let absent = run(&home, &["get", "a:absent", "--json"]).await;
    assert_eq!((absent.exit, &absent.json()["code"]), (1, &json!("absent")));
    let bad = run(&home, &["claim", "a:", "--json"]).await;
    assert_eq!((bad.exit, &bad.json()["field"]), (2, &json!("key")));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn every_option_of_a_command_reaches_the_daemon() {
    let house = House::new();
    let home = house.start().await;
    let options = ["--token", OURS, "--processing-ttl", "7s", "--fingerprint", "one", "--owner", "billing"];
    assert_eq!(run(&home, &[&["claim", "a:k"], &options[..]].concat()).await.exit, 0);
    let held = home.get("/a/k").await.json();
    assert_eq!((&held["owner"], &held["expires_at"]), (&json!("billing"), &json!(rfc3339(START_MS + 7_000))));
    assert_eq!(home.claim("k", json!({ "fingerprint": "two" })).await.outcome(), "mismatch");
    assert_eq!(run(&home, &["extend", "a:k", "--token", OURS, "--processing-ttl", "9s"]).await.exit, 0);
    assert_eq!(home.get("/a/k").await.json()["expires_at"], rfc3339(START_MS + 9_000));
    let late = run(&home, &["confirm", "a:k", "--token", THEIRS, "--confirmed-ttl", "1h", "--result", "[1,2]"]).await;
    assert!(late.out.contains("overrun true"), "{late:?}");
    let done = home.get("/a/k").await.json();
    assert_eq!((&done["result"], &done["expires_at"]), (&json!([1, 2]), &json!(rfc3339(START_MS + 3_600_000))));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_command_can_wait_for_the_holder() {
    let house = House::new();
    let home = house.start().await;
    home.claim("k", json!({ "token": THEIRS })).await;
    let socket = home.socket.to_str().unwrap().to_owned();
    let waiting = tokio::spawn(async move {
        let args = ["claim", "a:k", "--wait", "20s", "--token", OURS, "--api", &socket];
        run_in(Path::new("/"), &[], &args).await
    });
    super::harness::until(|| home.count("a", "in_progress") > 0).await;
    home.release("k", THEIRS).await;
    let said = waiting.await.unwrap();
    assert!(said.exit == 0 && said.out.contains(OURS), "{said:?}");
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_is_split_at_its_first_colon_and_may_hold_anything_after_it() {
    let house = House::new();
    let home = house.start().await;
    for (text, key) in [("a:k", "k"), ("a:b:c", "b:c"), ("a::", ":"), ("a:b/c d?e#f%2F", "b/c d?e#f%2F"), ("a:é", "é")]
    {
        assert_eq!(run(&home, &["claim", text]).await.exit, 0, "{text}");
        let stored = home.stored().await;
        assert_eq!((stored.len(), &stored[0]["key"]), (1, &json!(key)), "{text}");
        let read = run(&home, &["get", text, "--json"]).await;
        assert_eq!((read.exit, &read.json()["key"]), (0, &json!(key)), "{text}");
        let forgotten = run(&home, &["forget", text, "--json"]).await;
        assert_eq!((forgotten.exit, &forgotten.json()["existed"]), (0, &json!(true)), "{text}");
    }
    // A route's namespace has a colon of its own.
    let read = run(&home, &["get", "route:stripe:evt_1", "--json"]).await;
    assert_eq!((read.exit, &read.json()["code"]), (1, &json!("absent")));
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_command_line_that_is_wrong_ends_with_2_before_anybody_is_asked() {
    let nobody = "/nowhere/onced.sock";
    let rows: [&[&str]; 10] = [
        &[],
        &["frobnicate"],
        &["claim"],
        &["claim", "no-colon", "--api", nobody],
        &["claim", "route:stripe", "--api", nobody],
        &["claim", "a:k", "--colour", "red", "--api", nobody],
        &["release", "a:k", "--api", nobody],
        &["extend", "a:k", "--api", nobody],
        &["confirm", "a:k", "--result", "{", "--api", nobody],
        &["claim", "a:k", "--token-file", "/nowhere/token", "--api", nobody],
    ];
    for args in rows {
        let said = run_in(Path::new("/"), &[], args).await;
        assert_eq!(said.exit, 2, "{args:?}: {said:?}");
        assert!(said.out.is_empty() && !said.err.is_empty(), "{args:?}: {said:?}");
    }
    for args in [&["--help"][..], &["--version"], &["claim", "--help"]] {
        let said = run_in(Path::new("/"), &[], args).await;
        assert!(said.exit == 0 && !said.out.is_empty(), "{args:?}: {said:?}");
    }
}

#[tokio::test]
async fn a_daemon_that_cannot_be_reached_is_69() {
    let dir = tempfile::tempdir().unwrap();
    // A port that was free a moment ago, a file that is no socket, and a socket that is not there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for api in [&*port, file.to_str().unwrap(), "/nowhere/onced.sock"] {
        let rows: [&[&str]; 7] = [
            &["claim", "a:k"],
            &["confirm", "a:k"],
            &["release", "a:k", "--token", OURS],
            &["extend", "a:k", "--token", OURS],
            &["get", "a:k"],
            &["forget", "a:k"],
            &["status"],
        ];
        for args in rows {
            let said = run_in(dir.path(), &[("ONCED_API", api)], args).await;
            assert_eq!(said.exit, 69, "{args:?} at {api}: {said:?}");
            assert!(said.out.is_empty() && said.err.contains("cannot be reached"), "{said:?}");
        }
    }
}

#[tokio::test]
async fn the_daemon_is_found_by_option_or_variable_or_at_its_default_socket() {
    let house = House::with("", "");
    std::fs::create_dir(house.dir.path().join("onced-data")).unwrap();
    let socket = house.dir.path().join("onced-data/onced.sock");
    let house = house.with_api(&format!("socket = {socket:?}"));
    let home = house.start().await;
    let (url, socket) = (format!("http://{}", home.tcp), socket.to_str().unwrap().to_owned());
    let slashed = format!("{url}/");
    let nobody = [("ONCED_API", "/nowhere/onced.sock")];
    let elsewhere = Path::new("/");
    for (dir, variables, args) in [
        (elsewhere, &[][..], &["--api", &*url][..]),
        (elsewhere, &[], &["--api", &slashed]),
        (elsewhere, &[], &["--api", &socket]),
        (elsewhere, &[("ONCED_API", &*url)], &[]),
        (elsewhere, &[("ONCED_API", &*socket)], &[]),
        // The option wins over the variable.
        (elsewhere, &nobody, &["--api", &socket]),
        // A daemon on embedded defaults, started from the same directory.
        (house.dir.path(), &[], &[]),
        (house.dir.path(), &[], &["--api", "onced-data/onced.sock"]),
    ] {
        let said = run_in(dir, variables, &[&["confirm", "a:k"], args].concat()).await;
        assert_eq!(said.exit, 0, "{dir:?} {variables:?} {args:?}: {said:?}");
    }
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn a_token_comes_from_a_file_and_is_never_printed() {
    let house = House::with("", "");
    let secret = "billing-0123456789-0123456789";
    let good = house.file("good", &format!("{secret}\n"));
    let wrong = house.file("wrong", &format!("wrong-{secret}\n"));
    let two_lines = house.file("two-lines", &format!("{secret}\n{secret}\n"));
    let house = house.with_api(&format!(
        "loopback = \"none\"\n[[api.token]]\nname = \"billing\"\nfile = {good:?}\nnamespaces = [\"a\"]\nscopes = [\"claim\"]"
    ));
    let home = house.start().await;
    let url = format!("http://{}", home.tcp);
    let (good, wrong, two_lines) = (good.to_str().unwrap(), wrong.to_str().unwrap(), two_lines.to_str().unwrap());
    let rows: [(&[&str], i32, &str); 6] = [
        (&["claim", "a:k", "--token-file", good], 0, "claimed"),
        (&["claim", "a:k", "--token-file", wrong], 1, "bearer token"),
        (&["claim", "a:k"], 1, "bearer token"),
        (&["claim", "b:k", "--token-file", good], 1, "not for this namespace"),
        (&["forget", "a:k", "--token-file", good], 1, "operate"),
        (&["claim", "a:k", "--token-file", two_lines], 2, ""),
    ];
    for (args, exit, says) in rows {
        let said = run_in(Path::new("/"), &[("ONCED_API", &url)], args).await;
        assert_eq!(said.exit, exit, "{args:?}: {said:?}");
        assert!(said.out.contains(says) || said.err.contains(says), "{args:?}: {said:?}");
        assert!(!said.out.contains(secret) && !said.err.contains(secret), "{args:?}: {said:?}");
    }
    let variables = [("ONCED_API", &*url), ("ONCED_TOKEN_FILE", good)];
    assert_eq!(run_in(Path::new("/"), &variables, &["get", "a:k"]).await.exit, 0);
    home.daemon.stop().await.unwrap();
}

#[tokio::test]
async fn status_says_that_a_daemon_is_well() {
    let house = House::new();
    let home = house.start().await;
    let said = run(&home, &["status"]).await;
    assert_eq!(said.exit, 0, "{said:?}");
    assert!(said.out.starts_with("well: ready, at "), "{said:?}");
    assert!(said.out.contains(env!("CARGO_PKG_VERSION")), "{said:?}");
    let json = run(&home, &["status", "--json"]).await;
    assert_eq!((json.exit, json.json()), (0, json!({ "ready": true, "reasons": [] })));
    home.daemon.stop().await.unwrap();
}

/// Somebody who gives every connection the same answer.
async fn impostor(answer: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            assert!(socket.read(&mut request).await.unwrap() > 0);
            socket.write_all(answer.as_bytes()).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    url
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A web server on the port that was asked, whose 200 a script took for a claim.
#[tokio::test]
async fn an_answer_that_is_none_of_ours_is_a_failure() {
    for answer in [
        ok("hello"),
        ok("{}"),
        ok("[]"),
        ok("{\"outcome\":5}"),
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}".to_owned(),
        "SSH-2.0-OpenSSH\r\n".to_owned(),
    ] {
        let url = impostor(answer.clone()).await;
        for args in [&["claim", "a:k"][..], &["claim", "a:k", "--json"], &["get", "a:k"], &["status"]] {
            let said = run_in(Path::new("/"), &[("ONCED_API", &url)], args).await;
            assert_eq!(said.exit, 1, "{args:?}, {answer:?}: {said:?}");
            let is_status = args == ["status"];
            assert!(is_status || (said.out.is_empty() && !said.err.is_empty()), "{args:?}, {answer:?}: {said:?}");
        }
    }
}

#[tokio::test]
async fn status_of_a_daemon_that_is_not_ready_is_a_failure_with_its_reasons() {
    let body = "{\"ready\":false,\"reasons\":[\"stopping\",\"store: disk_full\"]}";
    let answer = format!("HTTP/1.1 503 Service Unavailable\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let url = impostor(answer).await;
    let said = run_in(Path::new("/"), &[("ONCED_API", &url)], &["status"]).await;
    assert_eq!(said.exit, 1, "{said:?}");
    assert!(said.out.starts_with("not well, at ") && said.out.contains(": stopping, store: disk_full\n"), "{said:?}");
    let json = run_in(Path::new("/"), &[("ONCED_API", &url)], &["status", "--json"]).await;
    assert_eq!((json.exit, json.out.trim()), (1, body));
}
