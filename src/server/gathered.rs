//! Joins the pieces of a body. One piece is passed on as it came, without a copy: nearly every webhook is one.

use bytes::{Bytes, BytesMut};

/// What is set aside at most before the bytes are there. A length announced is a promise, and room for promises would
/// let a stranger reserve memory by headers alone.
const MAX_RESERVE_BYTES: usize = 64 * 1024;

/// The pieces so far.
pub(super) enum Gathered {
    None,
    One(Bytes),
    Many(BytesMut),
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

    /// Adds a piece; `expected_bytes` is the announced length, if any.
    pub(super) fn push(&mut self, piece: Bytes, expected_bytes: Option<u64>) {
        match self {
            Self::None => *self = Self::One(piece),
            Self::One(first) => {
                let announced = expected_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
                let here = first.len() + piece.len();
                let mut pieces = BytesMut::with_capacity(announced.min(MAX_RESERVE_BYTES).max(here));
                pieces.extend_from_slice(first);
                pieces.extend_from_slice(&piece);
                *self = Self::Many(pieces);
            }
            Self::Many(pieces) => pieces.extend_from_slice(&piece),
        }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::One(piece) => piece,
            Self::Many(pieces) => pieces.freeze(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_passed_on_without_a_copy() {
        let piece = Bytes::from(vec![7; 100]);
        let mut gathered = Gathered::None;
        gathered.push(piece.clone(), Some(100));
        assert_eq!(gathered.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn pieces_are_joined_in_order_whatever_length_was_announced() {
        for announced in [None, Some(0), Some(6), Some(u64::MAX)] {
            let mut gathered = Gathered::None;
            for piece in ["ab", "cd", "ef"] {
                gathered.push(Bytes::from_static(piece.as_bytes()), announced);
            }
            assert_eq!(gathered.len_bytes(), 6);
            assert_eq!(gathered.into_bytes(), "abcdef");
        }
    }
}
