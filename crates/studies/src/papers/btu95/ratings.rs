//! The rating by each rule that was in use.

use btu_stats::{Bootstrap, Interval, Means};
use serde::Serialize;

use super::means::{Half, MeanKind, three};
use super::rows::{self, Activity, Machine, SIZES};

/// The volume of each component: 4 MB, in Mb.
const VOLUME_MEGABITS: f64 = 32.0;

/// The source of the durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowSource {
    /// The geometric means as printed, misprints included.
    PrintedMeans,
    /// The durations come from the raw rows.
    RawRows,
}

/// The kind of mean over the three loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverLoads {
    /// Geometric: the paper's mean for the SPARC 10 and the PC.
    Geometric,
    /// Arithmetic: the paper's mean for the DEC and the SGI.
    Arithmetic,
}

/// The rating of a machine by one rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rating95 {
    /// The source of the durations.
    pub rows: RowSource,
    /// The kind of mean over the loads.
    pub over_loads: OverLoads,
    /// BTU of each message size, rounded to two decimals as the paper did.
    pub per_size_megabits_per_second: [f64; 5],
    /// Means over the sizes.
    pub megabits_per_second: Means,
    /// The range of the geometric mean with other components: 95 %, bootstrap over the six
    /// components within each load and size, for raw rows with geometric means throughout. Nothing
    /// was repeated in 1995, so this is no measurement error, but it shows which differences
    /// between two machines are significant.
    pub over_components: Option<Interval>,
}

/// The ratings of a machine by every rule.
pub(super) fn all(machine: Machine) -> Vec<Rating95> {
    let sources = [RowSource::PrintedMeans, RowSource::RawRows];
    let rules = sources.into_iter().flat_map(|source| {
        [OverLoads::Geometric, OverLoads::Arithmetic].map(|over_loads| (source, over_loads))
    });
    rules.map(|(source, over_loads)| rate(machine, source, over_loads)).collect()
}

/// BTU of each message size in Mb/s, rounded to two decimals.
pub(super) fn per_size(machine: Machine, source: RowSource, over_loads: OverLoads) -> [f64; 5] {
    SIZES.map(|size| {
        let durations =
            three(&Activity::ALL.map(|activity| duration(machine, source, activity, size)));
        let duration = match over_loads {
            OverLoads::Geometric => durations.geometric,
            OverLoads::Arithmetic => durations.arithmetic,
        };
        (VOLUME_MEGABITS / duration * 100.0).round() / 100.0
    })
}

fn rate(machine: Machine, source: RowSource, over_loads: OverLoads) -> Rating95 {
    let per_size = per_size(machine, source, over_loads);
    let is_geometric_throughout =
        (source, over_loads) == (RowSource::RawRows, OverLoads::Geometric);
    Rating95 {
        rows: source,
        over_loads,
        per_size_megabits_per_second: per_size,
        megabits_per_second: three(&per_size),
        over_components: is_geometric_throughout.then(|| over_components(machine)).flatten(),
    }
}

fn duration(machine: Machine, source: RowSource, activity: Activity, size: usize) -> f64 {
    match source {
        RowSource::PrintedMeans => {
            rows::printed(machine, activity, Half::Network, MeanKind::Geometric, size)
        }
        RowSource::RawRows => three(&rows::six(machine, activity, Half::Network, size)).geometric,
    }
}

/// Computes [`Rating95::over_components`].
pub(super) fn over_components(machine: Machine) -> Option<Interval> {
    let cells = Activity::ALL.into_iter().flat_map(|activity| SIZES.map(|size| (activity, size)));
    let strata: Vec<Vec<f64>> = cells
        .map(|(activity, size)| {
            rows::six(machine, activity, Half::Network, size)
                .map(|seconds| (VOLUME_MEGABITS / seconds).ln())
                .to_vec()
        })
        .collect();
    let mean = |strata: &[Vec<f64>]| {
        let sums = strata.iter().map(|stratum| stratum.iter().sum::<f64>() / stratum.len() as f64);
        sums.sum::<f64>() / strata.len() as f64
    };
    let bootstrap = Bootstrap { method: btu_stats::Method::Percentile, ..Bootstrap::new(1995) };
    bootstrap.of_strata(&strata, mean)?.interval.map(|interval| interval.map(f64::exp))
}
