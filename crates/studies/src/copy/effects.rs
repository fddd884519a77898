//! The parts of copies' times: a fixed part and a rate, a chain of three factors, storage against
//! program.

use btu_stats::{Estimate, Level, Line, LogSample, mean_ratio};
use btu_units::Bytes;
use serde::Serialize;

use super::verdict::{CopyRow, seconds};
use super::{Background, Cache, Chain, CopyCell, CopyPlan, Direction, Program, Storage, TwoByTwo};
use crate::limits::PathLimits;
use btu_contract::experiment::{Measured, SEGMENT, Scripts};

/// The size that the report extrapolated to.
const LARGE: Bytes = Bytes::new(100_000_000);

/// T = fixed + S / rate for one program, storage and background, by least squares of relative
/// errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// The program that copies the files.
    pub program: Program,
    /// The end that connects to the other.
    pub direction: Direction,
    /// The storage of the files.
    pub storage: Storage,
    /// The background traffic during the copies.
    #[serde(rename = "background_thousandths")]
    pub background: Background,
    /// The time of an empty file, in seconds (95 %).
    pub fixed_seconds: Estimate,
    /// The rate of a file after its start.
    pub bits_per_second: f64,
    /// Octets in flight at that rate, if they are a segment at least: the rate times the round trip.
    /// It is the window of a program if it or its peer waits for answers.
    pub window_bytes: Option<f64>,
    /// The furthest that a copy is from the line, as a share of its time.
    pub worst: f64,
    /// The time of 100 MB by this line, in seconds.
    pub large_seconds: f64,
    /// Whether no file of that size was copied: the line is drawn beyond what was measured.
    pub is_extrapolated: bool,
}

/// All that there are sizes enough for: three of them.
pub(super) fn fits(plan: &CopyPlan, cells: &[Measured<CopyCell>], round_trip: f64) -> Vec<Fit> {
    let mut fits = Vec::new();
    let Some(&largest) = plan.sizes.iter().max() else { return fits };
    // Cells that differ only in size belong together; only the default settings have several sizes.
    for cell in plan.cells().into_iter().filter(|cell| cell.size == largest) {
        let own =
            cells.iter().filter(|measured| CopyCell { size: largest, ..measured.cell } == cell);
        let point = |measured| Some((measured_size(measured), seconds(measured)?));
        let points: Vec<(f64, f64)> = own.filter_map(point).collect();
        let CopyCell { program, direction, storage, background, .. } = cell;
        let window = |fit: &Fit| {
            let window = fit.bits_per_second / 8.0 * round_trip;
            // What waits for answers has a segment in flight at least.
            (window >= SEGMENT as f64 && !program.is_on_one_host()).then_some(window)
        };
        fits.extend(fit(&points).map(|fit| Fit {
            program,
            direction,
            storage,
            background,
            window_bytes: window(&fit),
            ..fit
        }));
    }
    fits
}

fn measured_size(measured: &Measured<CopyCell>) -> f64 {
    measured.cell.size.count() as f64
}

/// The line through points (bytes, seconds); `None` below three sizes, which a check of a line
/// needs.
fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let mut sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let line = Line::relative(points).filter(|line| sizes.len() >= 3 && line.slope > 0.0)?;
    let large = LARGE.count() as f64;
    Some(Fit {
        program: Program::Local,
        direction: Direction::Put,
        storage: Storage::Disk,
        background: Background::QUIET,
        fixed_seconds: line.intercept(Level::P95),
        bits_per_second: 8.0 / line.slope,
        window_bytes: None,
        worst: line.worst,
        large_seconds: line.at(large),
        is_extrapolated: sizes.last().is_none_or(|most| *most < large),
    })
}

/// The chain of one cell; each factor divides by what the one before it reached, so that their
/// product is exact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CopyChain {
    /// Program, size, storage and background.
    #[serde(flatten)]
    pub cell: CopyCell,
    /// The factors of the chain.
    #[serde(flatten)]
    pub chain: Chain,
    /// Contention once more, as a ratio of geometric means with its interval (95 %): the chain is
    /// of medians.
    pub contention_mean: Option<Estimate>,
}

/// The chains of all remote copies for which there is a local one, a quiet one and a line.
pub(super) fn chains(
    rows: &[CopyRow],
    cells: &[Measured<CopyCell>],
    wire: PathLimits,
) -> Vec<CopyChain> {
    let median = |cell: CopyCell| rows.iter().find(|row| row.cell == cell)?.median();
    let remote = rows.iter().filter(|row| !row.cell.program.is_on_one_host());
    remote
        .filter_map(|row| {
            let cell = row.cell;
            let quiet = CopyCell { background: Background::QUIET, ..cell };
            let (raw, line) = wire.seconds(cell.size)?;
            let local =
                median(CopyCell { program: Program::Local, direction: Direction::Put, ..quiet })?;
            let chain = Chain::of(raw, line, local, median(quiet)?, row.median()?)?;
            Some(CopyChain { cell, chain, contention_mean: contention(cells, cell, quiet) })
        })
        .collect()
}

/// The times of a cell over those of its quiet one.
fn contention(cells: &[Measured<CopyCell>], cell: CopyCell, quiet: CopyCell) -> Option<Estimate> {
    let of = |cell: CopyCell| {
        let own: Vec<f64> =
            cells.iter().filter(|one| one.cell == cell).filter_map(seconds).collect();
        LogSample::of(&own)
    };
    if cell == quiet { None } else { mean_ratio(&[(of(cell)?, of(quiet)?)], Level::P95) }
}

/// Program and storage: whether their costs multiply.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StorageEffect {
    /// The program that is compared with the bare connection.
    pub program: Program,
    /// Which end connects, of both.
    pub direction: Direction,
    /// Of the largest file.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The four times that are compared.
    #[serde(flatten)]
    pub times: TwoByTwo,
    /// The cost of disks without a program, the cost of the program without disks, and the error of
    /// their product: ratios.
    pub disk_effect: f64,
    /// The cost of the program without disks, as a ratio of times.
    pub program_effect: f64,
    /// The error of the product of both effects, as a ratio.
    pub interaction: f64,
    /// The interaction is more than a tenth in ln: stages overlap, or get into each other's way.
    pub stages_interact: bool,
}

/// Of every program that was measured as the bare connection was, on disk and in memory, on the
/// quiet network.
pub(super) fn storage_effects(plan: &CopyPlan, rows: &[CopyRow]) -> Vec<StorageEffect> {
    let Some(&size) = plan.sizes.iter().max() else { return Vec::new() };
    let Some(&cache) = plan.caches.first() else { return Vec::new() };
    let median = |program, direction, storage| {
        let cache = if storage == Storage::Disk { cache } else { Cache::Cold };
        let cell =
            CopyCell { program, size, direction, storage, cache, background: Background::QUIET };
        rows.iter().find(|row| row.cell == cell)?.median()
    };
    let remote = plan
        .programs
        .iter()
        .filter(|program| !program.is_on_one_host() && **program != Program::Bare);
    let both = remote
        .flat_map(|&program| plan.directions.iter().map(move |&direction| (program, direction)));
    both.filter_map(|(program, direction)| {
        let times = TwoByTwo {
            bare_memory: median(Program::Bare, direction, Storage::Memory)?,
            bare_disk: median(Program::Bare, direction, Storage::Disk)?,
            program_memory: median(program, direction, Storage::Memory)?,
            program_disk: median(program, direction, Storage::Disk)?,
        };
        Some(StorageEffect {
            program,
            direction,
            size,
            times,
            disk_effect: times.disk_effect(),
            program_effect: times.program_effect(),
            interaction: times.interaction(),
            stages_interact: times.stages_interact(),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_and_what_lies_beyond_is_marked() {
        let point = |megabytes: f64| (megabytes * 1e6, 0.05 + megabytes * 0.8);
        let found = fit(&[point(1.0), point(2.0), point(5.0)]).unwrap();
        assert!((found.fixed_seconds.value - 0.05).abs() < 1e-9, "{found:?}");
        assert!((found.bits_per_second / 1e7 - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.large_seconds - 80.05).abs() < 1e-6 && found.is_extrapolated, "{found:?}");
        assert!(!fit(&[point(1.0), point(10.0), point(100.0)]).unwrap().is_extrapolated);
        assert_eq!(
            fit(&[point(1.0), point(1.0), point(2.0), point(2.0)]),
            None,
            "any two points have a line"
        );
    }
}
