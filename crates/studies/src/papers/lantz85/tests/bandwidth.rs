//! Table 8-2: the ceilings of slow lines.

use super::super::{LINES, over_lines};
use super::ITEM_BYTES;

/// The items of the structured picture's drawing: 30 inverters of 26 rectangles (section 3.1.1).
const RECTANGLES: f64 = 780.0;

/// The ceiling of one line, and the measured rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ceiling {
    /// The rate of the line, in bits per second.
    pub(super) bits_per_second: f64,
    /// Items that fit: the rate over 8 bits times 20 bytes.
    pub(super) items_per_second: f64,
    /// With start and stop bits on the line (10 bits to the byte): below the measured rate, so the
    /// line had none.
    pub(super) with_start_stop_items_per_second: f64,
    /// The measured rate of construction, in items per second.
    pub(super) construction_items_per_second: f64,
    /// Its share of the ceiling.
    pub(super) construction_share: f64,
    /// The measured rate in batches, in items per second.
    pub(super) batch_items_per_second: f64,
    /// Its share of the ceiling.
    pub(super) batch_share: f64,
}

/// A line through 780 / rate over 8 / line rate: T = T0 + 8 B / rate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StructureTransfer {
    /// Seconds for the whole picture, by the line's rate in bits per second: (rate, seconds).
    pub(super) seconds: Vec<(f64, f64)>,
    /// B: bytes moved, by least squares over the four serial lines.
    pub(super) bytes: f64,
    /// T0: the time that does not depend on the line, by the same fit.
    pub(super) fixed_seconds: f64,
    /// Smallest and largest B between two neighbouring lines.
    pub(super) bytes_between_neighbours: (f64, f64),
}

/// The serial lines' ceilings; the Ethernet's is out of reach.
pub(super) fn ceilings() -> Vec<Ceiling> {
    let [construction, batch] = ["10,750,construction", "10,750,batch"].map(over_lines);
    let serial = construction.into_iter().zip(batch).take(LINES.len() - 1);
    serial.map(|((rate, construction), (_, batch))| ceiling(rate, construction, batch)).collect()
}

fn ceiling(bits_per_second: f64, construction: f64, batch: f64) -> Ceiling {
    let items_per_second = bits_per_second / (8.0 * ITEM_BYTES);
    Ceiling {
        bits_per_second,
        items_per_second,
        with_start_stop_items_per_second: bits_per_second / (10.0 * ITEM_BYTES),
        construction_items_per_second: construction,
        construction_share: construction / items_per_second,
        batch_items_per_second: batch,
        batch_share: batch / items_per_second,
    }
}

/// The volume of the structured picture.
pub(super) fn structure() -> StructureTransfer {
    let seconds: Vec<(f64, f64)> = over_lines("10,750,structure")
        .into_iter()
        .map(|(rate, items)| (rate, RECTANGLES / items))
        .collect();
    let serial: Vec<(f64, f64)> =
        seconds[..LINES.len() - 1].iter().map(|&(rate, seconds)| (8.0 / rate, seconds)).collect();
    let (bytes, fixed_seconds) = least_squares(&serial);
    let neighbours =
        serial.windows(2).map(|pair| (pair[0].1 - pair[1].1) / (pair[0].0 - pair[1].0));
    let bytes_between_neighbours = neighbours
        .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), bytes| {
            (low.min(bytes), high.max(bytes))
        });
    StructureTransfer { seconds, bytes, fixed_seconds, bytes_between_neighbours }
}

/// Slope and intercept of the line through `points` (x, y).
fn least_squares(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = products / squares;
    (slope, y - slope * x)
}
