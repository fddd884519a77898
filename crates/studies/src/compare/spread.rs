//! The difference of two sides, and its certainty.
//!
//! A machine drifts from run to run, and the drift has memory: runs that follow each other are alike. So the runs
//! of both sides, in the order of their starts, are divided into sessions (runs of one side with none of the other
//! between them), and each session is compared with the next one. What both have in common cancels, and Student's
//! interval is that of the pairs' differences. One session of each side does not show how far sessions lie apart.
//!
//! The same side comes first in every pair, so a machine that gets faster by one step from each session to the next
//! adds that step to every difference. From a pair to the next one the step is against the difference: the mean of
//! both kinds is without it. The interval is around both, so it holds with and without such a trend.

use btu_stats::{
    Estimate, Interval, Level, arithmetic_mean, sample_deviation, student_p, student_quantile,
};

use super::logs::Logs;
use super::row::ComparedRow;

/// Fewer pairs leave fewer than two degrees of freedom: with one, the interval is nearly thirteen times as wide as
/// the deviation it comes from.
pub(super) const FEWEST_PAIRS: usize = 3;

/// The runs of two sessions, one of each side, of which one follows the other.
#[derive(Debug)]
pub(super) struct Pair<'a, R> {
    base: Vec<&'a Logs<R>>,
    other: Vec<&'a Logs<R>>,
    base_is_first: bool,
}

impl<R> Pair<'_, R> {
    /// The number of its runs.
    pub(super) fn runs(&self) -> usize {
        self.base.len() + self.other.len()
    }
}

/// The pairs of sessions in the order of time. A last session without a next one is in none.
pub(super) fn pairs<'a, R>(base: &'a [Logs<R>], other: &'a [Logs<R>]) -> Vec<Pair<'a, R>> {
    let base = base.iter().map(|run| (false, run));
    let mut runs: Vec<(bool, &Logs<R>)> = base.chain(other.iter().map(|run| (true, run))).collect();
    runs.sort_by_key(|(_, run)| run.place);
    let sessions: Vec<_> = runs.chunk_by(|one, next| one.0 == next.0).collect();
    let of = |two: &[&[(bool, &'a Logs<R>)]], side: bool| {
        let runs = two.iter().copied().flatten().filter(|(is_other, _)| *is_other == side);
        runs.map(|(_, run)| *run).collect()
    };
    let pair = |two: &[&[(bool, &'a Logs<R>)]]| Pair {
        base: of(two, false),
        other: of(two, true),
        base_is_first: !two[0][0].0,
    };
    sessions.chunks_exact(2).map(pair).collect()
}

/// The difference of `other` from `base`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Mean logarithm of the base.
    pub(super) base: f64,
    /// Mean logarithm of the other.
    pub(super) other: f64,
    /// The ratio of the other side over the base.
    pub(super) ratio: Estimate,
    pub(super) p: Option<f64>,
}

/// Mean logarithms of base and other in each pair; `None` unless every run has every row.
fn means<R: ComparedRow>(pairs: &[Pair<'_, R>], rows: &[R]) -> Option<Vec<[f64; 2]>> {
    let of_pair = |pair: &Pair<'_, R>| {
        Some([mean(pair.base.iter().copied(), rows)?, mean(pair.other.iter().copied(), rows)?])
    };
    pairs.iter().map(of_pair).collect()
}

/// The differences of the pairs.
fn steps(means: &[[f64; 2]]) -> Vec<f64> {
    means.iter().map(|[base, other]| other - base).collect()
}

/// Half of the median over `cells` of the deviation of their differences: what no cell's deviation is taken for less
/// than. Three differences that are equal by chance have a deviation near zero, and so a p value that no correction
/// for the number of cells can help; and of many cells, some have such differences where values come in steps, or
/// near one of two. The whole median would hide differences of quiet cells among noisy ones.
pub(super) fn least_deviation<R: ComparedRow>(pairs: &[Pair<'_, R>], cells: &[R]) -> f64 {
    let deviation = |cell| sample_deviation(&steps(&means(pairs, std::slice::from_ref(cell))?));
    let mut deviations: Vec<f64> = cells.iter().filter_map(deviation).collect();
    deviations.sort_by(f64::total_cmp);
    // Of two cells the larger one: the smaller one may be the one that is too small.
    deviations.get(deviations.len() / 2).map_or(0.0, |median| median / 2.0)
}

/// The difference of both sides over `rows`, with its interval where there are enough pairs: then the means are over
/// pairs, else over all runs. For its p value, the differences of the pairs deviate by `least` or more. `None` unless
/// every run has every row.
pub(super) fn difference<R: ComparedRow>(
    sides: [&[Logs<R>]; 2],
    pairs: &[Pair<'_, R>],
    rows: &[R],
    level: Level,
    least: f64,
) -> Option<Difference> {
    let [base, other] = sides.map(|side| mean(side.iter(), rows));
    let (base, other) = (base?, other?);
    if pairs.len() < FEWEST_PAIRS {
        let ratio = Estimate { value: (other - base).exp(), interval: None };
        return ratio.value.is_finite().then_some(Difference { base, other, ratio, p: None });
    }
    let means = means(pairs, rows)?;
    let side =
        |side: usize| arithmetic_mean(&means.iter().map(|two| two[side]).collect::<Vec<_>>());
    let (base, other) = (side(0)?, side(1)?);
    let back = means.windows(2).map(|two| {
        if pairs[0].base_is_first { two[0][1] - two[1][0] } else { two[1][1] - two[0][0] }
    });
    let with_trend = other - base;
    let without = f64::midpoint(with_trend, arithmetic_mean(&back.collect::<Vec<_>>())?);
    let deviation = sample_deviation(&steps(&means))?;
    let error = |deviation: f64| deviation / (pairs.len() as f64).sqrt();
    let degrees = (pairs.len() - 1) as f64;
    let half = student_quantile(level, degrees)? * error(deviation);
    let ends =
        Interval { low: with_trend.min(without) - half, high: with_trend.max(without) + half };
    // An interval from zero to infinity is useless, and JSON cannot represent it.
    let interval = Some(ends.map(f64::exp)).filter(|ends| ends.low > 0.0 && ends.high.is_finite());
    // The nearer one to zero; if zero lies between them, or at one of them, there is no difference.
    let surely = if with_trend * without > 0.0 { with_trend.abs().min(without.abs()) } else { 0.0 };
    let t = surely / error(deviation.max(least));
    let p = if surely == 0.0 { Some(1.0) } else { student_p(t, degrees) };
    let ratio = Estimate { value: with_trend.exp(), interval };
    ratio.value.is_finite().then_some(Difference { base, other, ratio, p })
}

fn mean<'a, R: ComparedRow + 'a>(
    runs: impl Iterator<Item = &'a Logs<R>>,
    rows: &[R],
) -> Option<f64> {
    arithmetic_mean(&runs.map(|run| run.mean(rows)).collect::<Option<Vec<f64>>>()?)
}
