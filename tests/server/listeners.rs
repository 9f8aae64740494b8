//! Sockets: files and their permissions, and a lack of descriptors.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::Request as HttpRequest;
use onced::server::{CallError, Endpoint, Limits, ListenError, Listener, Peer, Request, Response, call};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::timeout;

use crate::harness::{Server, far, ok};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

async fn unix_server(path: &Path) -> Server {
    Server::on(Listener::bind_unix(path, 0o660).await.unwrap(), Limits::default(), ok)
}

fn get(path: &str) -> HttpRequest<Bytes> {
    HttpRequest::get(path).body(Bytes::new()).unwrap()
}

#[tokio::test]
async fn a_unix_socket_has_exactly_the_mode_asked_for_and_leaves_nothing_else_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("onced.sock");
    let server = unix_server(&path).await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o660);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(server.address, path.display().to_string());
    let answer = call(&Endpoint::Unix(path.clone()), get("/")).await.unwrap();
    assert_eq!(answer.body(), "ok");
    server.shutdown.drain(far()).await;
    assert!(!path.exists());
}

/// The socket is born under another name, which was longer than a short one's.
#[tokio::test]
async fn a_socket_path_may_have_all_the_107_bytes_that_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let filler = 107 - directory.path().as_os_str().len() - "//s".len();
    let home = directory.path().join("d".repeat(filler));
    fs::create_dir(&home).unwrap();
    let path = home.join("s");
    assert_eq!(path.as_os_str().len(), 107);
    let _server = unix_server(&path).await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o660);
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
    let answer = call(&Endpoint::Unix(path), get("/")).await.unwrap();
    assert_eq!(answer.body(), "ok");
}

#[tokio::test]
async fn a_unix_peer_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("onced.sock");
    let listener = Listener::bind_unix(&path, 0o660).await.unwrap();
    let _server = Server::on(listener, Limits::default(), |request: Request| async move {
        assert_eq!(request.peer, Peer::Unix);
        Response::new("ok".into())
    });
    assert_eq!(call(&Endpoint::Unix(path), get("/")).await.unwrap().body(), "ok");
}

#[tokio::test]
async fn the_socket_file_of_a_killed_daemon_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("onced.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap()); // std leaves the file, as a kill does
    let _server = unix_server(&path).await;
    assert_eq!(call(&Endpoint::Unix(path), get("/")).await.unwrap().body(), "ok");
}

#[tokio::test]
async fn a_live_daemon_keeps_its_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("onced.sock");
    let _server = unix_server(&path).await;
    let inode = fs::metadata(&path).unwrap().ino();
    let refused = Listener::bind_unix(&path, 0o660).await;
    assert!(matches!(refused, Err(ListenError::InUse { .. })), "{refused:?}");
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    fs::write(&path, "precious").unwrap();
    let refused = Listener::bind_unix(&path, 0o660).await;
    assert!(matches!(refused, Err(ListenError::NotASocket { .. })), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn a_stopping_daemon_does_not_remove_its_successors_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("onced.sock");
    let first = Listener::bind_unix(&path, 0o660).await.unwrap();
    fs::remove_file(&path).unwrap();
    let _second = unix_server(&path).await;
    drop(first);
    assert_eq!(call(&Endpoint::Unix(path), get("/")).await.unwrap().body(), "ok");
}

#[tokio::test]
async fn a_call_to_nobody_names_the_endpoint() {
    let endpoint = Endpoint::Unix("/nonexistent/onced.sock".into());
    let error = call(&endpoint, get("/")).await.unwrap_err();
    assert!(matches!(error, CallError::Connect { .. }), "{error:?}");
    assert_eq!(error.to_string(), "/nonexistent/onced.sock cannot be reached");
}

#[tokio::test]
async fn a_call_over_tcp_is_answered() {
    let server = Server::start(ok).await;
    assert_eq!(call(&Endpoint::Tcp(server.address), get("/")).await.unwrap().body(), "ok");
}

/// The limit is the process's, so this test runs itself again in a process of its own.
#[tokio::test(start_paused = true)]
async fn a_lack_of_descriptors_pauses_the_accept_loop_and_does_not_end_it() {
    const ALONE: &str = "ONCED_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "listeners::a_lack_of_descriptors_pauses_the_accept_loop_and_does_not_end_it";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let outcome = again.args(["--exact", name]).env(ALONE, "1").output().unwrap();
        assert!(String::from_utf8_lossy(&outcome.stdout).contains("1 passed"), "{outcome:?}");
        return;
    }
    let server = Server::start(ok).await;
    let mut client = server.connect().await;
    let before = getrlimit(Resource::Nofile);
    let next_free = fs::File::open("/dev/null").unwrap().as_raw_fd();
    setrlimit(Resource::Nofile, Rlimit { current: Some(next_free as u64), ..before }).unwrap();
    client.send(GET).await;
    let silence = timeout(Duration::from_secs(60), client.0.readable()).await; // hundreds of tries
    assert!(silence.is_err(), "it was accepted without a descriptor");
    setrlimit(Resource::Nofile, before).unwrap();
    assert_eq!(client.answer().await.body(), "ok");
}
