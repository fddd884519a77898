//! The addresses with which an activity may exchange data: networks as users write them (RFC 4632,
//! RFC 4291 section 2.3), and the check that every listening port makes before it reads from a
//! caller.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::stored_as_text;

/// The networks with which an activity may exchange data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Peers(Option<Vec<Cidr>>);

impl Peers {
    /// Every host, for work that no policy bounds.
    pub const ANY: Self = Self(None);

    /// Only the hosts of these networks.
    pub fn within(networks: Vec<Cidr>) -> Self {
        Self(Some(networks))
    }

    /// Whether data may be exchanged with `address`: it is the address of one host, in one of the
    /// networks.
    pub fn hold(&self, address: IpAddr) -> bool {
        let within = |networks: &Vec<Cidr>| {
            is_one_host(address) && networks.iter().any(|one| one.holds(address))
        };
        self.0.as_ref().is_none_or(within)
    }
}

/// No multicast, no broadcast, not "any address"; an IPv4 address in IPv6 form is equal to the IPv4
/// address.
pub fn is_one_host(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}

/// The check of every caller by every listening port, before it reads or answers.
#[derive(Clone)]
pub struct Callers {
    peers: Peers,
    refused: Arc<dyn Fn(IpAddr, Refused) + Send + Sync>,
}

/// Why a caller is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The caller is not one of the peers.
    NoPeer,
    /// The caller sent another token.
    WrongToken,
    /// The caller did not log in: it guessed too often, or sent too little for too long.
    NoLogin,
    /// Too many other callers are connected.
    Full,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPeer => "`peers` of the policy has it not",
            Self::WrongToken => "it said another token than the order's",
            Self::NoLogin => "it did not log in",
            Self::Full => "too many others are there",
        })
    }
}

impl Callers {
    /// Callers with any address: every host may connect.
    pub fn any() -> Self {
        Self { peers: Peers::ANY, refused: Arc::new(|_, _| ()) }
    }

    /// Only `peers` may call; `refused` gets the address of every refused caller, and the reason.
    pub fn only(peers: Peers, refused: impl Fn(IpAddr, Refused) + Send + Sync + 'static) -> Self {
        Self { peers, refused: Arc::new(refused) }
    }

    /// Whether a host's policy bounds them: the order came from another host, or may have.
    pub fn are_bounded(&self) -> bool {
        self.peers != Peers::ANY
    }

    /// Whether the caller is accepted.
    pub fn may_call(&self, caller: SocketAddr) -> bool {
        let may = self.peers.hold(caller.ip());
        if !may {
            self.refuse(caller.ip(), Refused::NoPeer);
        }
        may
    }

    /// Reports that a caller at this address is refused.
    pub fn refuse(&self, caller: IpAddr, why: Refused) {
        (self.refused)(caller.to_canonical(), why);
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Callers").field(&self.peers).finish()
    }
}

/// A network: an address and the number of leading bits that count. As text: `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    /// The network of one host.
    pub fn host(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, length: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether an address is in it; an IPv4 address in IPv6 form is equal to the IPv4 address.
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

/// This machine (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3).
pub fn loopback() -> Vec<Cidr> {
    vec![
        Cidr { address: Ipv4Addr::new(127, 0, 0, 0).into(), length: 8 },
        Cidr::host(Ipv6Addr::LOCALHOST.into()),
    ]
}

/// Private networks (RFC 1918, RFC 4193), links (RFC 3927, RFC 4291), shared addresses (RFC 6598),
/// and the networks for benchmarking (RFC 2544, RFC 5180): no host on the internet can be reached
/// there.
pub fn private() -> Vec<Cidr> {
    let four = |a, b, c, d, length| Cidr { address: Ipv4Addr::new(a, b, c, d).into(), length };
    let six = |a, b, length| Cidr { address: Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0).into(), length };
    vec![
        four(10, 0, 0, 0, 8),
        four(172, 16, 0, 0, 12),
        four(192, 168, 0, 0, 16),
        four(169, 254, 0, 0, 16),
        four(100, 64, 0, 0, 10),
        four(198, 18, 0, 0, 15),
        six(0xfc00, 0, 7),
        six(0xfe80, 0, 10),
        six(0x2001, 2, 48),
    ]
}

stored_as_text!(Cidr);

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a network: write 192.0.2.0/24, 2001:db8::/32, or an address")
        };
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
        for address in [
            "8.8.8.8",
            "172.32.0.1",
            "192.0.2.1",
            "2001:db8::1",
            "224.0.0.1",
            "255.255.255.255",
            "0.0.0.0",
        ] {
            assert!(
                !private().iter().any(|network| network.holds(address.parse().unwrap())),
                "{address}"
            );
        }
        for address in ["172.31.255.255", "198.19.0.1", "2001:2::1", "fe80::1"] {
            assert!(
                private().iter().any(|network| network.holds(address.parse().unwrap())),
                "{address}"
            );
        }
        for address in ["127.0.0.1", "::1", "::ffff:127.9.9.9"] {
            assert!(Peers::within(loopback()).hold(address.parse().unwrap()), "{address}");
            assert!(!Peers::within(private()).hold(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_is_no_single_host_is_nobody_s_peer_however_it_is_written() {
        let everywhere = Peers::within(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()]);
        for address in ["224.0.0.251", "0.0.0.0", "255.255.255.255", "ff02::1", "::"] {
            let address: IpAddr = address.parse().unwrap();
            assert!(!everywhere.hold(address), "{address}");
            if let IpAddr::V4(four) = address {
                assert!(!everywhere.hold(four.to_ipv6_mapped().into()), "{address}, mapped");
            }
        }
        assert!(everywhere.hold("::ffff:192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn whoever_may_not_call_is_told_of() {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let list = Arc::clone(&told);
        let peers = Peers::within(vec!["192.0.2.0/24".parse().unwrap()]);
        let callers =
            Callers::only(peers, move |address, why| list.lock().unwrap().push((address, why)));
        assert!(callers.may_call("192.0.2.7:9".parse().unwrap()));
        assert!(!callers.may_call("[::ffff:198.51.100.9]:9".parse().unwrap()));
        assert_eq!(
            *told.lock().unwrap(),
            [("198.51.100.9".parse::<IpAddr>().unwrap(), Refused::NoPeer)]
        );
        assert!(Callers::any().may_call("203.0.113.1:1".parse().unwrap()));
    }

    #[test]
    fn peers_come_back_as_they_were_written() {
        let peers = Peers::within(private());
        let text = serde_json::to_string(&peers).unwrap();
        assert!(text.starts_with(r#"["10.0.0.0/8","#), "{text}");
        assert_eq!(serde_json::from_str::<Peers>(&text).unwrap(), peers);
        assert_eq!(serde_json::from_str::<Peers>("null").unwrap(), Peers::ANY);
        assert!(
            !serde_json::from_str::<Peers>("[]").unwrap().hold(Ipv4Addr::LOCALHOST.into()),
            "none is nobody"
        );
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
