//! What the medium has to know of a frame, read from its octets.

use btu_medium::{Address, Frame, Kind};
use btu_units::Bytes;

/// A frame's description; `bytes` holds at least an Ethernet header (a port passes nothing shorter).
pub(super) fn describe(buffer: u32, bytes: &[u8]) -> Frame {
    const IPV4: [u8; 2] = [0x08, 0x00];
    const IPV6: [u8; 2] = [0x86, 0xdd];
    let address = |from: usize| Address::from_octets(std::array::from_fn(|n| bytes[from + n]));
    let kind = if [IPV4, IPV6].contains(&[bytes[12], bytes[13]]) { Kind::Ip } else { Kind::Other };
    Frame::new(buffer, Bytes::new(bytes.len() as u64)).between(address(6), address(0)).carrying(kind)
}
