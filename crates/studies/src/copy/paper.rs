//! The copies that the CITI report of 1989 printed, next to those measured here.

use btu_units::Bytes;
use serde::Serialize;

use super::CopyChain;

/// A range of ratios of the report, and the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperRow {
    /// The name of the ratio.
    pub what: &'static str,
    /// Its place there.
    pub source: &'static str,
    /// The least and the most there.
    pub printed: (f64, f64),
    /// The least and the most here; `None` without a comparable measurement.
    pub found: Option<(f64, f64)>,
}

/// Computes a row's ratio from a chain, if that chain is of its kind.
type Ratio = fn(&CopyChain) -> Option<f64>;

/// The load of the report's near saturation, and the one that it found without effect.
const SATURATED: f64 = 0.95;
const LOADED: std::ops::RangeInclusive<f64> = 0.6..=0.65;

/// The printed values of sections 3.1 to 3.3.
const PRINTED: [(&str, &str, (f64, f64), Ratio); 6] = [
    ("hardware: local copy over raw Ethernet", "section 3.3", (4.0, 8.0), |one| {
        Some(one.chain.local_over_raw)
    }),
    ("software: program over what hardware allows, quiet", "section 3.3", (1.0, 2.5), |one| {
        quiet(one).then_some(one.chain.software.ratio)
    }),
    ("all, quiet: program over raw Ethernet", "figure 2", (7.5, 18.75), |one| {
        quiet(one).then(|| one.chain.ratio())
    }),
    ("contention at 60 to 65 %", "section 3.2", (1.0, 1.0), |one| {
        LOADED.contains(&one.cell.background.share()).then_some(one.chain.contention.ratio)
    }),
    ("contention at 98 %", "section 3.3 and figure 4", (3.4, 4.5), |one| {
        saturated(one).then_some(one.chain.contention.ratio)
    }),
    (
        "all, at 98 %: program over raw Ethernet",
        "figure 4, extrapolated to 100 MB there",
        (34.0, 63.0),
        |one| saturated(one).then(|| one.chain.ratio()),
    ),
];

fn quiet(one: &CopyChain) -> bool {
    one.cell.background.is_quiet()
}

fn saturated(one: &CopyChain) -> bool {
    one.cell.background.share() >= SATURATED
}

/// A time that the report gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperTime {
    /// The copy, and its background.
    pub what: &'static str,
    /// Of how large a file.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// In seconds, least and most where it names a range.
    pub seconds: (f64, f64),
    /// Its place there.
    pub source: &'static str,
}

/// All of 100 MB, as read off the figures: raw Ethernet takes 80 s, and ratios are multiples of
/// that.
pub(super) const TIMES: [PaperTime; 5] = [
    time("1989: raw Ethernet", (80.0, 80.0), "figure 2"),
    time("1989: local copies", (320.0, 640.0), "section 3.3 and figure 2"),
    time("1989: rcp, quiet", (600.0, 600.0), "figure 2"),
    time("1989: NFS, quiet", (1500.0, 1500.0), "figure 2"),
    time("1989: all programs, 98 %", (2720.0, 5040.0), "figure 4, extrapolated there"),
];

const fn time(what: &'static str, seconds: (f64, f64), source: &'static str) -> PaperTime {
    PaperTime { what, size: Bytes::new(100_000_000), seconds, source }
}

/// Every range that the report prints, next to the range that was found here.
pub(super) fn compared_with_paper(chains: &[CopyChain]) -> Vec<PaperRow> {
    let row =
        |&(what, source, printed, ratio): &(&'static str, &'static str, (f64, f64), Ratio)| {
            let found =
                chains.iter().filter_map(ratio).fold(None, |range: Option<(f64, f64)>, value| {
                    Some(
                        range.map_or((value, value), |(low, high)| {
                            (low.min(value), high.max(value))
                        }),
                    )
                });
            PaperRow { what, source, printed, found }
        };
    PRINTED.iter().map(row).collect()
}
