//! The disk form of an entry of the event log, version 2 (the first knew dead letters alone and was never released), and of
//! the head of a content.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::{BorrowDecode, Encode};
use bytes::Bytes;

use super::super::content_log::Span;
use super::super::kept::{ContentFile, Kept, Place};
use super::{CODEC, DamagedRecord, MAX_VALUE_BYTES, number_of, sealed, unsealed, word_of};
use crate::claim::{Key, Namespace, ROUTE_PREFIX, Timestamp};
use crate::event::{
    Attempt, AttemptOutcome, Cause, Content, Delivery, Due, DueLane, Event, EventId, HeaderLine, State,
};

const VERSION: u8 = 2;
/// More than any head that the transport takes, with its target and the sender's id.
const MAX_HEAD_BYTES: usize = 1 << 20;
const HEAD_CODEC: Configuration<LittleEndian, Varint, Limit<MAX_HEAD_BYTES>> =
    bincode::config::standard().with_limit::<MAX_HEAD_BYTES>();
const HEAD_LENGTH_BYTES: usize = 4;
/// About what a head takes beyond its texts: their lengths.
const HEAD_SLACK_BYTES: usize = 256;

#[derive(Encode, BorrowDecode)]
struct Disk<'a> {
    sequence: u64,
    route: &'a str,
    /// `None` for the route's own.
    namespace: Option<&'a str>,
    key: Option<&'a str>,
    received_at_ms: u64,
    body_bytes: u64,
    remembered_until_ms: Option<u64>,
    state: DiskState,
    delivery: DiskDelivery<'a>,
    place: DiskPlace,
}

/// A further state is a further variant at the end.
#[derive(Encode, BorrowDecode)]
enum DiskState {
    Queued { is_retry: bool, at_ms: u64 },
    Delivering { is_retry: bool, at_ms: u64 },
    Delivered { at_ms: u64 },
    Dead { since_ms: u64 },
    Passed { at_ms: u64 },
}

#[derive(Encode, BorrowDecode)]
struct DiskDelivery<'a> {
    app: &'a str,
    attempts: u32,
    budget_from: u32,
    budget_at_ms: u64,
    first_at_ms: Option<u64>,
    last_at_ms: Option<u64>,
    last_status: Option<u16>,
    cause: Option<u8>,
    excerpt: &'a [u8],
    log: Vec<DiskAttempt>,
}

#[derive(Encode, BorrowDecode)]
struct DiskAttempt {
    number: u32,
    at_ms: u64,
    took_ms: u32,
    outcome: u8,
    status: Option<u16>,
}

#[derive(Encode, BorrowDecode)]
enum DiskPlace {
    Log { segment: u32, offset: u32, bytes: u32 },
    File { nonce: u64, bytes: u64 },
}

#[derive(Encode, BorrowDecode)]
struct DiskHead<'a> {
    target: &'a str,
    sender_id: Option<&'a [u8]>,
    headers: Vec<(&'a [u8], &'a [u8])>,
}

/// What stands behind the head where there is something to say; an older head has nothing there.
#[derive(Encode, BorrowDecode)]
struct DiskVerified<'a> {
    by: &'a str,
}

/// The value of an entry; `None` when it is larger than a value may be, which one of a route that can be configured never
/// is.
pub(in crate::store) fn encode_event(kept: &Kept) -> Option<Vec<u8>> {
    let bytes = sealed(VERSION, |bytes| {
        bincode::encode_into_std_write(to_disk(kept), bytes, CODEC).expect("memory takes every write");
    });
    (bytes.len() <= MAX_VALUE_BYTES).then_some(bytes)
}

pub(in crate::store) fn decode_event(id: EventId, bytes: &[u8]) -> Result<Kept, DamagedRecord> {
    let body = unsealed(VERSION, bytes)?;
    let (disk, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    from_disk(id, disk, bytes.len() as u64)
}

/// What stands in a file before the body.
pub(in crate::store) fn encode_head(content: &Content) -> Vec<u8> {
    let mut head = Vec::new();
    put_head(content, &mut head);
    head
}

fn put_head(content: &Content, mut to: &mut Vec<u8>) {
    bincode::encode_into_std_write(head_to_disk(content), &mut to, HEAD_CODEC).expect("memory takes every write");
    if let Some(by) = &content.verified_by {
        bincode::encode_into_std_write(DiskVerified { by }, &mut to, HEAD_CODEC).expect("memory takes every write");
    }
}

pub(in crate::store) fn decode_head(head: &[u8], body: Bytes) -> Result<Content, DamagedRecord> {
    let (disk, length): (DiskHead<'_>, _) =
        bincode::borrow_decode_from_slice(head, HEAD_CODEC).map_err(DamagedRecord::Decode)?;
    let verified_by = match &head[length..] {
        [] => None,
        rest => {
            let (verified, _): (DiskVerified<'_>, _) =
                bincode::borrow_decode_from_slice(rest, HEAD_CODEC).map_err(DamagedRecord::Decode)?;
            Some(verified.by.into())
        }
    };
    Ok(Content { verified_by, ..head_from_disk(disk, body) })
}

/// A content for the content log: the length of the head, the head, the body.
pub(in crate::store) fn encode_content(content: &Content) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_LENGTH_BYTES + content.len_bytes() as usize + HEAD_SLACK_BYTES);
    bytes.extend_from_slice(&[0; HEAD_LENGTH_BYTES]);
    put_head(content, &mut bytes);
    let length = u32::try_from(bytes.len() - HEAD_LENGTH_BYTES).expect("a head is bounded far below the limit");
    bytes[..HEAD_LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&content.body);
    bytes
}

pub(in crate::store) fn decode_content(bytes: Vec<u8>) -> Result<Content, DamagedRecord> {
    let (length, rest) = bytes.split_first_chunk().ok_or(DamagedRecord::Short)?;
    let length = u32::from_le_bytes(*length) as usize;
    let head = rest.get(..length).ok_or(DamagedRecord::Short)?;
    let content = decode_head(head, Bytes::new())?;
    let body = Bytes::from(bytes).slice(HEAD_LENGTH_BYTES + length..);
    Ok(Content { body, ..content })
}

fn to_disk(kept: &Kept) -> Disk<'_> {
    let event = &kept.event;
    let namespace = event.namespace.as_str();
    let is_own = namespace.strip_prefix(ROUTE_PREFIX) == Some(&event.route);
    Disk {
        sequence: event.sequence,
        route: &event.route,
        namespace: (!is_own).then_some(namespace),
        key: event.key.as_ref().map(Key::id),
        received_at_ms: event.received_at.as_millis(),
        body_bytes: event.body_bytes,
        state: state_to_disk(&event.state),
        delivery: delivery_to_disk(&event.delivery),
        remembered_until_ms: kept.remembered_until.map(Timestamp::as_millis),
        place: match &kept.place {
            Place::Log(Span { segment, offset, bytes }) => {
                DiskPlace::Log { segment: *segment, offset: *offset, bytes: *bytes }
            }
            Place::File(file) => DiskPlace::File { nonce: file.nonce, bytes: file.bytes },
        },
    }
}

fn state_to_disk(state: &State) -> DiskState {
    let place = |due: &Due| (due.lane == DueLane::Retry, due.at.as_millis());
    match state {
        State::Queued(due) => {
            let (is_retry, at_ms) = place(due);
            DiskState::Queued { is_retry, at_ms }
        }
        State::Delivering(due) => {
            let (is_retry, at_ms) = place(due);
            DiskState::Delivering { is_retry, at_ms }
        }
        State::Delivered { at } => DiskState::Delivered { at_ms: at.as_millis() },
        State::Dead { since } => DiskState::Dead { since_ms: since.as_millis() },
        State::Passed { at } => DiskState::Passed { at_ms: at.as_millis() },
    }
}

fn delivery_to_disk(delivery: &Delivery) -> DiskDelivery<'_> {
    DiskDelivery {
        app: &delivery.app,
        attempts: delivery.attempts,
        budget_from: delivery.budget_from,
        budget_at_ms: delivery.budget_at.as_millis(),
        first_at_ms: delivery.first_at.map(Timestamp::as_millis),
        last_at_ms: delivery.last_at.map(Timestamp::as_millis),
        last_status: delivery.last_status,
        cause: delivery.cause.map(|cause| number_of(&Cause::ALL, cause)),
        excerpt: &delivery.excerpt,
        log: delivery.log.iter().map(attempt_to_disk).collect(),
    }
}

fn attempt_to_disk(attempt: &Attempt) -> DiskAttempt {
    DiskAttempt {
        number: attempt.number,
        at_ms: attempt.at.as_millis(),
        took_ms: attempt.took_ms,
        outcome: number_of(&AttemptOutcome::ALL, attempt.outcome),
        status: attempt.status,
    }
}

fn head_to_disk(content: &Content) -> DiskHead<'_> {
    DiskHead {
        target: &content.target,
        sender_id: content.sender_id.as_deref(),
        headers: content.headers.iter().map(|line| (&*line.name, &*line.value)).collect(),
    }
}

fn from_disk(id: EventId, disk: Disk<'_>, record_bytes: u64) -> Result<Kept, DamagedRecord> {
    let namespace = match disk.namespace {
        Some(namespace) => Namespace::parse_any(namespace),
        None => Namespace::of_route(disk.route),
    };
    let namespace = namespace.map_err(DamagedRecord::Name)?;
    let event = Event {
        id,
        sequence: disk.sequence,
        route: disk.route.into(),
        key: disk.key.map(|key| Key::new(&namespace, key)).transpose().map_err(DamagedRecord::Name)?,
        namespace,
        received_at: Timestamp::from_millis(disk.received_at_ms),
        body_bytes: disk.body_bytes,
        state: state_from_disk(&disk.state),
        delivery: delivery_from_disk(disk.delivery)?,
    };
    let place = match disk.place {
        DiskPlace::Log { segment, offset, bytes } => Place::Log(Span { segment, offset, bytes }),
        DiskPlace::File { nonce, bytes } => Place::File(ContentFile { nonce, bytes }),
    };
    let remembered_until = disk.remembered_until_ms.map(Timestamp::from_millis);
    Ok(Kept { event, place, remembered_until, record_bytes })
}

fn state_from_disk(disk: &DiskState) -> State {
    let place = |is_retry: bool, at_ms| {
        let lane = if is_retry { DueLane::Retry } else { DueLane::Fresh };
        Due { lane, at: Timestamp::from_millis(at_ms) }
    };
    match *disk {
        DiskState::Queued { is_retry, at_ms } => State::Queued(place(is_retry, at_ms)),
        DiskState::Delivering { is_retry, at_ms } => State::Delivering(place(is_retry, at_ms)),
        DiskState::Delivered { at_ms } => State::Delivered { at: Timestamp::from_millis(at_ms) },
        DiskState::Dead { since_ms } => State::Dead { since: Timestamp::from_millis(since_ms) },
        DiskState::Passed { at_ms } => State::Passed { at: Timestamp::from_millis(at_ms) },
    }
}

fn delivery_from_disk(disk: DiskDelivery<'_>) -> Result<Delivery, DamagedRecord> {
    Ok(Delivery {
        app: disk.app.into(),
        attempts: disk.attempts,
        budget_from: disk.budget_from,
        budget_at: Timestamp::from_millis(disk.budget_at_ms),
        first_at: disk.first_at_ms.map(Timestamp::from_millis),
        last_at: disk.last_at_ms.map(Timestamp::from_millis),
        last_status: disk.last_status,
        cause: disk.cause.map(|cause| word_of(&Cause::ALL, cause)).transpose()?,
        excerpt: disk.excerpt.into(),
        log: disk.log.iter().map(attempt_from_disk).collect::<Result<_, _>>()?,
    })
}

fn attempt_from_disk(disk: &DiskAttempt) -> Result<Attempt, DamagedRecord> {
    Ok(Attempt {
        number: disk.number,
        at: Timestamp::from_millis(disk.at_ms),
        took_ms: disk.took_ms,
        outcome: word_of(&AttemptOutcome::ALL, disk.outcome)?,
        status: disk.status,
    })
}

fn head_from_disk(head: DiskHead<'_>, body: Bytes) -> Content {
    let line = |(name, value): (&[u8], &[u8])| HeaderLine { name: name.into(), value: value.into() };
    Content {
        target: head.target.into(),
        sender_id: head.sender_id.map(Into::into),
        verified_by: None,
        headers: head.headers.into_iter().map(line).collect(),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MAX_APP_BYTES, MAX_EXCERPT_BYTES, MAX_LOG};

    const ID: EventId = EventId::from_bytes([7; 16]);

    fn largest() -> Event {
        let namespace = Namespace::of_route(&"n".repeat(64)).expect("good");
        Event {
            id: ID,
            sequence: u64::MAX,
            route: "r".repeat(64).into(),
            key: Some(Key::new(&namespace, &"k".repeat(512)).expect("good")),
            namespace,
            received_at: Timestamp::from_millis(u64::MAX),
            body_bytes: u64::MAX,
            state: State::Delivering(Due { lane: DueLane::Retry, at: Timestamp::from_millis(u64::MAX) }),
            delivery: Delivery {
                app: "a".repeat(MAX_APP_BYTES).into(),
                attempts: u32::MAX,
                budget_from: u32::MAX,
                budget_at: Timestamp::from_millis(u64::MAX),
                first_at: Some(Timestamp::from_millis(u64::MAX)),
                last_at: Some(Timestamp::from_millis(u64::MAX)),
                last_status: Some(u16::MAX),
                cause: Some(Cause::Unreachable),
                excerpt: vec![0xff; MAX_EXCERPT_BYTES].into(),
                log: vec![attempt(AttemptOutcome::Unknown); MAX_LOG],
            },
        }
    }

    fn attempt(outcome: AttemptOutcome) -> Attempt {
        let at = Timestamp::from_millis(u64::MAX);
        Attempt { number: u32::MAX, at, took_ms: u32::MAX, outcome, status: Some(u16::MAX) }
    }

    fn smallest() -> Event {
        let largest = largest();
        let delivery = Delivery {
            first_at: None,
            last_at: None,
            last_status: None,
            cause: None,
            log: Vec::new(),
            ..largest.delivery.clone()
        };
        let state = State::Dead { since: Timestamp::from_millis(0) };
        Event { key: None, delivery, state, ..largest }
    }

    /// Heads of events that were kept before it was written down who verified them.
    #[test]
    fn a_head_that_does_not_say_who_verified_it_is_read_as_nobodys() {
        let said = content(b"");
        let unsaid = Content { verified_by: None, ..said.clone() };
        let (with, without) = (encode_head(&said), encode_head(&unsaid));
        assert!(with.starts_with(&without) && with.len() > without.len());
        assert_eq!(decode_head(&with, Bytes::new()).expect("sound"), said);
        assert_eq!(decode_head(&without, Bytes::new()).expect("sound"), unsaid);
    }

    fn content(body: &[u8]) -> Content {
        Content {
            target: "/hooks/x?a=%20".into(),
            sender_id: Some((*b"caf\xe9").into()),
            verified_by: Some("github".into()),
            headers: vec![HeaderLine { name: (*b"X-ODD-case").into(), value: (*b"\xff\t\xe9").into() }],
            body: Bytes::copy_from_slice(body),
        }
    }

    fn places() -> [Place; 2] {
        let span = Span { segment: u32::MAX, offset: u32::MAX, bytes: u32::MAX };
        [Place::Log(span), Place::File(ContentFile { nonce: u64::MAX, bytes: u64::MAX })]
    }

    fn kept(event: Event, place: Place) -> Kept {
        Kept { event, place, remembered_until: Some(Timestamp::from_millis(u64::MAX)), record_bytes: 0 }
    }

    #[test]
    fn every_entry_comes_back_as_it_was_and_stays_under_the_limit() {
        for event in [largest(), smallest()] {
            for place in places() {
                let kept = kept(event.clone(), place);
                let bytes = encode_event(&kept).expect("it fits");
                let record_bytes = bytes.len() as u64;
                assert_eq!(decode_event(ID, &bytes).expect("sound"), Kept { record_bytes, ..kept });
            }
        }
        let too_large = Event { route: "a".repeat(MAX_VALUE_BYTES).into(), ..largest() };
        assert_eq!(encode_event(&kept(too_large, places()[0])), None);
    }

    #[test]
    fn every_word_and_state_comes_back_as_it_was() {
        let at = Timestamp::from_millis(7);
        let (fresh, retry) = (Due { lane: DueLane::Fresh, at }, Due { lane: DueLane::Retry, at });
        let states = [
            State::Queued(fresh),
            State::Queued(retry),
            State::Delivering(fresh),
            State::Delivering(retry),
            State::Delivered { at },
            State::Dead { since: at },
            State::Passed { at },
        ];
        let log: Vec<_> = AttemptOutcome::ALL.into_iter().map(attempt).collect();
        let causes = Cause::ALL.into_iter().map(Some).chain([None]);
        for (state, cause) in states.into_iter().flat_map(|state| causes.clone().map(move |cause| (state, cause))) {
            let delivery = Delivery { cause, log: log.clone(), ..largest().delivery };
            let event = Event { state, delivery, ..largest() };
            let bytes = encode_event(&kept(event.clone(), places()[1])).expect("it fits");
            assert_eq!(decode_event(ID, &bytes).expect("sound").event, event);
        }
    }

    #[test]
    fn a_flipped_bit_a_lost_byte_or_another_version_is_never_taken_for_an_entry() {
        let mut tried = 0;
        for place in places() {
            let bytes = encode_event(&kept(smallest(), place)).expect("it fits");
            for length in 0..bytes.len() {
                assert!(decode_event(ID, &bytes[..length]).is_err());
            }
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(decode_event(ID, &damaged).is_err(), "bit {bit}");
                tried += 1;
            }
            let mut later = bytes;
            later[0] = 9;
            assert!(matches!(decode_event(ID, &later), Err(DamagedRecord::Version(9))));
        }
        assert!(tried > 1_000);
    }

    #[test]
    fn the_head_of_a_file_comes_back_as_it_was() {
        let content = content(b"body");
        assert_eq!(decode_head(&encode_head(&content), content.body.clone()).expect("sound"), content);
    }

    #[test]
    fn a_content_comes_back_as_it_was_and_what_is_cut_short_does_not() {
        for body in [&b""[..], b"\0a body\xff"] {
            let content = content(body);
            let bytes = encode_content(&content);
            assert_eq!(decode_content(bytes.clone()).expect("sound"), content);
            for length in 0..bytes.len() - body.len() {
                assert!(decode_content(bytes[..length].to_vec()).is_err(), "{length}");
            }
        }
    }
}
