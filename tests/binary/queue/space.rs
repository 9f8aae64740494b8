//! The disk space of what is gone.

use super::app::App;
use super::place::{Disk, PATIENCE, queueing};
use crate::harness::eventually;

const MIB: u64 = 1 << 20;

/// Space that bodies had taken was never given back.
#[test]
fn the_disk_space_of_a_backlog_comes_back_when_it_is_gone() {
    let app = App::new();
    let house = queueing(&app, "record = \"off\"\n[route.delivery]\nconcurrency = 16\nbreaker_probe = \"100ms\"\n");
    let daemon = house.start();
    let empty = Disk::of(&house.store);
    daemon.accepts_many("large", 200, 200_000);
    daemon.accepts_many("middle", 2_000, 20_000);
    daemon.accepts_many("small", 2_000, 2_000);
    let full = Disk::of(&house.store);
    println!("empty {empty:?}\nfull  {full:?}");
    assert!(full.contents >= 44_000_000 && full.bodies >= 40_000_000, "{full:?}");
    app.appear();
    daemon.until_empty();
    let mut gone = Disk::of(&house.store);
    eventually(PATIENCE, "space is given back", || {
        gone = Disk::of(&house.store);
        gone.contents <= 32 * MIB && gone.bodies < MIB
    });
    println!("gone  {gone:?}");
    daemon.stop();
    let daemon = house.start();
    println!("after a restart {:?}", Disk::of(&house.store));
    daemon.stop();
}
