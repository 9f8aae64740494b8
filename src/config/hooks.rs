//! `[hooks]`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::proxy::{HooksSettings, Network, PublicUrl};

use super::faults::Reported;
use super::listeners;
use super::section::Section;
use super::unique::Unique;

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8600);

pub(super) fn read(
    mut section: Section<'_>,
    has_routes: bool,
    addresses: &mut Unique,
) -> Result<HooksSettings, Reported> {
    // Without routes nothing is opened, so that nobody's address is taken.
    let mut unopened = Unique::default();
    let addresses = if has_routes { addresses } else { &mut unopened };
    let listen = listeners::addresses(&mut section, DEFAULT_LISTEN, addresses);
    let public_url = section.parse("public_url", PublicUrl::parse);
    let trusted_proxies = section.list("trusted_proxies", Network::parse);
    let tls = listeners::tls(&mut section);
    section.finish();
    let listen = listen.and_then(|listen| match has_routes && listen.is_empty() {
        true => Err(section.fault("listen", "must not be empty while there are routes")),
        false => Ok(listen),
    });
    Ok(HooksSettings {
        listen: listen?,
        public_url: public_url?,
        trusted_proxies: trusted_proxies?.unwrap_or_default(),
        tls: tls?,
    })
}
