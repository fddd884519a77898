//! The octets that a frame occupies on the line, as a table for the kernel (`TCA_STAB`).
//!
//! Source: `__qdisc_calculate_pkt_len` in `net/sched/sch_api.c`: the size of a frame, counted as a
//! driver sees it, is replaced by its entry. netem's own overhead and cell size could do Ethernet's
//! 24 octets and AAL5's cells, but not the padding of short frames, which virtual interfaces do not
//! do either; a table covers all of it. For frames beyond the table the kernel extrapolates the
//! table, which is exact except for padding and the last cell.

use btu_medium::occupied_bits;
use btu_network::{Direction, Framing};
use btu_testbed::netlink::{Attributes, find, u16_at};
use btu_units::{BitRate, Bytes, Span};

use crate::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    ("driver_ethernet", ethernet_pads_and_leaves_gaps),
    ("driver_cells", aal5_takes_whole_cells),
    ("driver_serial", serial_octets_may_have_ten_bits),
    ("driver_size_table", the_table_has_an_entry_for_each_length),
];

/// The octets of destination, source and type.
const ETHERNET_HEADER: u64 = 14;
/// A tag of IEEE 802.1Q may come on top.
const TAG: u64 = 4;
/// The longest frame with its own entry in the table, in octets: the longest attribute holds 32,766
/// entries.
const LONGEST: u64 = 16_383;

const ETHERNET_GAP: u64 = 12;

/// Octets that a frame of `length`, as a driver sees it, occupies with this framing. For
/// [`Framing::Serial`] these are octets of 8 or 10 bits.
pub(super) fn occupied(framing: Framing, length: u64) -> u64 {
    occupied_bits(framing, Bytes::new(length)) / bits_of_an_octet(framing)
}

fn bits_of_an_octet(framing: Framing) -> u64 {
    match framing {
        Framing::Serial { bits_per_octet, .. } => u64::from(bits_per_octet.max(1)),
        Framing::Ethernet | Framing::Aal5 | Framing::Bare => 8,
    }
}

/// Octets per second of a line of `bits_per_second`, rounded to the nearest: at most 4 (or 5) bits
/// per second off.
pub(super) fn octets_per_second(framing: Framing, bits_per_second: u64) -> u64 {
    let octet = bits_of_an_octet(framing);
    (bits_per_second.saturating_add(octet / 2) / octet).max(1)
}

/// The end of a frame's time on the line in which it has already arrived.
pub(super) fn gap(framing: Framing, octets_per_second: u64) -> Span {
    match framing {
        Framing::Ethernet => {
            Span::from_nanoseconds(ETHERNET_GAP * 1_000_000_000 / octets_per_second.max(1))
        }
        Framing::Serial { .. } | Framing::Aal5 | Framing::Bare => Span::ZERO,
    }
}

/// The longest frame, as a driver sees it, that a direction takes.
pub(super) fn longest(direction: &Direction) -> Bytes {
    Bytes::new(direction.mtu.count() + ETHERNET_HEADER + TAG)
}

/// The content of `TCA_STAB`, if a frame occupies more or less than its own octets.
pub(super) fn table(direction: &Direction) -> Option<Attributes> {
    const BASE: u16 = 1;
    const DATA: u16 = 2;
    if direction.framing == Framing::Bare {
        return None;
    }
    let lengths = 0..=longest(direction).count().min(LONGEST);
    let entry = |length| u16::try_from(occupied(direction.framing, length)).unwrap_or(u16::MAX);
    let data: Vec<u8> = lengths.clone().flat_map(|length| entry(length).to_ne_bytes()).collect();
    let count = u32::try_from(lengths.count()).unwrap_or(u32::MAX);
    // struct tc_sizespec: cell_log, size_log, cell_align, overhead, linklayer, mpu, mtu, tsize. The
    // kernel uses the logs, the alignment, the overhead (all 0: one entry for each length) and the
    // number of entries.
    let base = [0, 0, 0, 0, 0, count].map(u32::to_ne_bytes).concat();
    Some(Attributes::new().with(BASE, &base).with(DATA, &data))
}

/// 84 octets for the shortest frame, 1538 for a full one (IEEE 802.3, with preamble and gap).
fn ethernet_pads_and_leaves_gaps() {
    for (length, octets) in [(14, 84), (42, 84), (60, 84), (61, 85), (1514, 1538), (1518, 1542)] {
        assert_eq!(occupied(Framing::Ethernet, length), octets, "{length} octets");
    }
}

/// Cells of a packet: 40, 576, 1500 and 9180 octets take 2, 13, 32 and 192 (RFC 2684,
/// LLC/SNAP).
fn aal5_takes_whole_cells() {
    for (packet, cells) in [(40, 2), (576, 13), (1500, 32), (9180, 192)] {
        assert_eq!(occupied(Framing::Aal5, packet + ETHERNET_HEADER), cells * 53);
    }
}

fn serial_octets_may_have_ten_bits() {
    let line = Framing::Serial { overhead: 8, bits_per_octet: 10 };
    assert_eq!(octets_per_second(line, 9600), 960);
    assert_eq!(occupied(line, 14 + 1500), 1508);
    assert_eq!(octets_per_second(Framing::Aal5, 155_520_000), 19_440_000);
}

fn the_table_has_an_entry_for_each_length() {
    let direction = Direction::new(BitRate::from_megabits_per_second(10), Span::ZERO);
    let table = table(&direction).unwrap();
    let base = find(table.bytes(), 1).unwrap();
    assert_eq!((base.len(), &base[20..]), (24, &1519u32.to_ne_bytes()[..]));
    let data = find(table.bytes(), 2).unwrap();
    assert_eq!(data.len(), 2 * 1519);
    assert_eq!([0, 60, 1514].map(|length| u16_at(data, 2 * length).unwrap()), [84, 84, 1538]);
    let jumbo = Direction { mtu: Bytes::new(65_535), ..direction };
    assert_eq!(find(self::table(&jumbo).unwrap().bytes(), 2).unwrap().len(), 2 * 16_384);
}
