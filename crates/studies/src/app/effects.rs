//! The effect of each factor of an experiment on the rate, and its share of the rates' variance.

use btu_stats::{Bootstrap, Effects, Estimate, Level, Method, Term, median};
use serde::Serialize;

use super::accounts::accounts;
use super::{AppCell, AppPlan, Factor, Factors};
use btu_contract::experiment::{Measured, Scripts};

/// Draws of the bootstrap: the ends of an interval are good to a per cent of its coverage.
const RESAMPLES: u32 = 2000;

/// A factorial experiment, judged. Everything is about the natural logarithm of shown items per
/// second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorShares {
    /// Blocks in which every run counts; only those are used.
    pub blocks: usize,
    /// Runs of a block.
    pub runs: usize,
    /// The factors, most important first: by share of variance.
    pub factors: Vec<FactorRow>,
    /// The interactions of two factors, most important first.
    pub pairs: Vec<PairRow>,
    /// Share of the variance that neither factors nor pairs make.
    pub rest: f64,
    /// Share of the variance that the scatter of repetitions would make by itself; `None` for a
    /// single block.
    pub noise: Option<f64>,
}

/// The effect of one factor, averaged over all levels of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactorRow {
    /// The name of the factor.
    pub factor: &'static str,
    /// Its levels, as they were asked for.
    pub levels: [String; 2],
    /// The rate at the second level over that at the first.
    pub rate_ratio: Estimate,
    /// The study's sensitivity: by how much the rate changes, over how much the factor does; for
    /// factors with a scale.
    pub sensitivity: Option<Estimate>,
    /// d ln(rate) / d ln(factor) between the levels, for factors with a scale.
    pub elasticity: Option<Estimate>,
    /// Share of the variance of ln(rate) over the stated levels: 0 to 1.
    pub share: Estimate,
}

/// The interaction of two factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairRow {
    /// The names of the two factors.
    pub factors: [&'static str; 2],
    /// Share of the variance of ln(rate).
    pub share: Estimate,
}

/// The effects over the blocks in which every run counts; `None` if there are none, or without
/// factors.
pub(super) fn judge(
    plan: &AppPlan,
    factors: &Factors,
    cells: &[Measured<AppCell>],
) -> Option<FactorShares> {
    let design = factors.design()?;
    let runs = plan.cells();
    let value = |block: u32, run: &AppCell| {
        let own = cells.iter().find(|measured| measured.block == block && measured.cell == *run)?;
        let (drawn, _) = accounts(&own.seen).filter(|_| own.is_valid())?;
        let seconds =
            median(&drawn.pictures.iter().map(|span| span.seconds()).collect::<Vec<_>>())?;
        Some((plan.shown(run) as f64 / seconds).ln())
    };
    let blocks: Vec<Vec<f64>> = (0..plan.frame().blocks)
        .filter_map(|block| runs.iter().map(|run| value(block, run)).collect())
        .collect();
    let bootstrap = Bootstrap {
        method: Method::Percentile,
        level: Level::P95,
        resamples: RESAMPLES,
        seed: plan.frame().seed,
    };
    let effects = design.effects(&blocks, 2, &bootstrap)?;
    let (own, pairs): (Vec<&Term>, Vec<&Term>) =
        effects.terms.iter().partition(|term| term.factors.len() == 1);
    Some(FactorShares {
        blocks: blocks.len(),
        runs: runs.len(),
        factors: ranked(&own)
            .filter_map(|term| row(factors.list().get(term.factors[0])?, term))
            .collect(),
        pairs: ranked(&pairs).filter_map(|term| pair(factors.list(), term)).collect(),
        rest: effects.rest,
        noise: effects.noise(blocks.len()),
    })
}

/// Orders the terms, the most important first.
fn ranked<'a>(terms: &[&'a Term]) -> impl Iterator<Item = &'a Term> {
    let mut terms = terms.to_vec();
    terms.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    terms.into_iter()
}

fn row(factor: &Factor, term: &Term) -> Option<FactorRow> {
    let contrast = term.contrast()?;
    let rate_ratio = mapped(contrast, f64::exp);
    let changed = factor.ratio();
    Some(FactorRow {
        factor: factor.name(),
        levels: factor.levels(),
        rate_ratio,
        sensitivity: changed
            .map(|changed| mapped(rate_ratio, |ratio| (ratio - 1.0) / (changed - 1.0))),
        elasticity: changed.map(|changed| mapped(contrast, |contrast| contrast / changed.ln())),
        share: term.share,
    })
}

/// Value and interval through a function that grows or falls throughout.
fn mapped(estimate: Estimate, change: impl Fn(f64) -> f64) -> Estimate {
    let ends = estimate.interval.map(|interval| [change(interval.low), change(interval.high)]);
    let interval = ends.map(|[a, b]| btu_stats::Interval { low: a.min(b), high: a.max(b) });
    Estimate { value: change(estimate.value), interval }
}

fn pair(factors: &[Factor], term: &Term) -> Option<PairRow> {
    let [first, second] = term.factors[..] else { return None };
    Some(PairRow {
        factors: [factors.get(first)?.name(), factors.get(second)?.name()],
        share: term.share,
    })
}

/// The shares of two factors with all levels crossed once; `None` if a value is missing.
pub(super) fn two_way(rows: usize, columns: usize, values: &[f64]) -> Option<[f64; 3]> {
    let design = btu_stats::Factorial::full(&[rows, columns])?;
    let effects: Effects = design.effects(&[values.to_vec()], 2, &Bootstrap::new(0))?;
    let share = |factors: &[usize]| effects.term(factors).map(|term| term.share.value);
    Some([share(&[0])?, share(&[1])?, share(&[0, 1])?])
}
