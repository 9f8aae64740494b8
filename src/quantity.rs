//! Lengths of time and sizes as people write them: `500ms`, `120s`, `7d`; `64MiB`.
//!
//! One spelling for API, config and command line. A bare number is refused: `5` has been read as seconds by one person
//! and as milliseconds by the next. Fractions, signs, exponents and sums (`1h30m`) are refused for the same reason.

use std::time::Duration;

/// Why a text is no quantity. The text itself is not repeated: it may have come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Neither digits followed by a unit, nor anything near.
    #[error("must be a whole number and a unit, one of {units}")]
    Shape {
        /// The units that would have been taken.
        units: &'static str,
    },
    /// More than 64 bits of the smallest unit.
    #[error("is too large")]
    TooLarge,
}

const TIME_UNITS: &str = "ms, s, m, h, d";
const SIZE_UNITS: &str = "B, KiB, MiB, GiB, TiB";

/// Reads a length of time: `500ms`, `120s`, `2m`, `24h`, `7d`. Zero is a length; whoever needs more says so.
///
/// # Errors
/// When the text is not digits and a unit, or beyond 64 bits of milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = split(text, TIME_UNITS)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(QuantityError::Shape { units: TIME_UNITS }),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or(QuantityError::TooLarge)
}

/// Writes a length of time in the largest unit that keeps it whole: `4d`, `90s`, `1500ms`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (unit_ms, unit) = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")]
        .into_iter()
        .find(|(unit_ms, _)| millis >= *unit_ms && millis.is_multiple_of(*unit_ms))
        .unwrap_or((1, "ms"));
    format!("{}{unit}", millis / unit_ms)
}

/// Reads a size in bytes: `512B`, `64KiB`, `256MiB`, `10GiB`.
///
/// # Errors
/// When the text is not digits and a unit, or beyond 64 bits of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = split(text, SIZE_UNITS)?;
    let unit_bytes = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(QuantityError::Shape { units: SIZE_UNITS }),
    };
    number.checked_mul(unit_bytes).ok_or(QuantityError::TooLarge)
}

/// Writes a size in the largest unit that keeps it whole: `64KiB`, `1536B`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let (unit_bytes, unit) = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit_bytes, _)| bytes >= *unit_bytes && bytes.is_multiple_of(*unit_bytes))
        .unwrap_or((1, "B"));
    format!("{}{unit}", bytes / unit_bytes)
}

fn split<'a>(text: &'a str, units: &'static str) -> Result<(u64, &'a str), QuantityError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(QuantityError::Shape { units });
    }
    let number = text[..digits].parse().map_err(|_| QuantityError::TooLarge)?;
    Ok((number, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_digits_and_a_unit() {
        let rows: &[(&str, Option<u64>)] = &[
            ("500ms", Some(500)),
            ("120s", Some(120_000)),
            ("2m", Some(120_000)),
            ("24h", Some(86_400_000)),
            ("7d", Some(604_800_000)),
            ("0s", Some(0)),
            ("007s", Some(7_000)),
            ("", None),
            ("5", None),
            ("-1s", None),
            ("+1s", None),
            ("1e30", None),
            ("1e3s", None),
            ("1.5s", None),
            ("1h30m", None),
            (" 1s", None),
            ("1s ", None),
            ("1 s", None),
            ("1S", None),
            ("NaN", None),
            ("inf", None),
            ("s", None),
            ("\u{661}s", None),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551616ms", None),
            ("213503982335d", None),
        ];
        for (text, millis) in rows {
            assert_eq!(parse_duration(text).ok(), millis.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_as_the_same_length() {
        for millis in [0, 1, 999, 1_000, 1_500, 90_000, 120_000, 3_600_000, 345_600_000, u64::MAX] {
            let length = Duration::from_millis(millis);
            assert_eq!(parse_duration(&format_duration(length)), Ok(length));
        }
        assert_eq!(format_duration(Duration::from_secs(345_600)), "4d");
    }

    #[test]
    fn a_size_is_digits_and_a_binary_unit() {
        let rows: &[(&str, Option<u64>)] = &[
            ("0B", Some(0)),
            ("64MiB", Some(64 << 20)),
            ("10GiB", Some(10 << 30)),
            ("64MB", None),
            ("64", None),
            ("16777216TiB", None),
        ];
        for (text, bytes) in rows {
            assert_eq!(parse_bytes(text).ok(), *bytes, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_as_the_same_size() {
        let rows: &[(u64, &str)] = &[
            (0, "0B"),
            (1, "1B"),
            (1 << 10, "1KiB"),
            (1_536, "1536B"),
            (25 << 20, "25MiB"),
            (10 << 30, "10GiB"),
            (3 << 40, "3TiB"),
            (u64::MAX, "18446744073709551615B"),
        ];
        for (bytes, text) in rows {
            assert_eq!(format_bytes(*bytes), *text);
            assert_eq!(parse_bytes(text), Ok(*bytes));
        }
    }
}
