//! What a config depends on besides its text.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What surrounds a config: variables, known providers, and what the command line allows. Passed in, never read from
/// the process inside, so that a test can be anywhere.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: HashMap<OsString, OsString>,
    known_providers: BTreeSet<String>,
    allow_inline_secrets: bool,
}

impl Environment {
    /// An environment of these variables, in which no provider is known and no secret may be inline.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds the names that `provider = "…"` may have.
    #[must_use]
    pub fn with_providers<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.known_providers.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Takes secrets that stand in the config itself.
    #[must_use]
    pub fn with_inline_secrets(mut self) -> Self {
        self.allow_inline_secrets = true;
        self
    }

    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// A directory that systemd hands over. Several are separated by colons; ours is the first.
    pub(super) fn directory(&self, name: &str) -> Option<PathBuf> {
        let first = self
            .variable(name)?
            .as_encoded_bytes()
            .split(|byte| *byte == b':')
            .next()?;
        let text = std::str::from_utf8(first).ok()?;
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    pub(super) fn knows_provider(&self, name: &str) -> bool {
        self.known_providers.contains(name)
    }

    pub(super) fn known_providers(&self) -> impl Iterator<Item = &str> {
        self.known_providers.iter().map(String::as_str)
    }

    pub(super) fn allows_inline_secrets(&self) -> bool {
        self.allow_inline_secrets
    }
}
