//! `NetPIPE` (1996): message size against time for TCP and MPI over Ethernet, ATM and FDDI.
//!
//! The paper prints no tables. A few points of each curve were read off the vector graphics of its
//! figures: the first (latency), the maximum, the last, and a handful between. Its "Mbps" are of
//! 2^20 bits, which its own last Ethernet point shows; points for new pictures are in bits per
//! second.

#[cfg(test)]
mod tests;

use super::{PrintedCell, PrintedRow, PrintedTable, ReferencePoint};

/// A point as it was read off: figure, curve, kind, bytes, seconds, and the rate in 2^20 bits per
/// second. For streams the time is that of one send.
type Read = (f64, &'static str, &'static str, Option<f64>, Option<f64>, Option<f64>);

/// The points that were read off figures 2, 4, 5, 7, 8, 9 and 11.
#[rustfmt::skip]
static POINTS: [Read; 36] = [
    (2.0, "TCP over Ethernet", "first", Some(1.0), Some(733.9e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(16.0), Some(746e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(63.0), Some(803e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(127.0), Some(866e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(511.0), Some(1207e-6), None),
    (5.0, "TCP over Ethernet", "further", Some(1000.0), Some(1644e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(1024.0), Some(1664e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(4096.0), Some(4433e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(8192.0), Some(8139e-6), None),
    (2.0, "TCP over Ethernet", "maximum", Some(11_585.0), Some(11.22e-3), Some(7.87)),
    (2.0, "TCP over Ethernet", "further", Some(16_384.0), Some(16559e-6), None),
    (2.0, "TCP over Ethernet", "further", Some(65_536.0), Some(77940e-6), None),
    (2.0, "TCP over Ethernet", "last", Some(1_048_576.0), Some(1.2273), Some(6.52)),
    (4.0, "TCP over ATM", "first", Some(1.0), Some(840.6e-6), None),
    (5.0, "TCP over ATM", "further", Some(1000.0), Some(1100e-6), None),
    (4.0, "TCP over ATM", "last", Some(8_388_608.0), Some(1.2732), None),
    (4.0, "TCP over ATM", "maximum", None, None, Some(50.28)),
    (4.0, "TCP over FDDI", "first", Some(1.0), Some(737.9e-6), None),
    (5.0, "TCP over FDDI", "further", Some(1000.0), Some(1109e-6), None),
    (4.0, "TCP over FDDI", "last", Some(12_582_912.0), Some(1.388), Some(69.16)),
    (4.0, "TCP over FDDI", "maximum", None, None, Some(69.24)),
    (7.0, "TCP streams over Ethernet", "first", Some(1.0), Some(343e-6), None),
    (7.0, "TCP streams over Ethernet", "maximum", None, None, Some(7.39)),
    (7.0, "TCP streams over Ethernet", "last", None, None, Some(6.68)),
    (7.0, "TCP streams over ATM", "first", Some(1.0), Some(231e-6), None),
    (7.0, "TCP streams over ATM", "maximum", None, None, Some(64.07)),
    (7.0, "TCP streams over ATM", "last", None, None, Some(55.64)),
    (7.0, "TCP streams over FDDI", "first", Some(1.0), Some(186e-6), None),
    (7.0, "TCP streams over FDDI", "maximum", None, None, Some(82.13)),
    (7.0, "TCP streams over FDDI", "last", None, None, Some(80.78)),
    (8.0, "MPI over ATM", "first", Some(1.0), Some(1501.3e-6), None),
    (8.0, "MPI over ATM", "maximum", None, None, Some(39.71)),
    (8.0, "MPI over ATM", "last", None, Some(1.143), Some(39.58)),
    (9.0, "unaligned TCP over ATM", "maximum", None, None, Some(51.05)),
    (11.0, "TCP over FDDI (DEC)", "first", Some(1.0), Some(545.1e-6), None),
    (11.0, "TCP over FDDI (DEC)", "maximum", None, None, Some(45.68)),
];

/// The columns of a curve's points.
const COLUMNS: [&str; 4] = ["figure", "bytes", "seconds", "2^20 bits/s"];

/// Bits in the figures' "megabit".
const MEBIBIT: f64 = 1_048_576.0;

/// The points of each curve as they were read off.
pub(super) fn tables() -> Vec<PrintedTable> {
    curves().map(table).collect()
}

fn curves() -> impl Iterator<Item = &'static [Read]> {
    POINTS.chunk_by(|one, next| one.1 == next.1)
}

fn table(curve: &[Read]) -> PrintedTable {
    let row = |&(figure, _, kind, bytes, seconds, rate): &Read| {
        let values = COLUMNS.into_iter().zip([Some(figure), bytes, seconds, rate]);
        let cell = |(column, value): (_, Option<f64>)| Some(PrintedCell { column, value: value? });
        PrintedRow { name: kind, unit: "", cells: values.filter_map(cell).collect() }
    };
    PrintedTable {
        lines: curve.iter().map(row).collect(),
        ..PrintedTable::new("Curve", curve[0].1, &COLUMNS)
    }
}

/// Times by size, then rates by size and as levels.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    curves().flat_map(|curve| [times(curve), rates(curve)].concat()).collect()
}

fn times(curve: &[Read]) -> Vec<ReferencePoint> {
    let timed = curve.iter().filter(|point| point.3.is_some());
    timed.filter_map(|point| Some(reference(point, point.4?, "seconds"))).collect()
}

fn rates(curve: &[Read]) -> Vec<ReferencePoint> {
    let sized = curve.iter().filter(|point| point.3.is_some());
    let level = curve.iter().filter(|point| point.3.is_none() && point.2 == "maximum");
    let rated = sized.chain(level);
    rated.filter_map(|point| Some(reference(point, rate(point)?, "bits/s"))).collect()
}

/// The rate as the figure has it, else size over time, in bits per second.
fn rate(&(_, _, _, bytes, seconds, drawn): &Read) -> Option<f64> {
    let computed = bytes.zip(seconds).map(|(bytes, seconds)| bytes * 8.0 / seconds);
    drawn.map(|rate| rate * MEBIBIT).or(computed)
}

fn reference(point: &Read, y: f64, unit: &'static str) -> ReferencePoint {
    let x = point.3;
    let source = if x.is_some() { "read off the figures" } else { "maximum, read off the figures" };
    ReferencePoint { label: point.1, x, x_unit: "bytes", y, unit, source }
}
