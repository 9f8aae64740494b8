//! What `[api]` and `[hooks]` have in common: TCP addresses and TLS.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::chain::Chain;
use crate::server::{Tls, TlsError, TlsFiles};

use super::faults::Reported;
use super::item::all;
use super::section::{Read, Section};
use super::unique::Unique;
use super::value;

/// The addresses of `listen`, or the default; no address may be taken twice, in either section.
pub(super) fn addresses(
    section: &mut Section<'_>,
    default: SocketAddr,
    taken: &mut Unique,
) -> Result<Vec<SocketAddr>, Reported> {
    let listed = section.list("listen", value::listen)?;
    let addresses = listed.map_or_else(|| vec![default], |listed| listed.into_iter().flatten().collect());
    // Port 0 is another port each time.
    let fixed = addresses.iter().filter(|address| address.port() != 0);
    all(fixed.map(|address| taken.note(&address.to_string(), section, "listen")))?;
    Ok(addresses)
}

/// `tls = { cert, key }`, if the files can be used together. Nothing is kept of them: the listener reads them itself, again and
/// again.
pub(super) fn tls(section: &mut Section<'_>) -> Read<TlsFiles> {
    let Some(mut files) = section.table("tls")? else {
        return Ok(None);
    };
    let cert = files.parse("cert", readable);
    let key = files.parse("key", readable);
    let (cert, key) = (files.required("cert", cert), files.required("key", key));
    files.finish();
    let (cert, key) = (cert?, key?);
    Tls::load(&cert, &key).map_err(|error| unusable(section, &error))?;
    Ok(Some(TlsFiles { cert, key }))
}

/// What is wrong with a line of a PEM file is not repeated: it may be a line of the key.
fn unusable(section: &Section<'_>, error: &TlsError) -> Reported {
    match error {
        TlsError::Certificate { .. } => section.fault("tls", "its cert is no PEM file"),
        TlsError::NoCertificate { .. } => section.fault("tls", "its cert holds no certificate"),
        TlsError::Key { .. } => section.fault("tls", "its key holds no private key in PEM"),
        TlsError::Unusable(error) => section.fault("tls", format_args!("cannot be used: {}", Chain(error))),
    }
}

fn readable(text: &str) -> Result<PathBuf, String> {
    let path = value::path(text)?;
    match File::open(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}
