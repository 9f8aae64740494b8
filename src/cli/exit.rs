//! What the program's exit code says.

use std::process::ExitCode;

/// How the program ended. The numbers are a contract with scripts and with the unit file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Well = 0,
    /// It failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The key is done already (claim, release, extend).
    AlreadyDone = 3,
    /// No daemon can be reached (`EX_UNAVAILABLE` of sysexits.h).
    Unreachable = 69,
    /// Somebody else holds the key (`EX_TEMPFAIL`).
    Held = 75,
    /// The config is bad (`EX_CONFIG`): starting again will not help.
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
