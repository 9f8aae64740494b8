//! Why events are given up on.

/// Why an event was given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The app answered, and not with 2xx.
    Rejected,
    /// As many attempts as its route allows have failed.
    AttemptsExhausted,
    /// The route's time for it is over, and the app had answered last.
    TooOld,
    /// The app was not reached, or its answer is missing.
    Unreachable,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rejected, Self::AttemptsExhausted, Self::TooOld, Self::Unreachable];

    /// The word in answers, selections and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::TooOld => "too_old",
            Self::Unreachable => "unreachable",
        }
    }
}
