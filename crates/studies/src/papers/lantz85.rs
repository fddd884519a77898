//! Lantz, Nowicki and Theimer (1985): the limits of a distributed application, from their own
//! tables.
//!
//! The authors round to two significant digits and ask for their numbers to be taken as orders of
//! magnitude; tables were measured with different versions of the software. The recomputations
//! therefore use only ratios within one table.

mod bandwidth;
mod claims;
mod conclusions;
mod data;
mod factors;
mod repeated;
mod sensitivity;
mod tables;
#[cfg(test)]
mod tests;
mod variance;
mod workload;

use serde::Serialize;

use super::{Claim, ReferencePoint};

pub use bandwidth::{Ceiling, StructureTransfer};
pub use conclusions::{Conclusion, Judgement};
pub use factors::{Bounds, Factor};
pub use repeated::Repeated;
pub use sensitivity::Sensitivity;
pub use tables::{PrintedCell, PrintedRow, PrintedTable};
pub use variance::Division;
pub use workload::Workload;

/// Bytes that adding one item takes on the network (section 8).
pub(super) const ITEM_BYTES: f64 = 20.0;

/// Everything about the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lantz85History {
    /// Every table of rates and sizes, as printed.
    pub tables: Vec<PrintedTable>,
    /// The vector benchmark's picture, drawn again.
    pub workload: Workload,
    /// The effect of a faster part.
    pub sensitivities: Vec<Sensitivity>,
    /// Tables of two factors, with the share of each in the variance of ln(rate).
    pub variances: Vec<Division>,
    /// The factors that the paper puts in an order, by three measures.
    pub factors: Vec<Factor>,
    /// The paper's conclusions about that order, judged by each measure.
    pub conclusions: Vec<Conclusion>,
    /// The ceilings of Table 8-2's slow lines, and the measured rates.
    pub ceilings: Vec<Ceiling>,
    /// The bytes that the structured picture moves over these lines.
    pub structure: StructureTransfer,
    /// Configurations that have different rates in different tables.
    pub repeated: Vec<Repeated>,
    /// The text's statements, compared with the tables.
    pub claims: Vec<Claim>,
}

/// Recomputes all comparisons from the paper's tables.
pub fn history() -> Lantz85History {
    let tables = tables::read();
    let (sensitivities, variances) = (sensitivity::all(&tables), variance::all(&tables));
    let factors = factors::all(&sensitivities, &variances);
    Lantz85History {
        workload: workload::draw(),
        conclusions: conclusions::all(&tables, &sensitivities, &factors),
        factors,
        variances,
        sensitivities,
        ceilings: bandwidth::ceilings(&tables),
        structure: bandwidth::structure(&tables),
        repeated: repeated::find(&tables),
        claims: claims::all(&tables),
        tables,
    }
}

/// Every table as printed.
pub fn tables() -> Vec<PrintedTable> {
    tables::read()
}

/// Table 8-2 as curves over the line's rate.
pub(super) fn reference_points() -> Vec<ReferencePoint> {
    let tables = tables::read();
    let curves = [
        ("items added (construction)", "10,750,construction"),
        ("items added and shown (batch)", "10,750,batch"),
        ("items of a structured picture", "10,750,structure"),
    ];
    let point = |label, (rate, items): (f64, f64)| ReferencePoint {
        label,
        x: Some(rate),
        x_unit: "bits/s",
        y: items,
        unit: "items/s",
        source: "table 8-2",
    };
    let of = |(label, row)| {
        bandwidth::line(&tables, row).into_iter().map(move |pair| point(label, pair))
    };
    curves.into_iter().flat_map(of).collect()
}
