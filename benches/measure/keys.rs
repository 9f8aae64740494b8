//! The keys both rivals are asked for: the same sequence for each, of one length, without repeats.

/// Fixed, so that every run of the bench asks for the same keys.
const SEED: u64 = 0x6f6e_6365_6420_3031;
/// Added at every step, as SplitMix64 does.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// What it multiplies by.
const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// A key as long as a typical event id, in ASCII.
pub(crate) type Key = [u8; 20];

/// Stands in a request's text where a key belongs.
pub(crate) const PLACEHOLDER: &str = "evt_????????????????";

/// A counter spread over all of `u64`. The spreading is a bijection, so that no two numbers give one key, and the keys
/// arrive in no order, which is the harder case for a store that sorts.
pub(crate) struct Keys {
    next: u64,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self { next: 0 }
    }

    pub(crate) fn take(&mut self) -> Key {
        self.next += 1;
        nth(self.next - 1)
    }

    /// How many keys were taken so far; their numbers count from 0.
    pub(crate) fn taken(&self) -> u64 {
        self.next
    }
}

/// The key of one number.
pub(crate) fn nth(number: u64) -> Key {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut key = *b"evt_????????????????";
    let spread = spread(number);
    for (place, digit) in key[4..].iter_mut().enumerate() {
        *digit = DIGITS[(spread >> (60 - 4 * place) & 0xf) as usize];
    }
    key
}

/// The number of a key; a text that is no key has none, and one that nobody took has one that is beyond all counting.
pub(crate) fn number(key: &[u8]) -> Option<u64> {
    let digits = key.strip_prefix(b"evt_")?;
    let spread = digits.iter().try_fold(0u64, |spread, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(spread << 4 | u64::from(digit))
    })?;
    (digits.len() == 16).then(|| gathered(spread))
}

/// The output function of SplitMix64: additions, multiplications by odd numbers and shifts, each of which can be undone.
fn spread(number: u64) -> u64 {
    let x = SEED.wrapping_add(number.wrapping_mul(STEP));
    let x = (x ^ (x >> 30)).wrapping_mul(FACTORS[0]);
    let x = (x ^ (x >> 27)).wrapping_mul(FACTORS[1]);
    x ^ (x >> 31)
}

/// Undoes it.
fn gathered(spread: u64) -> u64 {
    let x = unshifted(spread, 31).wrapping_mul(const { inverse(FACTORS[1]) });
    let x = unshifted(x, 27).wrapping_mul(const { inverse(FACTORS[0]) });
    unshifted(x, 30).wrapping_sub(SEED).wrapping_mul(const { inverse(STEP) })
}

/// The `x` of `x ^ (x >> shift)`: each round gets `shift` more of its bits right.
fn unshifted(shifted: u64, shift: u32) -> u64 {
    (0..64 / shift).fold(shifted, |x, _| shifted ^ (x >> shift))
}

/// What an odd factor is undone with: each round doubles the bits that are right, from three.
const fn inverse(factor: u64) -> u64 {
    let (mut inverse, mut bits) = (factor, 3);
    while bits < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// A request written once, with holes for the keys.
pub(crate) struct Template {
    text: Vec<u8>,
    holes: Vec<usize>,
}

impl Template {
    pub(crate) fn new(text: &str) -> Self {
        let holes = text.match_indices(PLACEHOLDER).map(|(at, _)| at).collect();
        Self { text: text.into(), holes }
    }

    /// Appends the request for `keys`, one for each hole.
    pub(crate) fn fill(&self, keys: &[Key], out: &mut Vec<u8>) {
        assert_eq!(keys.len(), self.holes.len(), "a request asks for as many keys as it has holes");
        let start = out.len();
        out.extend_from_slice(&self.text);
        for (hole, key) in self.holes.iter().zip(keys) {
            out[start + hole..][..key.len()].copy_from_slice(key);
        }
    }
}
