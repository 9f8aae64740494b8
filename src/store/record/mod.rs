//! The disk forms of what lies in the database, and the only files that know bincode.
//!
//! A value is `<version: 1 byte><crc32 of the rest: 4 bytes, little endian><bincode>`. The checksum is ours because sled
//! checks its log and not what it hands out. The structs of a version never change; a new form gets a new version byte and
//! a struct of its own, and reading the old one stays. Claims ([`claim`]), events ([`event`]), and what people
//! do to events ([`deed`]) lie in trees of their own and count their versions each for itself.

mod claim;
mod deed;
mod event;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};

pub(super) use claim::{decode, encode, may_be_held};
pub(super) use deed::{decode_deed, decode_redrive, encode_deed, encode_redrive};
pub(super) use event::{decode_content, decode_event, decode_head, encode_content, encode_event, encode_head};

use crate::claim::{KeyError, TextError};

/// The largest value: above it sled's leaves grow into files that it does not sync.
pub(super) const MAX_VALUE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 5;
const CODEC: Configuration<LittleEndian, Varint, Limit<MAX_VALUE_BYTES>> =
    bincode::config::standard().with_limit::<MAX_VALUE_BYTES>();

/// Why stored bytes are not what was stored.
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
    #[error("a value holds a name that cannot be")]
    Name(#[source] KeyError),
    #[error("a value holds a word that this program does not know")]
    Word,
    #[error("a content belongs to another event")]
    Stranger,
    #[error("a file beside the database cannot be read")]
    File(#[source] std::io::Error),
}

/// Puts version and checksum before what `write` appends.
pub(super) fn sealed(version: u8, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    seal_onto(&mut bytes, version, write);
    bytes
}

/// The same, behind what is there already.
pub(super) fn seal_onto(bytes: &mut Vec<u8>, version: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let at = bytes.len();
    bytes.extend_from_slice(&[version, 0, 0, 0, 0]);
    write(bytes);
    let checksum = crc32fast::hash(&bytes[at + HEADER_BYTES..]);
    bytes[at + 1..at + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// What stands behind version and checksum, if both are right.
pub(super) fn unsealed(known: u8, bytes: &[u8]) -> Result<&[u8], DamagedRecord> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(DamagedRecord::Short)?;
    let [version, checksum @ ..] = header else {
        return Err(DamagedRecord::Short);
    };
    if *version != known {
        return Err(DamagedRecord::Version(*version));
    }
    if crc32fast::hash(body).to_le_bytes() != *checksum {
        return Err(DamagedRecord::Checksum);
    }
    Ok(body)
}

/// What stands for a word on the disk: its place among all, where a further word comes last.
fn number_of<T: PartialEq>(all: &[T], word: T) -> u8 {
    all.iter().position(|other| *other == word).and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

fn word_of<T: Copy>(all: &[T], number: u8) -> Result<T, DamagedRecord> {
    all.get(usize::from(number)).copied().ok_or(DamagedRecord::Word)
}
