//! Who may call, and what for. Decided before a body is read.
//!
//! The Unix socket is guarded by its file mode and may do everything. On loopback a caller without a token has the scope
//! that the config gives it; everybody else needs a bearer token. Browsers are not clients of this API: whatever a page
//! of somebody else could make one send is refused, so that DNS rebinding or a form on a web site cannot forget a claim.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::uri::Authority;

use super::problem::Problem;
use super::settings::{ApiSettings, LOOPBACK, SOCKET, Scope, TokenSettings};
use crate::claim::Namespace;
use crate::server::Peer;
use crate::store::Actor;

/// What a caller may do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    /// What the audit list calls it: the name of its token, or the way by which it came without one.
    name: &'a str,
    scope: Scope,
    /// The namespaces that it is confined to; `None` for all.
    namespaces: Option<&'a [Namespace]>,
}

impl<'a> Caller<'a> {
    /// Who it is, for the audit list.
    pub(super) fn actor(&self) -> Actor {
        Actor::new(self.name)
    }

    /// The namespaces that the caller is confined to, if it is.
    pub(super) fn namespaces(&self) -> Option<&'a [Namespace]> {
        self.namespaces
    }

    /// Lets the caller pass if it may operate. Whoever is known may claim, and needs nothing more for that.
    pub(super) fn needs_operate(&self) -> Result<(), Problem> {
        match self.scope {
            Scope::Operate => Ok(()),
            Scope::Claim => Err(Problem::Forbidden { detail: "this needs the scope operate" }),
        }
    }

    /// Lets the caller pass if it may touch the namespace.
    pub(super) fn needs_namespace(&self, namespace: &str) -> Result<(), Problem> {
        if self.sees(namespace) {
            Ok(())
        } else {
            Err(Problem::Forbidden { detail: "the token is not for this namespace" })
        }
    }

    fn sees(&self, namespace: &str) -> bool {
        self.namespaces.is_none_or(|all| all.iter().any(|one| one.as_str() == namespace))
    }
}

/// Finds out who calls.
pub(super) fn caller<'a>(settings: &'a ApiSettings, peer: Peer, headers: &HeaderMap) -> Result<Caller<'a>, Problem> {
    let address = match peer {
        Peer::Unix => {
            return Ok(Caller { name: SOCKET, scope: Scope::Operate, namespaces: None });
        }
        Peer::Tcp(address) => address,
    };
    let mut authorizations = headers.get_all(AUTHORIZATION).iter();
    match (authorizations.next(), authorizations.next()) {
        (None, _) => without_token(settings, address),
        (Some(one), None) => with_token(settings, one.as_bytes()).ok_or(Problem::Unauthorized),
        (Some(_), Some(_)) => Err(Problem::Unauthorized),
    }
}

fn without_token(settings: &ApiSettings, address: SocketAddr) -> Result<Caller<'_>, Problem> {
    let scope = if address.ip().is_loopback() { settings.loopback } else { None };
    scope.map(|scope| Caller { name: LOOPBACK, scope, namespaces: None }).ok_or(Problem::Unauthorized)
}

/// Every token is compared, whether one before it matched or not.
fn with_token<'a>(settings: &'a ApiSettings, authorization: &[u8]) -> Option<Caller<'a>> {
    let (scheme, presented) = authorization.split_at_checked(7)?;
    if !scheme.eq_ignore_ascii_case(b"bearer ") {
        return None;
    }
    let matching = |found: Option<&'a TokenSettings>, token: &'a TokenSettings| {
        let matches = token.token.is(presented);
        if matches { Some(token) } else { found }
    };
    let token = settings.tokens.iter().fold(None, matching)?;
    Some(Caller { name: &token.name, scope: token.scope, namespaces: token.namespaces.as_deref() })
}

/// Refuses what a browser would send on behalf of somebody else's page.
pub(super) fn refuse_browsers(settings: &ApiSettings, peer: Peer, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |code, detail| Err(Problem::Browser { code, detail });
    if let Peer::Tcp(_) = peer
        && !headers.contains_key(AUTHORIZATION)
        && !is_own_host(settings, headers)
    {
        return refused("foreign_host", "the Host header does not name this daemon");
    }
    for origin in headers.get_all(ORIGIN) {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        if own.is_none() || own != host {
            return refused("foreign_origin", "the Origin header names somebody else");
        }
    }
    for site in headers.get_all("sec-fetch-site") {
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return refused("cross_site", "the request comes from another site's page");
        }
    }
    Ok(())
}

/// Whether `Host` is a name or an address of this machine: one that no name server of somebody else can hand out.
fn is_own_host(settings: &ApiSettings, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = authority.host();
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address: Result<IpAddr, _> = name.trim_start_matches('[').trim_end_matches(']').parse();
    address
        .is_ok_and(|address| address.is_loopback() || settings.listen.iter().any(|listener| listener.ip() == address))
}

/// Lets only JSON pass: a content type that a form cannot have.
pub(super) fn needs_json(headers: &HeaderMap) -> Result<(), Problem> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(one), None) = (types.next(), types.next()) else {
        return Err(Problem::ContentType);
    };
    let essence = one.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") { Ok(()) } else { Err(Problem::ContentType) }
}
