//! How much the speed of rows and blocks varies, as earlier runs of the plan on the machine tell: a few repetitions tell it
//! badly.

use btu_stats::{KnownVariance, LogSample, blocks};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::goodputs::Goodputs;
use super::processor_costs::{PlacedReading, ProcessorCosts};
use crate::cell::{Load, Row};

/// Fewer runs hardly tell by how much their spreads differ: intervals would hold the truth in less than 93 of 100 cases.
const FEWEST_RUNS: usize = 5;

/// How much the speed of rows and blocks varied in earlier runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnownSpreads {
    /// The number of runs.
    pub runs: u32,
    /// Of the repetitions of each row.
    pub rows: Vec<KnownSpread<Row>>,
    /// Of the blocks' ratings.
    pub blocks: Vec<KnownSpread<Scope>>,
}

/// How much the speed of a row, or of the blocks of a rating, varied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KnownSpread<Of> {
    /// The row, or the rating.
    pub of: Of,
    /// Of the logarithms.
    pub variance: KnownVariance,
}

/// The rated rows of a plan that a rating is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Only those of this message size.
    #[serde(rename = "message_bytes")]
    pub message: Option<Bytes>,
    /// Only those of this load; otherwise, those of all loads but idle.
    pub load: Option<Load>,
}

impl Scope {
    /// Under the host loads, at all sizes.
    pub(super) const LOADED: Self = Self { message: None, load: None };

    /// Without a load, at all sizes.
    pub(super) const IDLE: Self = Self::under(Load::Idle);

    /// Under one load, at all sizes.
    pub(super) const fn under(load: Load) -> Self {
        Self { message: None, load: Some(load) }
    }

    /// The same rows, but only those of this message size.
    pub(super) const fn at(self, message: Bytes) -> Self {
        Self { message: Some(message), ..self }
    }

    /// The scopes of all ratings of a run.
    fn all(context: &Context) -> Vec<Self> {
        let loads = context.loads().map(Self::under);
        let of_size = |message| [Self::LOADED, Self::IDLE].map(|scope: Self| scope.at(message));
        let sizes = context.messages().flat_map(of_size);
        [Self::LOADED].into_iter().chain(loads).chain(sizes).collect()
    }

    fn has(self, message: Bytes, load: Load) -> bool {
        self.message.is_none_or(|wanted| wanted == message)
            && self.load.map_or(load != Load::Idle, |wanted| wanted == load)
    }

    /// Its planned rows.
    pub(super) fn rows(self, context: &Context) -> Vec<Row> {
        context.rated_rows(|message, load| self.has(message, load))
    }
}

impl KnownSpreads {
    /// By the cells of earlier runs of a plan, and what is known of their processors; nothing from fewer than five runs.
    pub(super) fn of(runs: &[Vec<PlacedReading>], context: &Context) -> Self {
        if runs.len() < FEWEST_RUNS {
            return Self::default();
        }
        let costs: Vec<ProcessorCosts> =
            runs.iter().map(|run| ProcessorCosts::of(run, &context.known)).collect();
        let nothing = Self::default();
        let runs: Vec<Goodputs<'_>> = runs
            .iter()
            .zip(&costs)
            .map(|(run, costs)| Goodputs::of(run, costs, &nothing))
            .collect();
        let of_row = |row: &Row| {
            let variance = known(runs.iter().map(|run| run.sample(*row)))?;
            Some(KnownSpread { of: *row, variance })
        };
        let of_scope = |scope: &Scope| {
            let rows = scope.rows(context);
            let variance = known(runs.iter().map(|run| blocks(&run.block_ratings(&rows).0)))?;
            Some(KnownSpread { of: *scope, variance })
        };
        Self {
            runs: runs.len() as u32,
            rows: context.rated_rows(|_, _| true).iter().filter_map(of_row).collect(),
            blocks: Scope::all(context).iter().filter_map(of_scope).collect(),
        }
    }

    /// Whether nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.blocks.is_empty()
    }

    /// Of the repetitions of `row`.
    pub(super) fn row(&self, row: Row) -> Option<KnownVariance> {
        self.rows.iter().find(|known| known.of == row).map(|known| known.variance)
    }

    /// Of the blocks of the rating over `scope`.
    pub(super) fn blocks(&self, scope: Scope) -> Option<KnownVariance> {
        self.blocks.iter().find(|known| known.of == scope).map(|known| known.variance)
    }
}

/// From the runs that can tell.
fn known(samples: impl Iterator<Item = Option<LogSample>>) -> Option<KnownVariance> {
    let samples: Vec<LogSample> = samples.flatten().collect();
    if samples.len() < FEWEST_RUNS { None } else { KnownVariance::of(&samples) }
}
