//! How the texts of a config are read, where it is not the business of one module alone. No reason repeats the text.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::claim::{Ttl, TtlError};
use crate::quantity::{QuantityError, format_duration, parse_bytes, parse_duration};

/// The longest path of a Unix socket, in bytes: `sun_path` has 108, one of them the closing NUL (unix(7)).
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Why a text is no lifetime.
#[derive(Debug, thiserror::Error)]
pub(super) enum LifetimeError {
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error(transparent)]
    Ttl(#[from] TtlError),
}

pub(super) fn ttl<const MAX_MS: u64>(text: &str) -> Result<Ttl<MAX_MS>, LifetimeError> {
    Ok(Ttl::new(parse_duration(text)?)?)
}

/// A length of time above zero and up to `max`.
pub(super) fn length(max: Duration) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| {
        let length = parse_duration(text).map_err(text_of)?;
        if length.is_zero() || length > max {
            return Err(format!("must be longer than 0 and at most {}", format_duration(max)));
        }
        Ok(length)
    }
}

/// A size of at least `min_bytes` and at most `max_bytes`; `bounds` says both in words.
pub(super) fn size(min_bytes: u64, max_bytes: u64, bounds: &'static str) -> impl Fn(&str) -> Result<u64, String> {
    move |text| {
        let bytes = parse_bytes(text).map_err(text_of)?;
        if (min_bytes..=max_bytes).contains(&bytes) { Ok(bytes) } else { Err(format!("must be {bounds}")) }
    }
}

fn text_of(reason: impl Display) -> String {
    reason.to_string()
}

/// An address and a port; `""` is none. Names are not taken: what they resolve to may be beyond loopback tomorrow.
pub(super) fn listen(text: &str) -> Result<Option<SocketAddr>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let address = text.parse();
    address.map(Some).map_err(|_| "must be an address and a port, such as 127.0.0.1:8600 or [::1]:8600")
}

/// A path. TOML has no text with a NUL in it that a file could be named by.
pub(super) fn path(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() || text.contains('\0') { Err("must be a path") } else { Ok(PathBuf::from(text)) }
}

/// The path of a Unix socket; `""` is none.
pub(super) fn socket(text: &str) -> Result<Option<PathBuf>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > MAX_SOCKET_PATH_BYTES {
        return Err(format!("must be at most {MAX_SOCKET_PATH_BYTES} bytes, as for every Unix socket"));
    }
    path(text).map(Some).map_err(text_of)
}
