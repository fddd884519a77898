//! The bits that a frame occupies on a line in addition to its own octets.
//!
//! Sources: IEEE 802.3 clause 4 (preamble and start delimiter 8 octets, padding to 64 with the
//! check sequence, gap 12); RFC 1662 (PPP in HDLC-like framing); RFC 2684 and ITU-T I.363.5
//! (LLC/SNAP 8 octets and AAL5 trailer 8, padded to whole cells of 48 octets of payload in 53).
//! Deviations: octets that HDLC escapes are not counted, because payloads are not seen; a sender's
//! padding to Ethernet's shortest frame counts as packet on other lines, because it cannot be
//! recognised here.

use btu_network::Framing;
use btu_units::Bytes;

const PREAMBLE: u64 = 8;
const CHECK_SEQUENCE: u64 = 4;
const SHORTEST: u64 = 64;
const GAP: u64 = 12;
/// Destination, source and type: lines other than Ethernet carry a packet without them.
const HEADER: u64 = 14;
const LLC_SNAP: u64 = 8;
const AAL5_TRAILER: u64 = 8;
const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;

/// Bits on the line for a frame of `length` (destination address to end of payload), with the gap
/// after it.
pub fn occupied_bits(framing: Framing, length: Bytes) -> u64 {
    match framing {
        Framing::Ethernet => 8 * (PREAMBLE + (length.count() + CHECK_SEQUENCE).max(SHORTEST) + GAP),
        Framing::Serial { overhead, bits_per_octet } => {
            (packet(length).count() + u64::from(overhead)) * u64::from(bits_per_octet)
        }
        Framing::Aal5 => {
            let cells = (packet(length).count() + LLC_SNAP + AAL5_TRAILER).div_ceil(CELL_PAYLOAD);
            8 * cells * CELL
        }
        Framing::Bare => 8 * length.count(),
    }
}

/// How many of [`occupied_bits`] come after the frame's last bit: it has arrived when they begin.
pub(crate) fn gap_bits(framing: Framing) -> u64 {
    match framing {
        Framing::Ethernet => 8 * GAP,
        Framing::Serial { .. } | Framing::Aal5 | Framing::Bare => 0,
    }
}

/// The packet in a frame: the frame without the Ethernet header.
pub(crate) fn packet(length: Bytes) -> Bytes {
    Bytes::new(length.count().saturating_sub(HEADER))
}

/// The longest frame that carries a packet of `mtu`.
pub(crate) fn frame_of(mtu: Bytes) -> Bytes {
    Bytes::new(mtu.count().saturating_add(HEADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the frame that carries a packet of this size.
    fn frame(packet: u64) -> Bytes {
        Bytes::new(packet + HEADER)
    }

    /// Shares of a line that are IP packet, under LLC/SNAP: computed by hand from RFC 2684, to four
    /// digits.
    #[test]
    fn cells_tax_packets() {
        for (packet, cells, share) in
            [(40, 2, 0.3774), (576, 13, 0.8360), (1500, 32, 0.8844), (9180, 192, 0.9021)]
        {
            let bits = occupied_bits(Framing::Aal5, frame(packet));
            assert_eq!(bits, cells * 53 * 8);
            assert!((8.0 * packet as f64 / bits as f64 - share).abs() < 5e-5, "{packet} octets");
        }
    }

    /// Frames per second of a busy 10 Mb/s Ethernet: 10^7 / (8 (length with check sequence + 20)).
    #[test]
    fn ethernet_carries_so_many_frames() {
        for (with_check_sequence, per_second) in [(64, 14_880.95), (512, 2349.62), (1518, 812.74)] {
            let bits =
                occupied_bits(Framing::Ethernet, Bytes::new(with_check_sequence - CHECK_SEQUENCE));
            assert!((1e7 / bits as f64 - per_second).abs() < 0.005, "{with_check_sequence} octets");
        }
        assert_eq!(occupied_bits(Framing::Ethernet, Bytes::new(20)), 84 * 8, "padded");
    }

    /// The payload rate at 10 Mb/s in full frames: UDP 1472 octets, TCP 1460, TCP with time stamps
    /// 1448 in each.
    #[test]
    fn ethernet_leaves_so_much_to_transports() {
        for (payload, megabits) in [(1472, 9.5709), (1460, 9.4928), (1448, 9.4148)] {
            let share =
                f64::from(payload) * 8.0 / occupied_bits(Framing::Ethernet, frame(1500)) as f64;
            assert!((10.0 * share - megabits).abs() < 5e-5, "{payload} octets");
        }
    }

    #[test]
    fn a_modem_sends_ten_bits_for_each_octet() {
        let modem = Framing::Serial { overhead: 8, bits_per_octet: 10 };
        assert_eq!(occupied_bits(modem, frame(576)), 5840);
        assert_eq!(
            occupied_bits(Framing::Serial { overhead: 8, bits_per_octet: 8 }, frame(576)),
            4672
        );
    }

    #[test]
    fn bare_frames_are_their_octets() {
        assert_eq!(occupied_bits(Framing::Bare, Bytes::new(1514)), 12_112);
    }
}
