//! The disk form of an entry of the event log, and of the head of a content that lies in a file of its own; version 1 of
//! both.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::{BorrowDecode, Encode};
use bytes::Bytes;

use super::super::kept::{ContentFile, Kept, Place};
use super::{CODEC, DamagedRecord, MAX_VALUE_BYTES, sealed, unsealed};
use crate::claim::{Key, Namespace, Timestamp};
use crate::event::{Cause, Content, Delivery, Event, EventId, HeaderLine, MAX_APP_BYTES, MAX_EXCERPT_BYTES};

const VERSION: u8 = 1;
/// More than any head that the transport takes, with its target and the sender's id.
const MAX_HEAD_BYTES: usize = 1 << 20;
const HEAD_CODEC: Configuration<LittleEndian, Varint, Limit<MAX_HEAD_BYTES>> =
    bincode::config::standard().with_limit::<MAX_HEAD_BYTES>();

/// What the numbers of an entry and the lengths of its texts may grow by: seven of 9 bytes at most, and an option.
const GROWTH_OF_NUMBERS_BYTES: usize = 7 * 8 + 8;

const REJECTED: u8 = 0;
const UNREACHABLE: u8 = 1;

/// An entry by its state; a further state is a further variant at the end.
#[derive(Encode, BorrowDecode)]
enum Disk<'a> {
    Dead {
        sequence: u64,
        route: &'a str,
        namespace: &'a str,
        key: Option<&'a str>,
        received_at_ms: u64,
        body_bytes: u64,
        delivery: DiskDelivery<'a>,
        place: DiskPlace<'a>,
    },
}

#[derive(Encode, BorrowDecode)]
struct DiskDelivery<'a> {
    app: &'a str,
    attempts: u32,
    first_at_ms: u64,
    last_at_ms: u64,
    last_status: Option<u16>,
    cause: u8,
    excerpt: &'a [u8],
}

#[derive(Encode, BorrowDecode)]
enum DiskPlace<'a> {
    Inline { head: DiskHead<'a>, body: &'a [u8] },
    File { nonce: u64, bytes: u64 },
}

#[derive(Encode, BorrowDecode)]
struct DiskHead<'a> {
    target: &'a str,
    sender_id: Option<&'a [u8]>,
    headers: Vec<(&'a [u8], &'a [u8])>,
}

/// The value of an entry; `None` when it is larger than a value may be, which one whose content is in a file never is.
pub(in crate::store) fn encode_event(event: &Event, place: &Place) -> Option<Vec<u8>> {
    // Not even tried with a body that alone is too large.
    if let Place::Inline(content) = place
        && content.len_bytes() > MAX_VALUE_BYTES as u64
    {
        return None;
    }
    let bytes = sealed(VERSION, |bytes| {
        bincode::encode_into_std_write(to_disk(event, place), bytes, CODEC).expect("memory takes every write");
    });
    (bytes.len() <= MAX_VALUE_BYTES).then_some(bytes)
}

/// Whether an entry with this place would still fit into a value after any number of further failures.
pub(in crate::store) fn has_room_to_grow(event: &Event, place: &Place) -> bool {
    let delivery = &event.delivery;
    let texts = MAX_EXCERPT_BYTES - delivery.excerpt.len() + MAX_APP_BYTES - delivery.app.len();
    let value = encode_event(event, place);
    value.is_some_and(|value| value.len() + texts + GROWTH_OF_NUMBERS_BYTES <= MAX_VALUE_BYTES)
}

pub(in crate::store) fn decode_event(id: EventId, bytes: &[u8]) -> Result<Kept, DamagedRecord> {
    let body = unsealed(VERSION, bytes)?;
    let (disk, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    let (event, place) = from_disk(id, disk)?;
    Ok(Kept { event, place, record_bytes: bytes.len() as u64 })
}

/// What stands in a file before the body.
pub(in crate::store) fn encode_head(content: &Content) -> Vec<u8> {
    bincode::encode_to_vec(head_to_disk(content), HEAD_CODEC).expect("memory takes every write")
}

pub(in crate::store) fn decode_head(head: &[u8], body: Bytes) -> Result<Content, DamagedRecord> {
    let (head, _) = bincode::borrow_decode_from_slice(head, HEAD_CODEC).map_err(DamagedRecord::Decode)?;
    Ok(head_from_disk(head, body))
}

fn to_disk<'a>(event: &'a Event, place: &'a Place) -> Disk<'a> {
    let delivery = &event.delivery;
    Disk::Dead {
        sequence: event.sequence,
        route: &event.route,
        namespace: event.namespace.as_str(),
        key: event.key.as_ref().map(Key::id),
        received_at_ms: event.received_at.as_millis(),
        body_bytes: event.body_bytes,
        delivery: DiskDelivery {
            app: &delivery.app,
            attempts: delivery.attempts,
            first_at_ms: delivery.first_at.as_millis(),
            last_at_ms: delivery.last_at.as_millis(),
            last_status: delivery.last_status,
            cause: match delivery.cause {
                Cause::Rejected => REJECTED,
                Cause::Unreachable => UNREACHABLE,
            },
            excerpt: &delivery.excerpt,
        },
        place: match place {
            Place::Inline(content) => DiskPlace::Inline { head: head_to_disk(content), body: &content.body },
            Place::File(file) => DiskPlace::File { nonce: file.nonce, bytes: file.bytes },
        },
    }
}

fn head_to_disk(content: &Content) -> DiskHead<'_> {
    DiskHead {
        target: &content.target,
        sender_id: content.sender_id.as_deref(),
        headers: content.headers.iter().map(|line| (&*line.name, &*line.value)).collect(),
    }
}

fn from_disk(id: EventId, disk: Disk<'_>) -> Result<(Event, Place), DamagedRecord> {
    let Disk::Dead { sequence, route, namespace, key, received_at_ms, body_bytes, delivery, place } = disk;
    let namespace = Namespace::parse_any(namespace).map_err(DamagedRecord::Name)?;
    let event = Event {
        id,
        sequence,
        route: route.into(),
        key: key.map(|key| Key::new(&namespace, key)).transpose().map_err(DamagedRecord::Name)?,
        namespace,
        received_at: Timestamp::from_millis(received_at_ms),
        body_bytes,
        delivery: Delivery {
            app: delivery.app.into(),
            attempts: delivery.attempts,
            first_at: Timestamp::from_millis(delivery.first_at_ms),
            last_at: Timestamp::from_millis(delivery.last_at_ms),
            last_status: delivery.last_status,
            cause: match delivery.cause {
                REJECTED => Cause::Rejected,
                UNREACHABLE => Cause::Unreachable,
                _ => return Err(DamagedRecord::Word),
            },
            excerpt: delivery.excerpt.into(),
        },
    };
    let place = match place {
        DiskPlace::Inline { head, body } => Place::Inline(head_from_disk(head, Bytes::copy_from_slice(body))),
        DiskPlace::File { nonce, bytes } => Place::File(ContentFile { id, nonce, bytes }),
    };
    Ok((event, place))
}

fn head_from_disk(head: DiskHead<'_>, body: Bytes) -> Content {
    let line = |(name, value): (&[u8], &[u8])| HeaderLine { name: name.into(), value: value.into() };
    Content {
        target: head.target.into(),
        sender_id: head.sender_id.map(Into::into),
        headers: head.headers.into_iter().map(line).collect(),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            delivery: Delivery {
                app: "a".repeat(MAX_APP_BYTES).into(),
                attempts: u32::MAX,
                first_at: Timestamp::from_millis(u64::MAX),
                last_at: Timestamp::from_millis(u64::MAX),
                last_status: Some(u16::MAX),
                cause: Cause::Unreachable,
                excerpt: vec![0xff; MAX_EXCERPT_BYTES].into(),
            },
        }
    }

    fn smallest() -> Event {
        let largest = largest();
        let delivery = Delivery { last_status: None, cause: Cause::Rejected, ..largest.delivery.clone() };
        Event { key: None, delivery, ..largest }
    }

    fn content(body: &[u8]) -> Content {
        Content {
            target: "/hooks/x?a=%20".into(),
            sender_id: Some((*b"caf\xe9").into()),
            headers: vec![HeaderLine { name: (*b"X-ODD-case").into(), value: (*b"\xff\t\xe9").into() }],
            body: Bytes::copy_from_slice(body),
        }
    }

    fn places() -> [Place; 3] {
        let bare = Content { sender_id: None, headers: Vec::new(), ..content(b"") };
        [
            Place::Inline(content(b"\0\xff")),
            Place::Inline(bare),
            Place::File(ContentFile { id: ID, nonce: 5, bytes: 6 }),
        ]
    }

    #[test]
    fn every_entry_comes_back_as_it_was_and_stays_under_the_limit() {
        for event in [largest(), smallest()] {
            for place in places() {
                let bytes = encode_event(&event, &place).expect("it fits");
                let kept = decode_event(ID, &bytes).expect("sound");
                assert_eq!((kept.event, kept.place, kept.record_bytes), (event.clone(), place, bytes.len() as u64));
            }
        }
    }

    #[test]
    fn what_does_not_fit_into_a_value_is_told_at_every_length() {
        let fits = |length| encode_event(&smallest(), &Place::Inline(content(&vec![0; length]))).is_some();
        let longest = (0..=MAX_VALUE_BYTES).rev().find(|length| fits(*length)).expect("some fit");
        assert!((2_000..MAX_VALUE_BYTES).contains(&longest), "{longest}");
        assert!((0..longest).all(fits));
        assert!(!fits(25 << 20));
    }

    /// An entry that was made without an answer of the app took the answer of the next attempt.
    #[test]
    fn an_entry_with_room_to_grow_fits_whatever_later_failures_say() {
        let largest = largest();
        let delivery = Delivery {
            app: "a".into(),
            attempts: 1,
            first_at: Timestamp::from_millis(1),
            last_at: Timestamp::from_millis(1),
            last_status: None,
            excerpt: Box::default(),
            ..largest.delivery.clone()
        };
        let first = Event { sequence: 0, delivery, ..largest.clone() };
        let roomy = |length: &usize| has_room_to_grow(&first, &Place::Inline(content(&vec![0; *length])));
        let longest = (0..MAX_VALUE_BYTES).rev().find(roomy).expect("some have");
        assert!(longest > 1_500, "{longest}");
        assert!(encode_event(&largest, &Place::Inline(content(&vec![0; longest]))).is_some());
    }

    #[test]
    fn a_flipped_bit_a_lost_byte_or_another_version_is_never_taken_for_an_entry() {
        let mut tried = 0;
        for place in places() {
            let bytes = encode_event(&smallest(), &place).expect("it fits");
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
}
