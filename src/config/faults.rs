//! What is wrong with a config: all of it, in one run.
//!
//! A reader that meets a fault reports it and goes on. What it has in hand then is a [`Reported`], which only a report
//! can make: so a setting that is missing from the result has its reason in the list. No reason repeats a value, since
//! the value may be a secret in the wrong place.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The line, counted from 1; none when the file could not be read at all, or there is none.
    pub line: Option<usize>,
    /// The dotted key, such as `route[0].max_duration`, or the flag; empty when the fault lies before keys: reading and
    /// syntax.
    pub key: String,
    /// What is wrong with it, to be read behind the key.
    pub reason: String,
}

/// Everything that is wrong with a config, by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFaults {
    path: PathBuf,
    faults: Vec<Fault>,
}

impl ConfigFaults {
    pub(super) fn new(path: &Path, mut faults: Vec<Fault>) -> Self {
        faults.sort();
        Self { path: path.into(), faults }
    }

    pub(super) fn unreadable(path: &Path, reason: impl fmt::Display) -> Self {
        let fault = Fault { line: None, key: String::new(), reason: format!("cannot be read: {reason}") };
        Self::new(path, vec![fault])
    }

    /// The faults, by line; never none.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl std::error::Error for ConfigFaults {}

/// One line a fault: `onced.toml:12: route[0].max_duration: must be …`.
impl fmt::Display for ConfigFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, fault) in self.faults.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:", self.path.display())?;
            if let Some(line) = fault.line {
                write!(f, "{line}:")?;
            }
            if !fault.key.is_empty() {
                write!(f, " {}:", fault.key)?;
            }
            write!(f, " {}", fault.reason)?;
        }
        Ok(())
    }
}

/// Proof that a fault is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported(());

/// The list while a text is read. Shared by every reader of a part of it, hence the cell; nobody holds a borrow.
pub(super) struct Faults<'t> {
    text: &'t str,
    found: RefCell<Vec<Fault>>,
}

impl<'t> Faults<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    pub(super) fn report(&self, offset: usize, key: &str, reason: impl fmt::Display) -> Reported {
        self.found.borrow_mut().push(Fault {
            line: Some(self.line(offset)),
            key: key.to_owned(),
            reason: reason.to_string(),
        });
        Reported(())
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.bytes().take(offset);
        1 + before.filter(|byte| *byte == b'\n').count()
    }

    pub(super) fn into_found(self) -> Vec<Fault> {
        self.found.into_inner()
    }
}
