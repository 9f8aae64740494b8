//! What customers have sent is for nobody else on the machine to read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::harness::House;

/// Larger than what goes into the content log: in a file of its own.
const LARGE_BYTES: usize = 100 << 10;

/// What is in a directory and below, itself included, with its mode.
fn modes(dir: &Path) -> Vec<(PathBuf, u32)> {
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let (mut found, mut open) = (vec![(dir.to_owned(), mode(dir))], vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            found.push((entry.path(), mode(&entry.path())));
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

/// With the umask that most shells have, whatever it was that runs the tests.
fn house() -> House {
    let mut house = House::new();
    house.wrapper = ["sh", "-c", "umask 022; exec \"$@\"", "sh"].map(str::to_owned).into();
    house.tables = "[[route]]\nname = \"q\"\npath = \"/q\"\nforward_to = \"http://127.0.0.1:9\"\nverify = \"none\"\n\
                    mode = \"queue\"\nevent_id = { header = \"Id\" }\n[hooks]\nlisten = \"127.0.0.1:0\"\n"
        .to_owned();
    house
}

/// `onced serve` from a shell left every event's body readable by every account of the machine: the directory had 0755 and
/// its files 0644, by the shell's umask. The unit sets one; whoever runs it by hand had none.
#[test]
fn a_store_is_for_its_owner_alone_whatever_the_shell_lets_others_read() {
    let house = house();
    let daemon = house.start();
    let mut sender = Client::connect(&daemon.hooks).unwrap();
    let large = "x".repeat(LARGE_BYTES);
    for (id, body) in [("small", "private"), ("large", large.as_str())] {
        let length = body.len();
        let request = format!("POST /q HTTP/1.1\r\nHost: a\r\nId: {id}\r\nContent-Length: {length}\r\n\r\n{body}");
        assert_eq!(sender.exchange(request.as_bytes()).unwrap().status, 202, "{id}");
    }
    let modes = modes(&house.store);
    assert!(
        modes.iter().any(|(path, _)| path.starts_with(house.store.join("contents")) && path.is_file()),
        "{modes:?}"
    );
    assert!(modes.iter().any(|(path, _)| path.starts_with(house.store.join("events")) && path.is_file()), "{modes:?}");
    let open: Vec<_> = modes.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
    daemon.stop();
}

/// A store that was made before that, or by hand: its files may still be for all to read, so its directory must not be. Its
/// group keeps what it has, which somebody may have meant.
#[test]
fn a_directory_that_was_open_to_all_is_closed_and_the_log_says_so() {
    let house = house();
    let mode = || fs::metadata(&house.store).unwrap().permissions().mode() & 0o777;
    fs::create_dir(&house.store).unwrap();
    fs::set_permissions(&house.store, Permissions::from_mode(0o755)).unwrap();
    let daemon = house.start();
    assert_eq!(mode(), 0o750, "{:#?}", daemon.log.lines());
    assert!(daemon.log.entry("the store's directory was open to all").is_some(), "{:#?}", daemon.log.lines());
    daemon.stop();
}

/// The socket is the group's, whatever the umask is.
#[test]
fn the_socket_is_open_to_its_group_all_the_same() {
    let mut house = house();
    let socket = house.beside("onced.sock");
    house.socket = socket.display().to_string();
    let daemon = house.start();
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o660);
    daemon.stop();
}
