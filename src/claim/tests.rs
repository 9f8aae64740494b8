//! Every cell of the table, every rule on lifetimes, and what small print says between them.

use std::time::Duration;

use super::*;

const NOW: u64 = 1_000_000;
const MINE: &str = "mine-mine-mine-mine-mine";
const THEIRS: &str = "theirs-theirs-theirs-theirs";

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn moment(now: u64) -> Moment {
    Moment { now: at(now), sequence: 77 }
}

fn token(text: &str) -> Token {
    Token::parse(text).expect("a token")
}

fn print(text: &str) -> Fingerprint {
    Fingerprint::parse(text).expect("a fingerprint")
}

fn processing(millis: u64) -> ProcessingTtl {
    ProcessingTtl::new(Duration::from_millis(millis)).expect("in bounds")
}

fn confirmed(millis: u64) -> ConfirmedTtl {
    ConfirmedTtl::new(Duration::from_millis(millis)).expect("in bounds")
}

fn held(token_text: &str, expires_at: u64) -> Record {
    Record::Held(Held {
        token: token(token_text),
        claimed_at: at(NOW - 500),
        expires_at: at(expires_at),
        retention: confirmed(10_000),
        attempt: 3,
        fence: 9,
        previous: Previous::Released,
        fingerprint: Some(print("payload")),
        owner: None,
    })
}

fn done(expires_at: u64) -> Record {
    Record::Done(Done {
        confirmed_at: at(NOW - 400),
        expires_at: at(expires_at),
        attempt: 3,
        fingerprint: Some(print("payload")),
        owner: None,
        result: WorkResult::from_json("{\"n\":1}").ok(),
        event: None,
    })
}

fn free(expires_at: u64) -> Record {
    Record::Free(Free { attempt: 3, expires_at: at(expires_at) })
}

fn claim_of(token_text: &str, fingerprint: Option<&str>) -> Command {
    Command::Claim(Claim {
        token: token(token_text),
        processing_ttl: processing(2_000),
        retention: confirmed(10_000),
        fingerprint: fingerprint.map(print),
        owner: None,
    })
}

fn confirm_of(token_text: Option<&str>) -> Command {
    Command::Confirm(Confirm { token: token_text.map(token), confirmed_ttl: confirmed(60_000), result: None })
}

/// What a cell of the table says, in one line.
fn cell(record: Option<&Record>, command: &Command) -> String {
    let Decision { outcome, change } = decide(record, command, moment(NOW));
    let outcome = match outcome {
        Outcome::Claimed(claimed) => format!(
            "claimed attempt={} fence={} previous={:?} repeated={} expires_in={}",
            claimed.attempt,
            claimed.fence,
            claimed.previous,
            claimed.repeated,
            claimed.expires_at.as_millis() - NOW
        ),
        Outcome::InProgress { expires_at, attempt } => {
            format!("in_progress attempt={attempt} expires_in={}", expires_at.as_millis() - NOW)
        }
        Outcome::Done(done) => format!("done attempt={}", done.attempt),
        Outcome::Mismatch => "mismatch".into(),
        Outcome::Confirmed { overrun, attempt, expires_at } => {
            format!("confirmed overrun={overrun} attempt={attempt} expires_in={}", expires_at.as_millis() - NOW)
        }
        Outcome::Released { attempt } => format!("released attempt={attempt:?}"),
        Outcome::Extended { attempt, expires_at } => {
            format!("extended attempt={attempt} expires_in={}", expires_at.as_millis() - NOW)
        }
        Outcome::NotHolder => "not_holder".into(),
        Outcome::Forgotten { existed } => format!("forgotten existed={existed}"),
    };
    let change = match change {
        Change::Keep => "keep",
        Change::Put(Record::Held(_)) => "held",
        Change::Put(Record::Free(_)) => "free",
        Change::Put(Record::Done(_)) => "done",
        Change::Remove => "remove",
    };
    format!("{outcome} -> {change}")
}

#[test]
fn every_state_answers_every_command_as_the_table_says() {
    let states: &[(&str, Option<Record>)] = &[
        ("absent", None),
        ("free", Some(free(NOW + 1))),
        ("free, forgotten", Some(free(NOW))),
        ("mine", Some(held(MINE, NOW + 1_500))),
        ("theirs", Some(held(THEIRS, NOW + 1_500))),
        ("mine, expired", Some(held(MINE, NOW))),
        ("theirs, expired", Some(held(THEIRS, NOW))),
        ("mine, forgotten", Some(held(MINE, NOW - 10_000))),
        ("done", Some(done(NOW + 7_000))),
        ("done, expired", Some(done(NOW))),
    ];
    let fresh = "claimed attempt=1 fence=77 previous=None repeated=false expires_in=2000 -> held";
    let after_release = "claimed attempt=4 fence=77 previous=Released repeated=false expires_in=2000 -> held";
    let after_expiry = "claimed attempt=4 fence=77 previous=Expired repeated=false expires_in=2000 -> held";
    let claims = [
        fresh,
        after_release,
        fresh,
        "claimed attempt=3 fence=9 previous=Released repeated=true expires_in=1500 -> keep",
        "in_progress attempt=3 expires_in=1500 -> keep",
        after_expiry,
        after_expiry,
        fresh,
        "done attempt=3 -> keep",
        fresh,
    ];
    let late_first = "confirmed overrun=true attempt=1 expires_in=60000 -> done";
    let late = "confirmed overrun=true attempt=3 expires_in=60000 -> done";
    let in_time = "confirmed overrun=false attempt=3 expires_in=60000 -> done";
    let again = "confirmed overrun=false attempt=3 expires_in=7000 -> keep";
    let confirms = [late_first, late, late_first, in_time, late, late, late, late_first, again, late_first];
    let bare_confirms = [late_first, late, late_first, in_time, in_time, late, late, late_first, again, late_first];
    let nothing_left = "released attempt=None -> keep";
    let ended = "released attempt=Some(3) -> keep";
    let releases = [
        nothing_left,
        ended,
        nothing_left,
        "released attempt=Some(3) -> free",
        "not_holder -> keep",
        ended,
        ended,
        nothing_left,
        "done attempt=3 -> keep",
        nothing_left,
    ];
    let longer = "extended attempt=3 expires_in=5000 -> held";
    let no = "not_holder -> keep";
    let extends = [no, no, no, longer, no, longer, no, no, "done attempt=3 -> keep", no];
    let removed = "forgotten existed=true -> remove";
    let nothing = "forgotten existed=false -> keep";
    let forgets = [nothing, removed, nothing, removed, removed, removed, removed, nothing, removed, nothing];
    let commands: &[(&str, Command, [&str; 10])] = &[
        ("claim", claim_of(MINE, None), claims),
        ("confirm", confirm_of(Some(MINE)), confirms),
        ("confirm without token", confirm_of(None), bare_confirms),
        ("release", Command::Release { token: token(MINE) }, releases),
        ("extend", Command::Extend { token: token(MINE), processing_ttl: processing(5_000) }, extends),
        ("forget", Command::Forget, forgets),
    ];
    let mut cells = 0;
    for (name, command, expected) in commands {
        for ((state, record), expected) in states.iter().zip(expected) {
            assert_eq!(&cell(record.as_ref(), command), expected, "{name} on {state}");
            cells += 1;
        }
    }
    assert_eq!(cells, 60);
}

#[test]
fn another_payload_is_a_mismatch_while_the_record_has_a_fingerprint() {
    let rows = [
        (Some(held(THEIRS, NOW + 1)), Some("other"), "mismatch -> keep"),
        (Some(held(MINE, NOW + 1)), Some("other"), "mismatch -> keep"),
        (Some(held(THEIRS, NOW + 1)), Some("payload"), "in_progress attempt=3 expires_in=1 -> keep"),
        (Some(held(THEIRS, NOW + 1)), None, "in_progress attempt=3 expires_in=1 -> keep"),
        (Some(done(NOW + 1)), Some("other"), "mismatch -> keep"),
        (Some(done(NOW + 1)), Some("payload"), "done attempt=3 -> keep"),
        (Some(done(NOW + 1)), None, "done attempt=3 -> keep"),
        // Release and expiry drop the fingerprint.
        (
            Some(held(THEIRS, NOW)),
            Some("other"),
            "claimed attempt=4 fence=77 previous=Expired repeated=false expires_in=2000 -> held",
        ),
        (
            Some(free(NOW + 1)),
            Some("other"),
            "claimed attempt=4 fence=77 previous=Released repeated=false expires_in=2000 -> held",
        ),
    ];
    for (record, fingerprint, expected) in rows {
        assert_eq!(cell(record.as_ref(), &claim_of(MINE, fingerprint)), expected, "{record:?} {fingerprint:?}");
    }
}

/// Applies a command to a record in place, as the store would.
fn apply(record: &mut Option<Record>, command: &Command, now: u64) -> Outcome {
    let Decision { outcome, change } = decide(record.as_ref(), command, moment(now));
    match change {
        Change::Keep => {}
        Change::Put(next) => *record = Some(next),
        Change::Remove => *record = None,
    }
    outcome
}

#[test]
fn the_fingerprint_stays_from_claim_through_confirm() {
    let mut record = None;
    apply(&mut record, &claim_of(MINE, Some("payload")), NOW);
    apply(&mut record, &confirm_of(Some(MINE)), NOW + 1);
    assert_eq!(apply(&mut record, &claim_of(THEIRS, Some("other")), NOW + 2), Outcome::Mismatch);
    apply(&mut record, &Command::Forget, NOW + 3);
    apply(&mut record, &confirm_of(None), NOW + 4);
    assert!(matches!(record, Some(Record::Done(Done { fingerprint: None, .. }))), "{record:?}");
}

#[test]
fn a_repeated_claim_keeps_its_first_lifetime_and_its_previous() {
    let mut record = None;
    apply(&mut record, &claim_of(THEIRS, None), NOW);
    apply(&mut record, &Command::Release { token: token(THEIRS) }, NOW + 1);
    let first = apply(&mut record, &claim_of(MINE, None), NOW + 2);
    let again = apply(&mut record, &claim_of(MINE, None), NOW + 1_000);
    let (Outcome::Claimed(first), Outcome::Claimed(again)) = (first, again) else { panic!("both are claimed") };
    assert_eq!(again, Claimed { repeated: true, ..first });
}

#[test]
fn the_late_holder_learns_it_and_the_new_holder_still_finishes() {
    let mut record = None;
    apply(&mut record, &claim_of(MINE, None), NOW);
    let second = apply(&mut record, &claim_of(THEIRS, None), NOW + 2_000);
    assert!(matches!(second, Outcome::Claimed(Claimed { attempt: 2, previous: Previous::Expired, .. })), "{second:?}");
    let late = apply(&mut record, &confirm_of(Some(MINE)), NOW + 3_000);
    assert!(matches!(late, Outcome::Confirmed { overrun: true, attempt: 2, .. }), "{late:?}");
    let own = apply(&mut record, &confirm_of(Some(THEIRS)), NOW + 3_500);
    assert!(matches!(own, Outcome::Confirmed { overrun: false, attempt: 2, .. }), "{own:?}");
    let release = apply(&mut record, &Command::Release { token: token(THEIRS) }, NOW + 3_600);
    assert!(matches!(release, Outcome::Done(_)), "{release:?}");
}

#[test]
fn looking_at_a_finished_key_never_lengthens_its_window_and_its_end_grants_once() {
    let mut record = None;
    apply(&mut record, &claim_of(MINE, None), NOW);
    apply(&mut record, &confirm_of(Some(MINE)), NOW);
    let mut granted = 0;
    for now in (NOW..NOW + 62_000).step_by(100) {
        match apply(&mut record, &claim_of(&format!("poller-poller-poller-{now}"), None), now) {
            Outcome::Done(_) => assert!(now < NOW + 60_000, "done at {now}"),
            Outcome::Claimed(claimed) => {
                granted += 1;
                assert_eq!((now, claimed.attempt, claimed.previous), (NOW + 60_000, 1, Previous::None));
            }
            other => assert!(matches!(other, Outcome::InProgress { .. }) && now > NOW + 60_000, "{other:?} at {now}"),
        }
    }
    assert_eq!(granted, 1);
}

#[test]
fn attempt_numbers_rise_until_the_record_is_gone() {
    let mut record = None;
    apply(&mut record, &claim_of(MINE, None), NOW);
    apply(&mut record, &Command::Release { token: token(MINE) }, NOW + 100);
    let forgotten_at = NOW + 100 + 10_000;
    let before = record.clone();
    let second = apply(&mut record, &claim_of(MINE, None), forgotten_at - 1);
    assert!(matches!(second, Outcome::Claimed(Claimed { attempt: 2, .. })), "{second:?}");
    let anew = apply(&mut before.clone(), &claim_of(MINE, None), forgotten_at);
    assert!(matches!(anew, Outcome::Claimed(Claimed { attempt: 1, previous: Previous::None, .. })), "{anew:?}");
    assert!(before.is_some_and(|record| record.is_gone(at(forgotten_at)) && !record.is_gone(at(forgotten_at - 1))));
}
