//! The factors that the paper puts in an order, by three measures.

use super::sensitivity::{self, Comparison};
use super::variance::{self, Division};
use btu_stats::{arithmetic_mean, median};

/// One factor over the range that a table tries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Factor {
    /// The changed part, with its levels.
    pub(super) name: &'static str,
    /// The tables that try it.
    pub(super) table: &'static str,
    /// By the paper's definition; `None` where levels have no scale.
    pub(super) sensitivity: Option<Bounds>,
    /// By ln(rate) over ln(part); `None` where levels have no scale.
    pub(super) elasticity: Option<Bounds>,
    /// Variance of ln(rate) that the factor makes over this range, the mean over its tables.
    pub(super) variance: f64,
    /// Its share of the sum over all factors, as if their tables were one experiment without
    /// interactions.
    pub(super) share: f64,
}

/// The middle and the ends of some comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// The median of the comparisons.
    pub(super) median: f64,
    /// The smallest of the comparisons.
    pub(super) low: f64,
    /// The largest of the comparisons.
    pub(super) high: f64,
}

/// The places of a factor's comparisons and tables.
struct FactorSource {
    name: &'static str,
    table: &'static str,
    /// The comparisons of parts that begin with this text.
    parts: &'static [&'static str],
    /// The factor of the analyses of variance, and the part of the table if not all of it counts.
    factor: &'static str,
    part: Option<&'static str>,
}

pub(super) const WORKSTATION: &str = sensitivity::WORKSTATION;
pub(super) const HOST: &str = sensitivity::HOST;
pub(super) const LEVEL: &str = "protocol level, pipelined to structured";
pub(super) const TRANSPORT: &str = "transport, IKP, PUP or Internet";
pub(super) const NETWORK: &str = "network, 56 kb/s to 10 Mb/s";
pub(super) const SERIAL: &str = "line, 1.2 to 9.6 kb/s";
pub(super) const ABOVE_SERIAL: &str = sensitivity::LINE_TO_ETHERNET;

const SOURCES: [FactorSource; 7] = [
    FactorSource {
        name: WORKSTATION,
        table: "4-1",
        parts: &[WORKSTATION],
        factor: variance::WORKSTATION,
        part: None,
    },
    FactorSource { name: HOST, table: "4-2", parts: &[HOST], factor: variance::HOST, part: None },
    FactorSource {
        name: LEVEL,
        table: "5-1",
        parts: &[],
        factor: variance::LEVEL,
        part: Some(variance::WITHOUT_STOP_AND_WAIT),
    },
    FactorSource {
        name: TRANSPORT,
        table: "4-2",
        parts: &[],
        factor: variance::TRANSPORT,
        part: None,
    },
    FactorSource {
        name: NETWORK,
        table: "8-1",
        parts: &["network"],
        factor: variance::NETWORK,
        part: None,
    },
    FactorSource {
        name: SERIAL,
        table: "8-2",
        parts: &["line, 1.2", "line, 2.4", "line, 4.8"],
        factor: variance::LINE,
        part: Some(variance::SERIAL),
    },
    FactorSource {
        name: ABOVE_SERIAL,
        table: "8-2",
        parts: &[ABOVE_SERIAL],
        factor: variance::LINE,
        part: Some(variance::ABOVE_SERIAL),
    },
];

/// All factors, in the paper's order of importance.
pub(super) fn all() -> Vec<Factor> {
    let (sensitivities, divisions) = (sensitivity::all(), variance::all());
    let mut factors: Vec<Factor> =
        SOURCES.iter().map(|source| source.gather(&sensitivities, &divisions)).collect();
    let sum: f64 = factors.iter().map(|factor| factor.variance).sum();
    for factor in &mut factors {
        factor.share = factor.variance / sum;
    }
    factors
}

impl FactorSource {
    fn gather(&self, sensitivities: &[Comparison], divisions: &[Division]) -> Factor {
        let own = || {
            sensitivities
                .iter()
                .filter(|one| self.parts.iter().any(|part| one.part.starts_with(part)))
        };
        let variances: Vec<f64> =
            divisions.iter().filter_map(|division| self.variance_in(division)).collect();
        Factor {
            name: self.name,
            table: self.table,
            sensitivity: Bounds::of(&own().map(|one| one.sensitivity).collect::<Vec<_>>()),
            elasticity: Bounds::of(&own().map(|one| one.elasticity).collect::<Vec<_>>()),
            variance: arithmetic_mean(&variances)
                .unwrap_or_else(|| panic!("no table varies {}", self.name)),
            share: 0.0,
        }
    }

    fn variance_in(&self, division: &Division) -> Option<f64> {
        let wanted =
            division.table == self.table && self.part.is_none_or(|part| part == division.part);
        let share = match self.factor {
            factor if factor == division.row_factor => division.row_share,
            factor if factor == division.column_factor => division.column_share,
            _ => return None,
        };
        wanted.then_some(share * division.variance)
    }
}

impl Bounds {
    fn of(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { median: median(values)?, low, high })
    }
}
