//! The disk form of a record, and the only file that knows bincode.
//!
//! A value is `<version: 1 byte><crc32 of the rest: 4 bytes, little endian><bincode>`. The checksum is ours because sled
//! checks its log and not what it hands out. The structs here are the disk form of version 1: they never change; a new
//! form gets a new version byte and a struct of its own, and reading the old one stays.

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::{BorrowDecode, Encode};

use crate::claim::{
    ConfirmedTtl, Done, Fingerprint, Free, Held, Owner, Previous, Record, TextError, Timestamp, Token, WorkResult,
};

/// The largest value: above it sled's leaves grow into files that it does not sync.
const MAX_VALUE_BYTES: usize = 4096;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 5;
const CODEC: Configuration<LittleEndian, Varint, Limit<MAX_VALUE_BYTES>> =
    bincode::config::standard().with_limit::<MAX_VALUE_BYTES>();

/// Why stored bytes are no record.
#[derive(Debug, thiserror::Error)]
pub(super) enum DamagedRecord {
    #[error("a value is cut short")]
    Short,
    #[error("a value is of version {0}, which this program does not know")]
    Version(u8),
    #[error("the checksum of a value does not match")]
    Checksum,
    #[error("a value cannot be decoded")]
    Decode(#[source] bincode::error::DecodeError),
    #[error("a value holds a text that cannot be")]
    Text(#[source] TextError),
}

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

pub(super) fn encode(record: &Record) -> Vec<u8> {
    let mut bytes = vec![VERSION, 0, 0, 0, 0];
    bincode::encode_into_std_write(to_disk(record), &mut bytes, CODEC)
        .expect("the texts of a record are bounded far below the limit, and memory takes every write");
    let checksum = crc32fast::hash(&bytes[HEADER_BYTES..]);
    bytes[1..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Record, DamagedRecord> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(DamagedRecord::Short)?;
    let [version, checksum @ ..] = header else {
        return Err(DamagedRecord::Short);
    };
    if *version != VERSION {
        return Err(DamagedRecord::Version(*version));
    }
    if crc32fast::hash(body).to_le_bytes() != *checksum {
        return Err(DamagedRecord::Checksum);
    }
    let (disk, _) = bincode::borrow_decode_from_slice(body, CODEC).map_err(DamagedRecord::Decode)?;
    from_disk(disk).map_err(DamagedRecord::Text)
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
        }),
    })
}

#[cfg(test)]
mod tests {
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
        };
        vec![
            Record::Held(Held { fingerprint: None, owner: None, ..held.clone() }),
            Record::Held(held),
            Record::Free(Free { attempt: 1, expires_at: Timestamp::from_millis(9) }),
            Record::Done(Done { fingerprint: None, owner: None, result: None, ..done.clone() }),
            Record::Done(done),
        ]
    }

    #[test]
    fn every_record_comes_back_as_it_was_and_stays_under_the_limit() {
        for record in largest_and_smallest() {
            let bytes = encode(&record);
            assert!(bytes.len() <= MAX_VALUE_BYTES, "{} bytes", bytes.len());
            assert_eq!(decode(&bytes).expect("sound"), record);
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
