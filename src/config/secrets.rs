//! Secrets, from where they are kept: the only place that reads them.
//!
//! A table says where: `credential`, `file` or `env`, or `inline` where the command line allows it. One closing newline
//! is everybody's habit and goes; whatever else is odd is left for the type that takes the text to refuse.

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
    pub(super) text: String,
    /// The key that named the place, for faults.
    pub(super) key: &'static str,
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
        1 => set
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .pop()
            .ok_or_else(|| one(section)),
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
    let text = String::from_utf8(bytes).map_err(|_| "holds bytes that are no text".to_owned())?;
    found(key, name, &text)
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
    found("env", name, value.to_str().ok_or("holds bytes that are no text")?)
}

fn inline(text: &str, environment: &Environment) -> Result<Found, String> {
    if !environment.allows_inline_secrets() {
        return Err(
            "is refused: a secret belongs into a credential, file or variable (or --allow-inline-secrets)".into(),
        );
    }
    found("inline", "secret", text)
}

fn found(key: &'static str, name: &str, text: &str) -> Result<Found, String> {
    let without_newline = text
        .strip_suffix('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    let text = without_newline.unwrap_or(text);
    if text.is_empty() {
        return Err("is an empty secret".into());
    }
    Ok(Found {
        label: format!("{key} {name}"),
        text: text.to_owned(),
        key,
    })
}
