//! Joins the pieces of a body. One piece is passed on as it came, without a copy, unless it is small: it is a slice of the
//! buffer that the connection was read into, and keeps all of that for as long as somebody holds it.

use bytes::Bytes;

/// A body of one piece below this gets an allocation of its own. hyper's buffers begin with half of this, so that a body
/// that is as large fills most of what it keeps; but they grow to 400 KiB on a connection that is busy, and a body of a few
/// bytes would keep one of those while it is charged for these. To copy what is smaller takes less than a microsecond.
const OWN_BELOW_BYTES: usize = 16 * 1024;

/// The pieces so far.
pub(super) enum Gathered {
    None,
    One(Bytes),
    Many(Vec<u8>),
}

/// How long a body will be, as far as anybody has said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The announced length.
    pub(super) expected: Option<u64>,
    /// The longest that is taken.
    pub(super) max: u64,
}

impl Gathered {
    pub(super) fn len_bytes(&self) -> u64 {
        let length = match self {
            Self::None => 0,
            Self::One(piece) => piece.len(),
            Self::Many(pieces) => pieces.len(),
        };
        length as u64
    }

    /// What will be allocated once this piece is added. It doubles, so that joining costs little, but never beyond the
    /// length that was announced or is allowed. A length announced is a promise: it bounds, and reserves nothing.
    pub(super) fn room_with(&self, piece: &Bytes, bounds: Bounds) -> u64 {
        let needed = self.len_bytes() + piece.len() as u64;
        match self {
            Self::None => needed,
            Self::Many(pieces) if pieces.capacity() as u64 >= needed => pieces.capacity() as u64,
            Self::One(_) | Self::Many(_) => {
                (2 * needed).min(bounds.expected.unwrap_or(bounds.max)).min(bounds.max).max(needed)
            }
        }
    }

    /// Adds a piece, within the room that [`room_with`](Self::room_with) has told.
    pub(super) fn push(&mut self, piece: Bytes, bounds: Bounds) {
        let room = usize::try_from(self.room_with(&piece, bounds)).unwrap_or(usize::MAX);
        match self {
            Self::None => *self = Self::One(piece),
            Self::One(first) => {
                let mut pieces = Vec::with_capacity(room);
                pieces.extend_from_slice(first);
                pieces.extend_from_slice(&piece);
                *self = Self::Many(pieces);
            }
            Self::Many(pieces) => {
                pieces.reserve_exact(room - pieces.len());
                pieces.extend_from_slice(&piece);
            }
        }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::One(piece) if piece.len() < OWN_BELOW_BYTES => Bytes::copy_from_slice(&piece),
            Self::One(piece) => piece,
            Self::Many(pieces) => pieces.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of ten bytes kept a buffer of 400 KiB until its attempt had ended, and was charged for ten bytes.
    #[test]
    fn one_piece_is_passed_on_without_a_copy_unless_it_keeps_far_more_than_itself() {
        for (length, is_copied) in [(10, true), (OWN_BELOW_BYTES - 1, true), (OWN_BELOW_BYTES, false)] {
            let buffer = Bytes::from(vec![7; 400_000]);
            let piece = buffer.slice(..length);
            let mut gathered = Gathered::None;
            gathered.push(piece.clone(), Bounds { expected: None, max: 400_000 });
            let body = gathered.into_bytes();
            assert_eq!((&body, body.as_ptr() != piece.as_ptr()), (&piece, is_copied), "{length}");
        }
    }

    #[test]
    fn pieces_are_joined_in_order_whatever_length_was_announced() {
        for announced in [None, Some(0), Some(6), Some(u64::MAX)] {
            let mut gathered = Gathered::None;
            for piece in ["ab", "cd", "ef"] {
                gathered.push(Bytes::from_static(piece.as_bytes()), Bounds { expected: announced, max: 6 });
            }
            assert_eq!(gathered.len_bytes(), 6);
            assert_eq!(gathered.into_bytes(), "abcdef");
        }
    }

    #[test]
    fn the_room_doubles_up_to_what_is_announced_or_allowed() {
        for (expected, max, rooms) in [
            (None, 1_000, [100, 400, 400, 400]),
            (None, 300, [100, 300, 300, 300]),
            (Some(400), 1_000, [100, 400, 400, 400]),
            (Some(u64::MAX), 1_000, [100, 400, 400, 400]),
        ] {
            let bounds = Bounds { expected, max };
            let mut gathered = Gathered::None;
            let pieces = usize::try_from(max.min(expected.unwrap_or(400)).min(400) / 100).unwrap_or(0);
            for room in rooms.into_iter().take(pieces) {
                let piece = Bytes::from(vec![7; 100]);
                assert_eq!(gathered.room_with(&piece, bounds), room, "{bounds:?}");
                gathered.push(piece, bounds);
                if let Gathered::Many(pieces) = &gathered {
                    assert_eq!(pieces.capacity() as u64, room, "{bounds:?}");
                }
            }
        }
    }
}
