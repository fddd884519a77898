//! Random delays as netem draws them: one entry of a table, all equally likely.
//!
//! Source: `tabledist` in `net/sched/sch_netem.c`: delay = fixed delay + unit * entry / 8192,
//! entries are 16 bits with sign, at most 16,384 of them. The tables that iproute2 brings are not
//! used: these are made for the shapes of the network file, each entry the mean of its part of the
//! distribution, so the mean is exact. The standard deviation is exact for the uniform shape, 0.01
//! % low for the normal one, and 2 % low for Pareto, because no finite table holds its tail.

use btu_network::{Jitter, Reordering, Shape};
use btu_units::{Probability, Span};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use crate::Scenario;

pub(super) const SCENARIOS: &[Scenario] = &[
    ("driver_jitter_tables", shapes_have_their_mean_and_spread),
    ("driver_held_frames", the_held_share_is_as_asked_and_evenly_spread),
    ("driver_longest_jitter", what_cannot_be_counted_is_refused),
];

/// The kernel's `NETEM_DIST_MAX`.
const ENTRIES: usize = 16_384;
/// The kernel's `NETEM_DIST_SCALE`.
const SCALE: f64 = 8192.0;

/// A table of delays and the unit of its entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DelayTable {
    /// Nanoseconds of an entry of 8192; netem's jitter.
    pub(super) unit: i32,
    entries: Vec<i16>,
}

impl DelayTable {
    /// The deviations of `jitter`, and `hold` more for the share of frames that others overtake.
    /// `None` when the kernel cannot count that far (8.5 s).
    pub(super) fn new(jitter: Option<Jitter>, held: Option<(Reordering, Span)>) -> Option<Self> {
        let mut delays = jitter.map_or_else(|| vec![0.0; ENTRIES], deviations);
        if let Some((reordering, hold)) = held {
            spread_out(&mut delays, reordering.share.share(), hold.nanoseconds() as f64);
        }
        let largest = delays.iter().fold(0.0f64, |most, delay| most.max(delay.abs()));
        let unit = (largest * SCALE / f64::from(i16::MAX)).ceil().max(1.0);
        if unit > f64::from(i32::MAX) {
            return None;
        }
        let entries = delays.iter().map(|delay| (delay * SCALE / unit).round() as i16).collect();
        Some(Self { unit: unit as i32, entries })
    }

    /// The advance of the earliest frame, relative to the fixed delay.
    pub(super) fn earliest(&self) -> Span {
        let least = self.entries.iter().copied().min().unwrap_or(0).min(0);
        Span::from_seconds_f64(f64::from(-i32::from(least)) * f64::from(self.unit) / SCALE / 1e9)
    }

    /// The table in the form of `TCA_NETEM_DELAY_DIST`.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.entries.iter().flat_map(|entry| entry.to_ne_bytes()).collect()
    }

    fn delays(&self) -> Vec<f64> {
        self.entries.iter().map(|&entry| f64::from(entry) * f64::from(self.unit) / SCALE).collect()
    }
}

/// Adds `hold` to a share of the delays, evenly over the distribution.
fn spread_out(delays: &mut [f64], share: f64, hold: f64) {
    for (n, delay) in delays.iter_mut().enumerate() {
        let so_many = |n: usize| (n as f64 * share).round();
        if so_many(n + 1) > so_many(n) {
            *delay += hold;
        }
    }
}

/// The mean deviation in each of `ENTRIES` equally likely parts of a distribution, in nanoseconds.
fn deviations(jitter: Jitter) -> Vec<f64> {
    let spread = jitter.spread.nanoseconds() as f64;
    let at = |n: usize| n as f64 / ENTRIES as f64;
    let part = |n: usize| match jitter.shape {
        Shape::Uniform => at(n) + at(n + 1) - 1.0,
        Shape::Normal => ENTRIES as f64 * (density_at(at(n)) - density_at(at(n + 1))),
        Shape::Pareto => {
            (ENTRIES as f64 * (pareto_above(at(n)) - pareto_above(at(n + 1))) - 1.5)
                / 0.75f64.sqrt()
        }
    };
    (0..ENTRIES).map(|n| spread * part(n)).collect()
}

/// The normal density at a quantile; the mean between two quantiles is the difference of the
/// densities there.
fn density_at(share: f64) -> f64 {
    let normal = Normal::standard();
    if share <= 0.0 || share >= 1.0 { 0.0 } else { normal.pdf(normal.inverse_cdf(share)) }
}

/// The part of a Pareto variable's mean (shape 3, smallest value 1: mean 1.5, variance 0.75) above
/// a quantile.
fn pareto_above(share: f64) -> f64 {
    1.5 * (1.0 - share).powf(2.0 / 3.0)
}

fn jitter(shape: Shape) -> Jitter {
    Jitter {
        spread: Span::from_milliseconds(1),
        shape,
        correlation: Probability::NEVER,
        keep_order: false,
    }
}

fn mean_and_deviation(delays: &[f64]) -> (f64, f64) {
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let square =
        delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / delays.len() as f64;
    (mean, square.sqrt())
}

fn shapes_have_their_mean_and_spread() {
    // Half the width of a uniform distribution is the square root of 3 standard deviations.
    let cases = [
        (Shape::Uniform, 1e6 / 3f64.sqrt(), 1e-4),
        (Shape::Normal, 1e6, 5e-4),
        (Shape::Pareto, 0.98 * 1e6, 3e-3),
    ];
    for (shape, expected, tolerance) in cases {
        let table = DelayTable::new(Some(jitter(shape)), None).unwrap();
        let (mean, deviation) = mean_and_deviation(&table.delays());
        assert!(mean.abs() < 100.0, "{shape:?}: mean {mean} ns");
        assert!(
            (deviation / expected - 1.0).abs() < tolerance,
            "{shape:?}: deviation {deviation} ns"
        );
    }
}

fn the_held_share_is_as_asked_and_evenly_spread() {
    let reordering = Reordering { share: Probability::new(0.05).unwrap(), depth: 3 };
    let hold_back = Span::from_milliseconds(100);
    let plain = DelayTable::new(None, Some((reordering, hold_back))).unwrap();
    let held = plain.delays().iter().filter(|&&delay| delay > 0.0).count();
    assert_eq!(held, 819, "5 % of 16,384");
    assert!(plain.delays().iter().all(|delay| delay.abs() < 1e4 || (delay - 1e8).abs() < 1e4));
    let both = DelayTable::new(Some(jitter(Shape::Normal)), Some((reordering, hold_back))).unwrap();
    let (mean, _) = mean_and_deviation(&both.delays());
    assert!((mean / (1e8 * 819.0 / 16_384.0) - 1.0).abs() < 1e-3, "{mean}");
}

fn what_cannot_be_counted_is_refused() {
    let hold = |seconds| {
        Some((Reordering { share: Probability::ALWAYS, depth: 3 }, Span::from_seconds(seconds)))
    };
    assert!(DelayTable::new(None, hold(8)).is_some());
    assert!(DelayTable::new(None, hold(9)).is_none());
}
