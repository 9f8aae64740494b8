//! The disk forms of a claim's record: version 1, and version 2 of a finished key that points to its event.

use bincode::{BorrowDecode, Encode};

use super::{CODEC, DamagedRecord, HEADER_BYTES, sealed, unsealed};
use crate::claim::{
    ConfirmedTtl, Done, EventRef, Fingerprint, Free, Held, Owner, Previous, Record, TextError, Timestamp, Token,
    WorkResult,
};

const VERSION: u8 = 1;
/// Of a [`DoneOfEvent`].
const VERSION_OF_EVENT: u8 = 2;
/// How bincode begins a [`Disk::Held`].
const HELD: u8 = 0;

#[derive(Encode, BorrowDecode)]
enum Disk<'a> {
    Held {
        token: &'a str,
        claimed_at_ms: u64,
        expires_at_ms: u64,
        retention_ms: u64,
        attempt: u32,
        fence: u64,
        previous: u8,
        fingerprint: Option<&'a str>,
        owner: Option<&'a str>,
    },
    Free {
        attempt: u32,
        expires_at_ms: u64,
    },
    Done {
        confirmed_at_ms: u64,
        expires_at_ms: u64,
        attempt: u32,
        fingerprint: Option<&'a str>,
        owner: Option<&'a str>,
        result: Option<&'a str>,
    },
}

/// A finished key that points to its event.
#[derive(Encode, BorrowDecode)]
struct DoneOfEvent<'a> {
    event: [u8; 16],
    confirmed_at_ms: u64,
    expires_at_ms: u64,
    attempt: u32,
    fingerprint: Option<&'a str>,
    owner: Option<&'a str>,
    result: Option<&'a str>,
}

/// Why encoding cannot fail.
const BOUNDED: &str = "the texts of a record are bounded far below the limit, and memory takes every write";

pub(in crate::store) fn encode(record: &Record) -> Vec<u8> {
    if let Record::Done(done @ Done { event: Some(event), .. }) = record {
        return sealed(VERSION_OF_EVENT, |bytes| {
            bincode::encode_into_std_write(done_to_disk(done, *event), bytes, CODEC).expect(BOUNDED);
        });
    }
    sealed(VERSION, |bytes| {
        bincode::encode_into_std_write(to_disk(record), bytes, CODEC).expect(BOUNDED);
    })
}

pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Record, DamagedRecord> {
    if bytes.first() == Some(&VERSION_OF_EVENT) {
        let body = unsealed(VERSION_OF_EVENT, bytes)?;
        let (disk, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
        return done_from_disk(disk).map(Record::Done).map_err(DamagedRecord::Text);
    }
    let body = unsealed(VERSION, bytes)?;
    let (disk, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    from_disk(disk).map_err(DamagedRecord::Text)
}

/// Whether a value may be that of a held record: a glance, for walks that look for those alone among very many.
pub(in crate::store) fn may_be_held(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(&VERSION) => bytes.get(HEADER_BYTES) == Some(&HELD),
        Some(&VERSION_OF_EVENT) => false,
        Some(_) | None => true,
    }
}

fn done_to_disk(done: &Done, event: EventRef) -> DoneOfEvent<'_> {
    DoneOfEvent {
        event: *event.as_bytes(),
        confirmed_at_ms: done.confirmed_at.as_millis(),
        expires_at_ms: done.expires_at.as_millis(),
        attempt: done.attempt,
        fingerprint: done.fingerprint.as_ref().map(Fingerprint::as_str),
        owner: done.owner.as_ref().map(Owner::as_str),
        result: done.result.as_ref().map(WorkResult::as_json),
    }
}

fn done_from_disk(disk: DoneOfEvent<'_>) -> Result<Done, TextError> {
    Ok(Done {
        confirmed_at: Timestamp::from_millis(disk.confirmed_at_ms),
        expires_at: Timestamp::from_millis(disk.expires_at_ms),
        attempt: disk.attempt,
        fingerprint: disk.fingerprint.map(Fingerprint::parse).transpose()?,
        owner: disk.owner.map(Owner::parse).transpose()?,
        result: disk.result.map(WorkResult::of_answer).transpose()?,
        event: Some(EventRef::from_bytes(disk.event)),
    })
}

fn to_disk(record: &Record) -> Disk<'_> {
    match record {
        Record::Held(held) => Disk::Held {
            token: held.token.as_str(),
            claimed_at_ms: held.claimed_at.as_millis(),
            expires_at_ms: held.expires_at.as_millis(),
            retention_ms: held.retention.as_millis(),
            attempt: held.attempt,
            fence: held.fence,
            previous: match held.previous {
                Previous::None => 0,
                Previous::Released => 1,
                Previous::Expired => 2,
            },
            fingerprint: held.fingerprint.as_ref().map(Fingerprint::as_str),
            owner: held.owner.as_ref().map(Owner::as_str),
        },
        Record::Free(free) => Disk::Free { attempt: free.attempt, expires_at_ms: free.expires_at.as_millis() },
        Record::Done(done) => Disk::Done {
            confirmed_at_ms: done.confirmed_at.as_millis(),
            expires_at_ms: done.expires_at.as_millis(),
            attempt: done.attempt,
            fingerprint: done.fingerprint.as_ref().map(Fingerprint::as_str),
            owner: done.owner.as_ref().map(Owner::as_str),
            result: done.result.as_ref().map(WorkResult::as_json),
        },
    }
}

fn from_disk(disk: Disk<'_>) -> Result<Record, TextError> {
    let print = |text: Option<&str>| text.map(Fingerprint::parse).transpose();
    let label = |text: Option<&str>| text.map(Owner::parse).transpose();
    Ok(match disk {
        Disk::Held {
            token,
            claimed_at_ms,
            expires_at_ms,
            retention_ms,
            attempt,
            fence,
            previous,
            fingerprint,
            owner,
        } => Record::Held(Held {
            token: Token::parse(token)?,
            claimed_at: Timestamp::from_millis(claimed_at_ms),
            expires_at: Timestamp::from_millis(expires_at_ms),
            retention: ConfirmedTtl::clamped_ms(retention_ms),
            attempt,
            fence,
            previous: match previous {
                1 => Previous::Released,
                2 => Previous::Expired,
                _ => Previous::None,
            },
            fingerprint: print(fingerprint)?,
            owner: label(owner)?,
        }),
        Disk::Free { attempt, expires_at_ms } => {
            Record::Free(Free { attempt, expires_at: Timestamp::from_millis(expires_at_ms) })
        }
        Disk::Done { confirmed_at_ms, expires_at_ms, attempt, fingerprint, owner, result } => Record::Done(Done {
            confirmed_at: Timestamp::from_millis(confirmed_at_ms),
            expires_at: Timestamp::from_millis(expires_at_ms),
            attempt,
            fingerprint: print(fingerprint)?,
            owner: label(owner)?,
            result: result.map(WorkResult::of_answer).transpose()?,
            event: None,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::MAX_VALUE_BYTES;
    use super::*;

    fn largest_and_smallest() -> Vec<Record> {
        let held = Held {
            token: Token::parse(&"t".repeat(128)).expect("a token"),
            claimed_at: Timestamp::from_millis(1),
            expires_at: Timestamp::from_millis(u64::MAX),
            retention: ConfirmedTtl::MAX,
            attempt: u32::MAX,
            fence: u64::MAX,
            previous: Previous::Expired,
            fingerprint: Fingerprint::parse(&"f".repeat(128)).ok(),
            owner: Owner::parse(&"o".repeat(128)).ok(),
        };
        let done = Done {
            confirmed_at: Timestamp::from_millis(u64::MAX),
            expires_at: Timestamp::from_millis(u64::MAX),
            attempt: u32::MAX,
            fingerprint: held.fingerprint.clone(),
            owner: held.owner.clone(),
            result: WorkResult::of_answer(&"1".repeat(3072)).ok(),
            event: None,
        };
        let event = Some(EventRef::from_bytes([0xff; 16]));
        vec![
            Record::Held(Held { fingerprint: None, owner: None, ..held.clone() }),
            Record::Held(held),
            Record::Free(Free { attempt: 1, expires_at: Timestamp::from_millis(9) }),
            Record::Done(Done { fingerprint: None, owner: None, result: None, ..done.clone() }),
            Record::Done(Done { fingerprint: None, owner: None, result: None, event, ..done.clone() }),
            Record::Done(Done { event, ..done.clone() }),
            Record::Done(done),
        ]
    }

    #[test]
    fn every_record_comes_back_as_it_was_and_stays_under_the_limit() {
        for record in largest_and_smallest() {
            let bytes = encode(&record);
            assert!(bytes.len() <= MAX_VALUE_BYTES, "{} bytes", bytes.len());
            assert_eq!(decode(&bytes).expect("sound"), record);
            assert_eq!(may_be_held(&bytes), matches!(record, Record::Held(_)));
        }
    }

    #[test]
    fn a_flipped_bit_or_a_lost_byte_is_never_taken_for_a_record() {
        let mut tried = 0;
        for record in largest_and_smallest() {
            let bytes = encode(&record);
            for length in 0..bytes.len() {
                assert!(decode(&bytes[..length]).is_err());
            }
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&damaged).is_err(), "bit {bit} of {record:?}");
                tried += 1;
            }
        }
        assert!(tried > 1_000);
    }

    #[test]
    fn a_value_of_a_later_version_is_named() {
        let mut bytes = encode(&largest_and_smallest()[0]);
        bytes[0] = 9;
        assert!(matches!(decode(&bytes), Err(DamagedRecord::Version(9))));
    }
}
