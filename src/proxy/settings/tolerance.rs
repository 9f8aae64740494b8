//! How far a sender's timestamp may be from our clock, when a route says so itself.

use std::time::Duration;

use crate::quantity::{QuantityError, parse_duration};

/// The bound on the difference between a sender's stamp and our clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Any stamp passes; the memory of ids is the guard.
    Off,
    /// At most this much, in whole seconds, as the stamps are.
    Within(Duration),
}

/// Why a text is no tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToleranceError {
    /// Neither `off` nor a length of time.
    #[error("must be \"off\" or a length of time; the latter {0}")]
    Length(QuantityError),
    /// Stamps count in seconds, and a tolerance of zero refuses all that are not of this very second.
    #[error("must be whole seconds, at least 1s; or \"off\"")]
    Fraction,
}

impl Tolerance {
    /// Reads `300s` or `off`.
    ///
    /// # Errors
    /// When it is neither, or no whole number of seconds.
    pub fn parse(text: &str) -> Result<Self, ToleranceError> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let length = parse_duration(text).map_err(ToleranceError::Length)?;
        if length.is_zero() || length.subsec_nanos() != 0 {
            return Err(ToleranceError::Fraction);
        }
        Ok(Self::Within(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_off_or_whole_seconds() {
        assert_eq!(Tolerance::parse("off"), Ok(Tolerance::Off));
        assert_eq!(Tolerance::parse("5m"), Ok(Tolerance::Within(Duration::from_secs(300))));
        for bad in ["0s", "1500ms"] {
            assert_eq!(Tolerance::parse(bad), Err(ToleranceError::Fraction), "{bad}");
        }
        for bad in ["", "none", "300"] {
            assert!(matches!(Tolerance::parse(bad), Err(ToleranceError::Length(_))), "{bad}");
        }
    }
}
