//! Secrets, from where they are kept: the only place that reads them.
//!
//! A table says where: `credential`, `file` or `env`, or `inline` where the command line allows it. What is found is
//! handed on as it is; whether it can be a secret is for the type that takes it to say.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::Environment;
use super::faults::Reported;
use super::section::Section;

/// Bytes that are read of a secret file, well above the longest secret that anything takes: a file that was named by
/// mistake is not read to its end.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// A secret as it was found, and where. Has no `Debug`.
pub(super) struct Found {
    /// Where it was, for people.
    pub(super) label: String,
    pub(super) bytes: Vec<u8>,
    /// The key that named the place, for faults.
    pub(super) key: &'static str,
}

impl Found {
    /// The text without the one closing newline that is everybody's habit.
    pub(super) fn line(&self) -> Result<&str, &'static str> {
        std::str::from_utf8(self.without_newline()).map_err(|_| "holds bytes that are no text")
    }

    /// The bytes without the same newline.
    pub(super) fn without_newline(&self) -> &[u8] {
        let line = self.bytes.strip_suffix(b"\n");
        line.map_or(&self.bytes, |line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Reads the secret that a table names; asks for all the keys that can.
pub(super) fn read(section: &mut Section<'_>, environment: &Environment) -> Result<Found, Reported> {
    let sources = [
        section.parse("credential", |name| from_credential(name, environment)),
        section.parse("file", |path| from_file("file", path, Path::new(path))),
        section.parse("env", |name| from_variable(name, environment)),
        section.parse("inline", |text| inline(text, environment)),
    ];
    let set: Vec<_> = sources.into_iter().filter_map(Result::transpose).collect();
    match set.len() {
        1 => set.into_iter().collect::<Result<Vec<_>, _>>()?.pop().ok_or_else(|| one(section)),
        _ => Err(one(section)),
    }
}

fn one(section: &Section<'_>) -> Reported {
    section.fault_of_all("needs exactly one of credential, file and env")
}

fn from_credential(name: &str, environment: &Environment) -> Result<Found, String> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err("must be the name of a credential, not a path".into());
    }
    let Some(directory) = environment.variable("CREDENTIALS_DIRECTORY") else {
        return Err("needs $CREDENTIALS_DIRECTORY, which systemd sets where the unit has LoadCredential=".into());
    };
    from_file("credential", name, &PathBuf::from(directory).join(name))
}

fn from_file(key: &'static str, name: &str, path: &Path) -> Result<Found, String> {
    let bytes = read_bounded(path).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(found(key, name, bytes))
}

/// At most one byte more than the limit, so that too long can be told from just fitting.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large for a secret"));
    }
    Ok(bytes)
}

fn from_variable(name: &str, environment: &Environment) -> Result<Found, String> {
    let value = environment.variable(name).ok_or("is not set in the environment")?;
    Ok(found("env", name, value.as_encoded_bytes().to_vec()))
}

fn inline(text: &str, environment: &Environment) -> Result<Found, String> {
    if !environment.allows_inline_secrets() {
        return Err(
            "is refused: a secret belongs into a credential, file or variable (or --allow-inline-secrets)".into()
        );
    }
    Ok(found("inline", "secret", text.into()))
}

fn found(key: &'static str, name: &str, bytes: Vec<u8>) -> Found {
    Found { label: format!("{key} {name}"), bytes, key }
}
