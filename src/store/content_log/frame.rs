//! Frames: how a content lies in a segment, and what a segment is called.
//!
//! A frame is `<version: 1 byte><crc32 of what follows: 4 bytes><length of the content: 4 bytes><id of the event: 16
//! bytes><content>`, numbers little endian: the version and the checksum are those of every value
//! ([`record`](super::super::record)).

use std::fs::File;
use std::io::{BufReader, Read as _};

use super::super::record::{DamagedRecord, seal_onto, unsealed};
use super::Span;
use crate::event::EventId;

const VERSION: u8 = 1;
/// Version and checksum.
const SEAL_BYTES: usize = 1 + 4;
const LENGTH_BYTES: usize = 4;
const ID_BYTES: usize = 16;
/// What stands before a content.
const FRONT_BYTES: usize = SEAL_BYTES + LENGTH_BYTES + ID_BYTES;

const SUFFIX: &str = ".log";
const DIGITS: usize = 10;

/// The name of a segment's file.
pub(super) fn file_name(segment: u32) -> String {
    format!("{segment:0DIGITS$}{SUFFIX}")
}

/// The number of the segment whose file has this name; `None` where it is no segment's.
pub(super) fn segment_in(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(SUFFIX).filter(|digits| digits.len() == DIGITS)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// How long the frame of a content is.
pub(super) fn frame_bytes(content: &[u8]) -> u32 {
    u32::try_from(FRONT_BYTES + content.len()).expect("what goes here is far smaller than a segment")
}

/// Appends the frame of a content.
pub(super) fn append(to: &mut Vec<u8>, id: EventId, content: &[u8]) {
    let length = frame_bytes(content) - FRONT_BYTES as u32;
    seal_onto(to, VERSION, |to| {
        to.extend_from_slice(&length.to_le_bytes());
        to.extend_from_slice(id.as_bytes());
        to.extend_from_slice(content);
    });
}

/// The content of this event in the bytes of a frame, which becomes the whole of them.
pub(super) fn open(id: EventId, mut frame: Vec<u8>) -> Result<Vec<u8>, DamagedRecord> {
    if checked(&frame)? != id {
        return Err(DamagedRecord::Stranger);
    }
    frame.drain(..FRONT_BYTES);
    Ok(frame)
}

/// Whose a frame is, if it is whole and nothing but a frame.
fn checked(frame: &[u8]) -> Result<EventId, DamagedRecord> {
    let body = unsealed(VERSION, frame)?;
    let (length, rest) = body.split_first_chunk().ok_or(DamagedRecord::Short)?;
    let (id, content) = rest.split_first_chunk::<ID_BYTES>().ok_or(DamagedRecord::Short)?;
    if u32::from_le_bytes(*length) as usize != content.len() {
        return Err(DamagedRecord::Short);
    }
    Ok(EventId::from_bytes(*id))
}

/// The frames of a segment from its beginning, whole ones only: those that are damaged are passed over, and where a length
/// leads beyond the end, as in a torn tail, it ends.
#[derive(Debug)]
pub(in crate::store) struct Entries {
    segment: u32,
    from: BufReader<File>,
    offset: u32,
    end: u64,
}

impl Entries {
    pub(super) fn of(segment: u32, file: File, end: u64) -> Self {
        Self { segment, from: BufReader::new(file), offset: 0, end }
    }

    /// The next frame, whole or not; `None` at the end, which is also where the file cannot be read.
    fn next_frame(&mut self) -> Option<(Span, Vec<u8>)> {
        let mut frame = vec![0; FRONT_BYTES];
        self.from.read_exact(&mut frame).ok()?;
        let length = frame[SEAL_BYTES..].first_chunk().map(|length| u32::from_le_bytes(*length))?;
        let bytes = length.checked_add(FRONT_BYTES as u32)?;
        let next = self.offset.checked_add(bytes).filter(|next| u64::from(*next) <= self.end)?;
        frame.resize(bytes as usize, 0);
        self.from.read_exact(&mut frame[FRONT_BYTES..]).ok()?;
        let span = Span { segment: self.segment, offset: std::mem::replace(&mut self.offset, next), bytes };
        Some((span, frame))
    }
}

impl Iterator for Entries {
    type Item = (EventId, Span);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (span, frame) = self.next_frame()?;
            if let Ok(id) = checked(&frame) {
                return Some((id, span));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_segment_it_is_and_no_other_name_does() {
        for segment in [0, 7, u32::MAX] {
            assert_eq!(segment_in(&file_name(segment)), Some(segment));
        }
        for name in ["", ".log", "1.log", "00000000001.log", "+000000001.log", "4294967296.log", "0000000001.log.new"] {
            assert_eq!(segment_in(name), None, "{name:?}");
        }
    }
}
