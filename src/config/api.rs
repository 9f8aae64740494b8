//! `[api]` and `[[api.token]]`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::api::{ApiSettings, BearerToken, LOOPBACK, SOCKET, Scope, TokenSettings};
use crate::claim::{KeyError, Namespace};
use crate::server::TlsFiles;

use super::Environment;
use super::faults::Reported;
use super::item::all;
use super::section::{Read, Section};
use super::unique::Unique;
use super::{listeners, secrets, value};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8601);

/// The longest name of a token: it is printed in one line with the others.
const MAX_NAME_BYTES: usize = 64;

pub(super) fn read(
    mut section: Section<'_>,
    environment: &Environment,
    store_dir: &Path,
    addresses: &mut Unique,
) -> Result<ApiSettings, Reported> {
    let listen = listeners::addresses(&mut section, DEFAULT_LISTEN, addresses);
    let socket = section.parse("socket", value::socket);
    let loopback =
        section.choice("loopback", &[("claim", Some(Scope::Claim)), ("operate", Some(Scope::Operate)), ("none", None)]);
    let tls = listeners::tls(&mut section);
    let tokens = tokens(&mut section, environment);
    section.finish();
    refuse_open_doors(&section, &listen, &tls, &tokens)?;
    Ok(ApiSettings {
        listen: listen?,
        socket: socket?.unwrap_or_else(|| Some(default_socket(environment, store_dir))),
        loopback: loopback?.unwrap_or(Some(Scope::Claim)),
        tokens: tokens?,
        tls: tls?,
    })
}

fn default_socket(environment: &Environment, store_dir: &Path) -> PathBuf {
    let directory = environment.directory("RUNTIME_DIRECTORY");
    directory.as_deref().unwrap_or(store_dir).join("onced.sock")
}

/// Beyond loopback a caller must prove itself, and its proof must not travel in the clear.
fn refuse_open_doors(
    section: &Section<'_>,
    listen: &Result<Vec<SocketAddr>, Reported>,
    tls: &Read<TlsFiles>,
    tokens: &Result<Vec<TokenSettings>, Reported>,
) -> Result<(), Reported> {
    let local = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
    if listen.iter().flatten().all(local) {
        return Ok(());
    }
    let lacks = match (matches!(tls, Ok(None)), matches!(tokens, Ok(tokens) if tokens.is_empty())) {
        (true, true) => "[[api.token]] and tls",
        (true, false) => "tls",
        (false, true) => "[[api.token]]",
        (false, false) => return Ok(()),
    };
    Err(section.fault("listen", format_args!("reaches beyond loopback, which needs {lacks}")))
}

fn tokens(section: &mut Section<'_>, environment: &Environment) -> Result<Vec<TokenSettings>, Reported> {
    let (mut names, mut texts) = (Unique::default(), Unique::default());
    let sections = section.tables("token")?;
    all(sections.into_iter().map(|section| token(section, environment, &mut names, &mut texts)))
}

fn token(
    mut section: Section<'_>,
    environment: &Environment,
    names: &mut Unique,
    texts: &mut Unique,
) -> Result<TokenSettings, Reported> {
    let name = section.parse("name", name);
    let token = secret(&mut section, environment, texts);
    let namespaces = section.list("namespaces", any_namespace);
    let scopes = section.list("scopes", scope);
    let name = section.required("name", name).and_then(|name| {
        names.note(&name, &section, "name")?;
        Ok(name)
    });
    let scope = section.required("scopes", scopes).and_then(|scopes| {
        let widest = scopes.into_iter().max();
        widest.ok_or_else(|| section.fault("scopes", "must not be empty"))
    });
    let namespaces = namespaces.and_then(|namespaces| match namespaces {
        Some(none) if none.is_empty() => Err(section.fault("namespaces", "must not be empty; leave it out for all")),
        namespaces => Ok(namespaces),
    });
    section.finish();
    Ok(TokenSettings { name: name?, token: token?, namespaces: namespaces?, scope: scope? })
}

/// With two names for one token, nobody could say who calls.
fn secret(section: &mut Section<'_>, environment: &Environment, texts: &mut Unique) -> Result<BearerToken, Reported> {
    let found = secrets::read(section, environment)?;
    let text = found.line().map_err(|reason| section.fault(found.key, reason))?;
    let token = BearerToken::parse(text).map_err(|reason| section.fault(found.key, reason))?;
    texts.note(text, section, found.key)?;
    Ok(token)
}

fn name(text: &str) -> Result<Box<str>, String> {
    if text.is_empty() || text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) {
        return Err(format!("must be 1 to {MAX_NAME_BYTES} bytes without control characters"));
    }
    if matches!(text, SOCKET | LOOPBACK) {
        return Err(format!("must not be {text:?}: in the audit list that is a caller without a token"));
    }
    Ok(text.into())
}

/// A route's as well: with `operate`, its claims can be read and forgotten.
fn any_namespace(text: &str) -> Result<Namespace, KeyError> {
    Namespace::parse_any(text)
}

fn scope(text: &str) -> Result<Scope, &'static str> {
    match text {
        "claim" => Ok(Scope::Claim),
        "operate" => Ok(Scope::Operate),
        _ => Err("must be \"claim\" or \"operate\""),
    }
}
