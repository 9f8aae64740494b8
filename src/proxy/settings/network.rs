//! Ranges of addresses, for peers that are trusted.

use std::net::IpAddr;

/// Why a text is no range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// No address, or no length behind it.
    #[error("must be an address and a prefix length, such as 10.0.0.0/8")]
    Shape,
    /// `10.1.2.3/8` means either one host or a whole network; whoever wrote it should say which.
    #[error("has bits set beyond its prefix length")]
    HostBits,
}

/// A CIDR range. IPv4 addresses in IPv6 clothes (`::ffff:…`) count as IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Reads `127.0.0.1/32`.
    ///
    /// # Errors
    /// When it has another shape, or bits beyond its prefix.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let (address, length) = text.split_once('/').ok_or(NetworkError::Shape)?;
        let first: IpAddr = address.parse().map_err(|_| NetworkError::Shape)?;
        let plain = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let prefix_bits = length.parse().ok().filter(|bits| plain && *bits <= width_bits(first));
        let prefix_bits = prefix_bits.ok_or(NetworkError::Shape)?;
        if masked(first, prefix_bits) == bits_of(first) {
            Ok(Self { first, prefix_bits })
        } else {
            Err(NetworkError::HostBits)
        }
    }

    /// Whether an address lies in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && masked(address, self.prefix_bits) == bits_of(self.first)
    }
}

fn width_bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn masked(address: IpAddr, prefix_bits: u32) -> u128 {
    let host_bits = width_bits(address) - prefix_bits;
    // A shift by the full width is no shift in Rust but a fault: ::/0.
    let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
    bits_of(address) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_what_shares_its_prefix() {
        for (range, address, inside) in [
            ("127.0.0.1/32", "127.0.0.1", true),
            ("127.0.0.1/32", "127.0.0.2", false),
            ("127.0.0.1/32", "::ffff:127.0.0.1", true),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("::1/128", "::1", true),
        ] {
            let network = Network::parse(range).expect("a good range");
            assert_eq!(network.contains(address.parse().expect("an address")), inside, "{range} {address}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, error) in [
            ("10.0.0.1", NetworkError::Shape),
            ("10.0.0.0/33", NetworkError::Shape),
            ("10.0.0.0/+8", NetworkError::Shape),
            ("10.0.0.0/", NetworkError::Shape),
            ("::/129", NetworkError::Shape),
            ("localhost/8", NetworkError::Shape),
            ("10.0.0.1/8", NetworkError::HostBits),
        ] {
            assert_eq!(Network::parse(text), Err(error), "{text}");
        }
    }
}
