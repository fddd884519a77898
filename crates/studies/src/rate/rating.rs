//! The BTU rating: one number over many cells.

use btu_stats::{Estimate, Means};
use btu_units::Bytes;
use serde::Serialize;

use btu_contract::load::Load;
use btu_contract::text::{count, percent};

use super::context::Context;
use super::goodputs::Goodputs;
use super::row::Row;

/// A rating and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rating {
    /// Geometric mean over the rows' geometric means. Its interval comes from the spread of whole blocks, and
    /// takes three of them.
    pub btu_bits_per_second: Estimate,
    /// Arithmetic mean over the same cells.
    pub arithmetic_mean_bits_per_second: f64,
    /// Harmonic mean over the same cells: a user's mean rate when all cells move equal volumes.
    pub harmonic_mean_bits_per_second: f64,
    /// The number of rows with a valid repetition.
    pub cells_used: usize,
    /// Rows that were planned.
    pub cells_planned: usize,
    /// Repetitions in all rows that count.
    pub repetitions_used: usize,
    /// Blocks in which every used row was measured.
    pub complete_blocks: usize,
    /// Blocks that the interval compares: those with at least half of the rows.
    pub blocks_compared: usize,
    /// Planned rows without a single valid repetition; the rating cannot be compared with a
    /// complete one.
    pub missing: Vec<Row>,
    /// The interval is wider than wanted, there is none, or rows are missing.
    pub low_confidence: bool,
}

impl Rating {
    /// Why it has low confidence, in a few words; `None` if it has not.
    pub fn low_confidence_reason(&self) -> Option<String> {
        let reason = match self.btu_bits_per_second.relative_half_width() {
            _ if !self.missing.is_empty() => {
                format!("{} of {} rows missing", self.missing.len(), self.cells_planned)
            }
            Some(half) => format!("known to ±{} only", percent(half)),
            None => {
                let blocks = count(self.blocks_compared as u64, "block");
                format!("{blocks}, and an interval takes three")
            }
        };
        self.low_confidence.then_some(reason)
    }
}

/// The rating under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadRating {
    /// The load of the rating.
    pub load: Load,
    /// Over components and message sizes.
    pub rating: Option<Rating>,
}

/// The rating of one message size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeRating {
    /// The message size of the rating.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Over components and host loads.
    pub rating: Option<Rating>,
    /// The rating over components, without a load.
    pub idle: Option<Rating>,
}

/// Over components, message sizes and host loads.
pub(super) fn loaded(goodputs: &Goodputs, context: &Context) -> Option<Rating> {
    rating(goodputs, context, |_, load| load != Load::Idle)
}

/// The rating over components and message sizes, without a load.
pub(super) fn idle(goodputs: &Goodputs, context: &Context) -> Option<Rating> {
    rating(goodputs, context, |_, load| load == Load::Idle)
}

pub(super) fn per_load(goodputs: &Goodputs, context: &Context) -> Vec<LoadRating> {
    let of = |load| rating(goodputs, context, |_, one| one == load);
    context.loads().map(|load| LoadRating { load, rating: of(load) }).collect()
}

pub(super) fn per_size(goodputs: &Goodputs, context: &Context) -> Vec<SizeRating> {
    let of = |message, is_idle| {
        rating(goodputs, context, |one, load| one == message && (load == Load::Idle) == is_idle)
    };
    let size =
        |message| SizeRating { message, rating: of(message, false), idle: of(message, true) };
    context.messages().map(size).collect()
}

/// The rating over the planned rows of a scope; `None` when none of them was measured.
fn rating(
    goodputs: &Goodputs,
    context: &Context,
    is_in: impl Fn(Bytes, Load) -> bool,
) -> Option<Rating> {
    let planned = context.rated_rows(is_in);
    let cells_planned = planned.len();
    let (used, missing): (Vec<Row>, Vec<Row>) =
        planned.into_iter().partition(|&row| goodputs.has(row));
    let rates = used.iter().filter_map(|&row| Some(goodputs.estimate(row)?.value));
    let means = Means::of(&rates.collect::<Vec<_>>())?;
    let over = goodputs.over(&used)?;
    let wanted = context.plan.profile.wanted_half_width;
    let wide = over.estimate.relative_half_width().is_none_or(|half| half > wanted);
    Some(Rating {
        btu_bits_per_second: over.estimate,
        arithmetic_mean_bits_per_second: means.arithmetic,
        harmonic_mean_bits_per_second: means.harmonic,
        cells_used: used.len(),
        cells_planned,
        repetitions_used: used.iter().map(|&row| goodputs.of_row(row).count()).sum(),
        complete_blocks: goodputs.complete_blocks(&used),
        blocks_compared: over.blocks,
        low_confidence: wide || !missing.is_empty(),
        missing,
    })
}
