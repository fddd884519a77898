//! Networks as users write them: an address and the number of leading bits that count (RFC 4632, RFC 4291 section 2.3).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    /// Whether an address is in it; an IPv4 address written as an IPv6 one is the same address.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// This machine (RFC 1122, RFC 4291), private networks (RFC 1918, RFC 4193), links (RFC 3927, RFC 4291), shared addresses
/// (RFC 6598), and the networks for benchmarking (RFC 2544, RFC 5180): nobody on the internet can be reached there.
pub(super) fn private() -> Vec<Cidr> {
    let four = |a, b, c, d, length| Cidr { address: Ipv4Addr::new(a, b, c, d).into(), length };
    let six = |a, b, length| Cidr { address: Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0).into(), length };
    vec![
        four(127, 0, 0, 0, 8),
        four(10, 0, 0, 0, 8),
        four(172, 16, 0, 0, 12),
        four(192, 168, 0, 0, 16),
        four(169, 254, 0, 0, 16),
        four(100, 64, 0, 0, 10),
        four(198, 18, 0, 0, 15),
        Cidr { address: Ipv6Addr::LOCALHOST.into(), length: 128 },
        six(0xfc00, 0, 7),
        six(0xfe80, 0, 10),
        six(0x2001, 2, 48),
    ]
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no network: write 192.0.2.0/24, 2001:db8::/32, or an address");
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(longest), |length| length.parse().map_err(|_| wrong()))?;
        if length > longest { Err(wrong()) } else { Ok(Self { address, length }) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        network.parse::<Cidr>().unwrap().holds(address.parse().unwrap())
    }

    #[test]
    fn leading_bits_count() {
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("192.0.2.7", "192.0.2.7") && !holds("192.0.2.7", "192.0.2.6"));
        assert!(holds("0.0.0.0/0", "255.255.255.255") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00::/8", "fd12::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.0.0.1"), "a mapped address is the same address");
    }

    #[test]
    fn nobody_on_the_internet_is_private() {
        for address in ["8.8.8.8", "172.32.0.1", "192.0.2.1", "2001:db8::1", "224.0.0.1", "255.255.255.255", "0.0.0.0"]
        {
            assert!(!private().iter().any(|network| network.holds(address.parse().unwrap())), "{address}");
        }
        for address in ["127.0.0.1", "172.31.255.255", "198.19.0.1", "::1", "2001:2::1", "fe80::1"] {
            assert!(private().iter().any(|network| network.holds(address.parse().unwrap())), "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}", address in any::<[u8; 16]>()) {
            if let Ok(network) = text.parse::<Cidr>() {
                network.holds(Ipv6Addr::from(address).into());
            }
        }

        #[test]
        fn a_network_is_read_as_it_is_written(address in any::<[u8; 4]>(), length in 0..=32u8) {
            let network = Cidr { address: Ipv4Addr::from(address).into(), length };
            prop_assert_eq!(network.to_string().parse(), Ok(network));
            prop_assert!(network.holds(Ipv4Addr::from(address).into()));
        }
    }
}
