//! The overhead of ATM on a packet: cells, padding, trailers.
//!
//! Sources: ITU-T I.363.5 (AAL5: a trailer of 8 octets, padded to whole cells of 48), I.361 (cells
//! of 53 octets), RFC 2684 section 5 (LLC and SNAP: 8 octets before the packet). Exact, no
//! assumptions.

use btu_units::Bytes;

const CELL_PAYLOAD: u64 = 48;
const TRAILER: u64 = 8;
const LLC_SNAP: u64 = 8;

/// Cells for a PDU of `octets`, headers included.
pub(crate) const fn cells(octets: Bytes) -> u64 {
    octets.count().saturating_add(TRAILER).div_ceil(CELL_PAYLOAD)
}

/// Cells for an IP packet behind LLC and SNAP.
pub(crate) const fn cells_of_packet(packet: Bytes) -> u64 {
    cells(Bytes::new(packet.count().saturating_add(LLC_SNAP)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_in_cells() {
        for (packet, cells) in [(40, 2), (576, 13), (1500, 32), (9180, 192)] {
            assert_eq!(cells_of_packet(Bytes::new(packet)), cells);
        }
    }

    proptest! {
        #[test]
        fn padding_is_less_than_a_cell(octets in 0u64..100_000) {
            let padded = cells(Bytes::new(octets)) * 48;
            prop_assert!(padded >= octets + 8 && padded < octets + 8 + 48);
        }
    }
}
