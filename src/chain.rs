//! An error with all its causes in one line, for the log: each layer's own text says one level.

use std::error::Error;
use std::fmt;

/// Displays an error and its causes: `cannot do this: because of that: since so`.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
