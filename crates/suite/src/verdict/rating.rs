//! The BTU rating: one number over many cells.

use btu_stats::{Estimate, Form, LogSample, Means, rate};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::LEVEL;
use super::context::Context;
use super::goodputs::Goodputs;
use super::spreads::Scope;
use crate::cell::{Load, Row};

/// A rating and what it is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Geometric mean over the cells' goodputs, with its interval.
    pub btu_bits_per_second: Estimate,
    /// Whether the interval comes from the spread within cells or between whole blocks: the wider
    /// is taken.
    pub interval_form: Option<Form>,
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
    /// Blocks that the interval between blocks compares: those with at least half of the rows.
    #[serde(default)]
    pub blocks_compared: usize,
    /// Earlier runs of the plan on this machine whose blocks tell how much these vary.
    #[serde(default)]
    pub earlier_runs: u32,
    /// Planned rows without a single valid repetition; the rating cannot be compared with a
    /// complete one.
    pub missing: Vec<Row>,
    /// The interval is wider than wanted, there is none, or rows are missing.
    pub low_confidence: bool,
}

/// The rating under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRating {
    /// The load of the rating.
    pub load: Load,
    /// Over components and message sizes.
    pub rating: Option<Rating>,
}

/// The rating of one message size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    rating(goodputs, context, Scope::LOADED)
}

/// The rating over components and message sizes, without a load.
pub(super) fn idle(goodputs: &Goodputs, context: &Context) -> Option<Rating> {
    rating(goodputs, context, Scope::IDLE)
}

pub(super) fn per_load(goodputs: &Goodputs, context: &Context) -> Vec<LoadRating> {
    let of = |load| rating(goodputs, context, Scope::under(load));
    context.loads().map(|load| LoadRating { load, rating: of(load) }).collect()
}

pub(super) fn per_size(goodputs: &Goodputs, context: &Context) -> Vec<SizeRating> {
    let of = |scope: Scope, message| rating(goodputs, context, scope.at(message));
    let size = |message| SizeRating {
        message,
        rating: of(Scope::LOADED, message),
        idle: of(Scope::IDLE, message),
    };
    context.messages().map(size).collect()
}

/// The rating over the planned rows of `scope`; `None` when none of them was measured.
fn rating(goodputs: &Goodputs, context: &Context, scope: Scope) -> Option<Rating> {
    let planned = scope.rows(context);
    let cells_planned = planned.len();
    let (used, missing): (Vec<Row>, Vec<Row>) =
        planned.into_iter().partition(|&row| goodputs.sample(row).is_some());
    let samples: Vec<LogSample> = used.iter().filter_map(|&row| goodputs.sample(row)).collect();
    let means_of_cells: Vec<f64> = samples.iter().map(LogSample::geometric_mean).collect();
    let means = Means::of(&means_of_cells)?;
    let (block_ratings, complete_blocks) = goodputs.block_ratings(&used);
    let known = goodputs.known_blocks(scope);
    let rated = rate(&samples, &block_ratings, known, &goodputs.errors(&used), LEVEL)?;
    let wanted = context.plan.profile.wanted_half_width;
    let wide = rated.estimate.relative_half_width().is_none_or(|half| half > wanted);
    Some(Rating {
        btu_bits_per_second: rated.estimate,
        interval_form: rated.form,
        arithmetic_mean_bits_per_second: means.arithmetic,
        harmonic_mean_bits_per_second: means.harmonic,
        cells_used: used.len(),
        cells_planned,
        repetitions_used: samples.iter().map(LogSample::count).sum(),
        complete_blocks,
        blocks_compared: rated.blocks,
        earlier_runs: known.map_or(0, |_| goodputs.earlier_runs()),
        low_confidence: wide || !missing.is_empty(),
        missing,
    })
}
