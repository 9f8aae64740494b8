//! What the service manager is told.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::full_disk::is_ready;
use crate::harness::House;

#[test]
fn the_service_manager_is_told_when_the_daemon_serves_and_when_it_stops() {
    let mut house = House::new();
    let path = house.beside("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    house.environment.push(("NOTIFY_SOCKET", path.display().to_string()));
    let daemon = house.start();
    let told = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    assert_eq!(told().trim_end(), "READY=1");
    assert!(is_ready(&mut daemon.client()));
    daemon.stop();
    assert_eq!(told().trim_end(), "STOPPING=1");
}
