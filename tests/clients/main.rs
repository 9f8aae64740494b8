//! Clients that nobody here wrote: senders' own packages sign, onced verifies and hands over, and the same packages judge
//! the copy that the app gets.
//!
//! Where a package can only verify, the signature is made with node's own cryptography, and both judge the same bytes. The
//! packages are for node and Python, pinned in `package-lock.json` and `requirements.txt` beside this file, and installed
//! below `target`, once. Where a language is not there, the tests say so and go on without; where `CI=true` that is a failure.
//! Packages that cannot be installed are one everywhere: else a registry that is down, or a pin that is wrong, would pass.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod families;
mod front;
mod message;
mod packages;

use front::Front;
use message::Message;
use packages::{Event, Packages, Row};

#[test]
fn what_a_package_signs_passes_us_and_the_copy_passes_the_package() {
    for packages in Packages::running() {
        let names: Vec<_> = packages.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, packages.family.rows);
        let front = Front::start(packages);
        for row in &packages.rows {
            let event = packages.sign(row);
            let copy = taken(&front, row, &event);
            assert_eq!(copy.body, event.message.body, "{}", row.name);
            for header in event.message.headers.iter().filter(|(name, _)| !replaced(row, &event, name)) {
                assert!(copy.headers.contains(header), "{}: {header:?} is not in {:?}", row.name, copy.headers);
            }
            assert_eq!(copy.header("onced-verified"), Some(row.provider.as_str()), "{}", row.name);

            let again = front.post(&event.message);
            // Some senders want another success than 200.
            assert_eq!((again.told().0 / 100, again.told().1), (2, Some("duplicate")), "{}: {again:?}", row.name);
        }
    }
}

#[test]
fn what_is_altered_on_the_way_is_refused_by_us_and_its_copy_by_the_package() {
    for packages in Packages::running() {
        let front = Front::start(packages);
        for row in &packages.rows {
            let event = packages.sign(row);
            for (what, forged) in event.message.forgeries(&event.sealed_by_sender) {
                let answer = front.post(&forged);
                assert_eq!(answer.told(), (401, Some("unverified")), "{}, {what}: {answer:?}", row.name);
            }
            // No forgery has used up the event.
            let copy = taken(&front, row, &event);
            assert_eq!(packages.judge(&copy).status, 200, "{}: the copy as it came", row.name);
            for (what, forged) in copy.forgeries(&event.sealed_for_app) {
                let answer = packages.judge(&forged);
                assert_eq!(answer.status, 403, "{}, {what}: {answer:?}", row.name);
            }
        }
    }
}

/// The copy of an event that onced and the package take for genuine: the app's status is what the package says.
fn taken(front: &Front, row: &Row, event: &Event) -> Message {
    let answer = front.post(&event.message);
    assert_eq!(answer.told(), (200, Some("forwarded")), "{}: {answer:?}", row.name);
    answer.copy()
}

/// Whether our signature stands in the place of this header of the sender's.
fn replaced(row: &Row, event: &Event, name: &str) -> bool {
    row.sign_secret.is_some() && event.sealed_for_app.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}
