//! Warnings about copies, in addition to those of every study.

use super::{CopyCell, CopyRow, Mode};
use btu_contract::experiment::{Measured, Warning, warnings};

/// Alone, the background may be so far from what was asked, as a share of time.
const OFF: f64 = 0.02;

pub(super) fn copy_warnings(
    rows: &[CopyRow],
    cells: &[Measured<CopyCell>],
    mode: Mode,
) -> Vec<Warning> {
    // Saturation has no level, and a cell with a missed level does not count.
    let off = if mode == Mode::Offered { off(rows) } else { None };
    warnings(cells).into_iter().chain(scattered(rows)).chain(off).collect()
}

/// The report saw times within a fifth of their mean, near saturation too.
fn scattered(rows: &[CopyRow]) -> Option<Warning> {
    let mut far =
        rows.iter().filter_map(|row| Some((row, row.seconds.filter(|summary| summary.scattered)?)));
    let (first, summary) = far.next()?;
    let range = summary.relative_range * 100.0;
    Some(Warning {
        cause: "scattered times",
        observed: format!(
            "{} of {} cells; of {} the longest and the shortest are {range:.0} % of the mean apart",
            far.count() + 1,
            rows.len(),
            first.cell
        ),
        advice: "nothing is left out: more blocks (--profile standard) make the medians more certain",
    })
}

/// The requested level did not exist before the copy.
fn off(rows: &[CopyRow]) -> Option<Warning> {
    let distance = |row: &CopyRow| {
        let alone = row.background_use?.arrived.alone;
        Some((alone - row.cell.background.share()).abs()).filter(|distance| *distance > OFF)
    };
    let mut off = rows.iter().filter(|row| distance(row).is_some());
    let first = off.next()?;
    let alone = first.background_use?.arrived.alone * 100.0;
    Some(Warning {
        cause: "background not as asked",
        observed: format!(
            "in {} of {} cells; of {} it took {alone:.1} % of the time before the copy",
            off.count() + 1,
            rows.len(),
            first.cell
        ),
        advice: "the network does not carry that much: the table of the background shows what it carried",
    })
}
