//! The rating by the rule of the 1995 paper (sections 5, Table 5 and A17, as recomputed from its
//! raw rows).
//!
//! For a message size s and a load l, d(l, s) is the geometric mean over the components of their
//! seconds. Duration(s) is the mean of d over the loads, BTU(s) the volume over it, and the rating
//! a mean of BTU(s) over the sizes. The paper's own machines followed two different means over the
//! loads (geometric for the SPARC 10 and the PC, arithmetic for the DEC and the SGI), and the rank
//! of the first two depends on it; both are shown.

use btu_stats::{Means, arithmetic_mean, geometric_mean};
use btu_units::Bytes;
use serde::Serialize;

use btu_contract::load::Load;

use super::cells::Cells;
use super::context::Context;
use super::row::Row;

/// The rating by the paper's rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Btu95 {
    /// The volume of each component.
    #[serde(rename = "volume_bytes")]
    pub volume: Bytes,
    /// The duration and the BTU of each message size.
    pub per_size: Vec<Btu95Size>,
    /// Means over the sizes, with the geometric mean over loads.
    pub geometric_over_loads_bits_per_second: Means,
    /// Means over the sizes, with the arithmetic mean over loads.
    pub arithmetic_over_loads_bits_per_second: Means,
}

/// Duration and BTU of one message size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Btu95Size {
    /// The message size of this row.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Geometric mean over loads of the components' geometric mean.
    pub geometric_duration_seconds: f64,
    /// Arithmetic mean over loads of the components' geometric mean.
    pub arithmetic_duration_seconds: f64,
    /// Volume over the geometric duration.
    pub geometric_btu_bits_per_second: f64,
    /// Volume over the arithmetic duration.
    pub arithmetic_btu_bits_per_second: f64,
}

/// Applies the rule; `None` when the volume was not fixed or a cell is missing.
pub(super) fn btu95(cells: &Cells, context: &Context) -> Option<Btu95> {
    let volume = context.plan.volume?;
    let per_size: Vec<Btu95Size> = context
        .messages()
        .map(|message| size(cells, context, message, volume))
        .collect::<Option<_>>()?;
    let means =
        |btu: fn(&Btu95Size) -> f64| Means::of(&per_size.iter().map(btu).collect::<Vec<_>>());
    Some(Btu95 {
        volume,
        geometric_over_loads_bits_per_second: means(|size| size.geometric_btu_bits_per_second)?,
        arithmetic_over_loads_bits_per_second: means(|size| size.arithmetic_btu_bits_per_second)?,
        per_size,
    })
}

fn size(cells: &Cells, context: &Context, message: Bytes, volume: Bytes) -> Option<Btu95Size> {
    let durations: Vec<f64> = context
        .host_loads()
        .map(|load| duration(cells, context, message, load))
        .collect::<Option<_>>()?;
    let (geometric, arithmetic) = (geometric_mean(&durations)?, arithmetic_mean(&durations)?);
    Some(Btu95Size {
        message,
        geometric_duration_seconds: geometric,
        arithmetic_duration_seconds: arithmetic,
        geometric_btu_bits_per_second: volume.bits() / geometric,
        arithmetic_btu_bits_per_second: volume.bits() / arithmetic,
    })
}

/// d(l, s): the geometric mean over the components of the geometric mean of their repetitions.
fn duration(cells: &Cells, context: &Context, message: Bytes, load: Load) -> Option<f64> {
    let seconds = |component| {
        let repetitions: Vec<f64> = cells
            .network(Row::Network { component, message, load })
            .map(|network| network.duration.seconds())
            .collect();
        geometric_mean(&repetitions)
    };
    geometric_mean(&context.rated().map(seconds).collect::<Option<Vec<f64>>>()?)
}
