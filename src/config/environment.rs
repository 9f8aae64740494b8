//! What a config depends on besides its text.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::faults::Reported;
use crate::provider::Profiles;

/// What surrounds a config: variables, known providers, and what the command line allows. Passed in, never read from
/// the process inside, so that a test can be anywhere.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: HashMap<OsString, OsString>,
    profiles: Profiles,
    /// Providers of the config whose tables have faults, with the reports.
    faulty_providers: Vec<(String, Reported)>,
    allow_inline_secrets: bool,
}

impl Environment {
    /// An environment of these variables, with the built-in providers, in which no secret may be inline.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            profiles: Profiles::built_in(),
            faulty_providers: Vec::new(),
            allow_inline_secrets: false,
        }
    }

    /// Puts these providers in the place of the built-in ones.
    #[must_use]
    pub fn with_profiles(mut self, profiles: Profiles) -> Self {
        self.profiles = profiles;
        self
    }

    pub(super) fn with_faulty_providers(mut self, faulty: Vec<(String, Reported)>) -> Self {
        self.faulty_providers = faulty;
        self
    }

    /// The report of a provider of the config that cannot be read.
    pub(super) fn faulty_provider(&self, name: &str) -> Option<Reported> {
        self.faulty_providers.iter().find(|(faulty, _)| faulty == name).map(|(_, reported)| *reported)
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
        let first = self.variable(name)?.as_encoded_bytes().split(|byte| *byte == b':').next()?;
        let text = std::str::from_utf8(first).ok()?;
        (!text.is_empty()).then(|| PathBuf::from(text))
    }

    pub(super) fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    pub(super) fn allows_inline_secrets(&self) -> bool {
        self.allow_inline_secrets
    }
}

/// Without any variable.
impl Default for Environment {
    fn default() -> Self {
        Self::new([])
    }
}
