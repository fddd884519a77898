//! The medium's description of a frame, read from its octets.

use btu_medium::{Address, Frame, Kind};
use btu_units::Bytes;

/// Offsets in a frame (RFC 791, section 3.1; RFC 8200, section 3; RFC 9293 and RFC 768 begin with
/// both ports).
const TYPE: usize = 12;
const IPV4: usize = 14;
const IPV4_FRAGMENT: usize = IPV4 + 6;
const IPV4_PROTOCOL: usize = IPV4 + 9;
const IPV4_ADDRESSES: std::ops::Range<usize> = IPV4 + 12..IPV4 + 20;
const IPV6_NEXT: usize = 14 + 6;
const IPV6_ADDRESSES: std::ops::Range<usize> = 14 + 8..14 + 40;
const IPV6_PAYLOAD: usize = 14 + 40;

/// Protocols with ports that distinguish flows: TCP and UDP.
const WITH_PORTS: [u8; 2] = [6, 17];

/// A frame's description; `bytes` holds at least an Ethernet header (a port passes nothing
/// shorter).
pub(super) fn describe(buffer: u32, bytes: &[u8]) -> Frame {
    let address = |from: usize| Address::from_octets(std::array::from_fn(|n| bytes[from + n]));
    let (kind, flow) = match [bytes[TYPE], bytes[TYPE + 1]] {
        [0x08, 0x00] => (Kind::Ip, flow_of_ipv4(bytes)),
        [0x86, 0xdd] => (Kind::Ip, flow_of_ipv6(bytes)),
        _ => (Kind::Other, None),
    };
    let frame = Frame::new(buffer, Bytes::new(bytes.len() as u64)).between(address(6), address(0));
    frame.carrying(kind).in_flow(flow.unwrap_or(0))
}

/// Addresses, protocol and, except for fragments, ports. `None` if the packet is truncated.
fn flow_of_ipv4(bytes: &[u8]) -> Option<u32> {
    const FRAGMENTED: u16 = 0x3fff;
    let protocol = *bytes.get(IPV4_PROTOCOL)?;
    let whole = u16::from_be_bytes([*bytes.get(IPV4_FRAGMENT)?, *bytes.get(IPV4_FRAGMENT + 1)?])
        & FRAGMENTED
        == 0;
    let header = usize::from(bytes[IPV4] & 0x0f) * 4;
    let ports = if whole { ports(bytes, IPV4 + header, protocol) } else { 0 };
    Some(number(bytes.get(IPV4_ADDRESSES)?, protocol, ports))
}

/// As IPv4; a packet with extension headers goes by its addresses.
fn flow_of_ipv6(bytes: &[u8]) -> Option<u32> {
    let protocol = *bytes.get(IPV6_NEXT)?;
    Some(number(bytes.get(IPV6_ADDRESSES)?, protocol, ports(bytes, IPV6_PAYLOAD, protocol)))
}

fn ports(bytes: &[u8], at: usize, protocol: u8) -> u32 {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) if WITH_PORTS.contains(&protocol) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// One number for a flow, never 0: multiplied and folded (Steele, Lea, Flood 2014, the finaliser's
/// first half), word by word.
fn number(addresses: &[u8], protocol: u8, ports: u32) -> u32 {
    let (words, _) = addresses.as_chunks::<4>();
    let start = u64::from(ports) << 8 | u64::from(protocol);
    let mixed = words.iter().fold(start, |sum, word| {
        let sum = (sum ^ u64::from(u32::from_be_bytes(*word))).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        sum ^ (sum >> 32)
    });
    ((mixed ^ (mixed >> 32)) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, fragment: u16, ports: [u16; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 7]);
        bytes[TYPE..IPV4].copy_from_slice(&[8, 0]);
        bytes[IPV4] = 0x45;
        bytes[IPV4_FRAGMENT..IPV4_FRAGMENT + 2].copy_from_slice(&fragment.to_be_bytes());
        bytes[IPV4_PROTOCOL] = protocol;
        bytes[IPV4_ADDRESSES].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
        bytes[34..36].copy_from_slice(&ports[0].to_be_bytes());
        bytes[36..38].copy_from_slice(&ports[1].to_be_bytes());
        bytes
    }

    fn flow(bytes: &[u8]) -> u32 {
        describe(0, bytes).flow
    }

    #[test]
    fn addresses_length_and_kind_are_read() {
        let frame = describe(5, &ipv4(17, 0, [1, 2]));
        assert_eq!(frame.source, Address::from_octets([2, 0, 0, 0, 0, 7]));
        assert_eq!(frame.destination, Address::from_octets([2, 0, 0, 0, 0, 9]));
        assert_eq!((frame.tag, frame.length().count(), frame.kind), (5, 60, Kind::Ip));
        let arp: Vec<u8> = [[0xff; 12].as_slice(), &[8, 6], &[0; 46]].concat();
        assert_eq!((describe(0, &arp).kind, flow(&arp)), (Kind::Other, 0));
    }

    #[test]
    fn flows_are_told_apart_by_ports_and_protocol_but_not_in_fragments() {
        let base = flow(&ipv4(17, 0, [1, 2]));
        assert_ne!(base, 0);
        assert_eq!(base, flow(&ipv4(17, 0, [1, 2])));
        for other in
            [ipv4(17, 0, [1, 3]), ipv4(17, 0, [2, 1]), ipv4(6, 0, [1, 2]), ipv4(17, 0x2000, [1, 2])]
        {
            assert_ne!(base, flow(&other));
        }
        assert_eq!(
            flow(&ipv4(17, 0x2000, [1, 2])),
            flow(&ipv4(17, 0x00b9, [7, 8])),
            "first and later fragment"
        );
        assert_eq!(flow(&ipv4(1, 0, [1, 2])), flow(&ipv4(1, 0, [3, 4])), "no ports in ICMP");
    }

    #[test]
    fn what_is_cut_short_or_nonsense_is_no_flow_or_some_flow() {
        for length in 14..60 {
            for version in [[8, 0], [0x86, 0xdd]] {
                let mut bytes = ipv4(6, 0, [1, 2]);
                bytes[TYPE..IPV4].copy_from_slice(&version);
                bytes[IPV4] = 0x4f;
                bytes.truncate(length);
                assert_eq!(describe(0, &bytes).length().count(), length as u64);
            }
        }
    }
}
