//! The overhead of ATM on a packet: cells, padding, trailers.
//!
//! Sources: ITU-T I.363.5 (AAL5: a trailer of 8 octets, padded to whole cells of 48), I.361 (cells
//! of 53 octets), RFC 2684 section 5 (LLC and SNAP: 8 octets before the packet); for OC-3c:
//! Telcordia GR-253 (155.52 Mb/s, of which 5.76 Mb/s are section, line and path overhead). Exact,
//! no assumptions.

use btu_units::{BitRate, Bytes};

const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;
const TRAILER: u64 = 8;
const LLC_SNAP: u64 = 8;

/// Bits per second that an OC-3c (STM-1) line leaves for cells.
pub const OC3C: BitRate = BitRate::from_bits_per_second(149_760_000);

/// Cells for a PDU of `octets`, headers included.
pub const fn cells(octets: Bytes) -> u64 {
    octets.count().saturating_add(TRAILER).div_ceil(CELL_PAYLOAD)
}

/// Cells for an IP packet behind LLC and SNAP.
pub const fn cells_of_packet(packet: Bytes) -> u64 {
    cells(Bytes::new(packet.count().saturating_add(LLC_SNAP)))
}

/// The share of the line's octets that are the IP packet's own.
pub fn efficiency(packet: Bytes) -> f64 {
    packet.bits() / Bytes::new(cells_of_packet(packet).saturating_mul(CELL)).bits()
}

/// Bits per second above IP (without its header of 20 octets) on a line that carries cells at
/// `rate`, with packets of `packet` octets back to back.
pub fn above_ip(rate: BitRate, packet: Bytes) -> f64 {
    const HEADER: Bytes = Bytes::new(20);
    let bits_on_line = Bytes::new(cells_of_packet(packet).saturating_mul(CELL)).bits();
    rate.bits_per_second() as f64 * (packet - HEADER).bits() / bits_on_line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
    }

    #[test]
    fn packets_in_cells() {
        for (packet, cells, share) in
            [(40, 2, 0.3774), (576, 13, 0.8360), (1500, 32, 0.8844), (9180, 192, 0.9021)]
        {
            assert_eq!(cells_of_packet(Bytes::new(packet)), cells);
            close(efficiency(Bytes::new(packet)), share, 5e-5);
        }
    }

    /// 155.52 - 5.76 Mb/s; 48 of 53 octets; then trailer and padding .412, LLC and SNAP .118, IP
    /// header .294.
    #[test]
    fn what_oc3c_leaves() {
        const MEGA: f64 = 1e6;
        close(OC3C.bits_per_second() as f64, 155.52 * MEGA - 5.76 * MEGA, 1e-6);
        let in_cells = OC3C.megabits_per_second() * 48.0 / 53.0;
        close(in_cells, 135.632, 5e-4);
        let share = |octets: f64| in_cells * octets / (192.0 * 48.0);
        close(share(192.0 * 48.0 - 9180.0 - 8.0), 0.412, 5e-4);
        close(share(8.0), 0.118, 5e-4);
        close(share(20.0), 0.294, 5e-4);
        close(above_ip(OC3C, Bytes::new(9180)) / MEGA, 134.808, 5e-4);
    }

    proptest! {
        #[test]
        fn padding_is_less_than_a_cell(octets in 0u64..100_000) {
            let padded = cells(Bytes::new(octets)) * 48;
            prop_assert!(padded >= octets + 8 && padded < octets + 8 + 48);
        }
    }
}
