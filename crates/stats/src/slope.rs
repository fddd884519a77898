//! How values depend on a quantity, common to groups of values, such as cells of rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

use crate::log_sample::LogSample;

/// By how much the logarithm of values changes with a quantity, within groups. A quantity of two states is 0
/// or 1: then it is the difference between the states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Slope {
    /// Change of the logarithm for one unit of the quantity.
    logarithm: f64,
    /// Of the values around their groups' means and the slope.
    variance: f64,
    degrees: usize,
    /// The sum of squares of the quantity around its groups' means: n values in each of two states of
    /// one group have n/2.
    weight: f64,
}

/// A slope that was read, and may be anything.
#[derive(Deserialize)]
struct Stored {
    logarithm: f64,
    variance: f64,
    degrees: usize,
    weight: f64,
}

impl TryFrom<Stored> for Slope {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { logarithm, variance, degrees, weight } = stored;
        let is_sound = logarithm.is_finite()
            && variance.is_finite()
            && variance >= 0.0
            && (1..=MOST_DEGREES).contains(&degrees)
            && weight.is_finite()
            && weight > 0.0;
        let slope = Self { logarithm, variance, degrees, weight };
        is_sound.then_some(slope).ok_or("a slope has an error that no values can have")
    }
}

/// More values than any run has. The sum for a hundred runs fits into 32 bits.
const MOST_DEGREES: usize = 1 << 25;

impl Slope {
    /// By least squares, each group with a mean of its own. Each value is a quantity and a logarithm.
    /// `None` if the quantity is constant in each group, or nothing is left to tell the spread.
    ///
    /// The error of the slope does not correlate with the errors of the groups' means, so its variance adds
    /// to theirs.
    pub fn within(groups: &[Vec<(f64, f64)>]) -> Option<Self> {
        let centred: Vec<(f64, f64)> = groups.iter().flat_map(|group| centred(group)).collect();
        let weight: f64 = centred.iter().map(|(quantity, _)| quantity * quantity).sum();
        let together: f64 = centred.iter().map(|(quantity, value)| quantity * value).sum();
        let repeated = groups.iter().filter(|group| !group.is_empty()).count();
        let degrees = centred.len().checked_sub(repeated + 1).filter(|degrees| *degrees > 0)?;
        if weight <= 0.0 {
            return None;
        }
        let logarithm = together / weight;
        let rest: f64 =
            centred.iter().map(|(quantity, value)| (value - logarithm * quantity).powi(2)).sum();
        Some(Self { logarithm, variance: rest / degrees as f64, degrees, weight })
    }

    /// One for several clusters of values, such as runs, whose groups have the same means in all of them. What a cluster has
    /// beyond that is part of the error, which is that of the jackknife over clusters: J. W. Tukey, Bias and confidence in
    /// not-quite large samples, Annals of Mathematical Statistics 29 (1958), 614. `None` if there are fewer than three, or the
    /// quantity is constant in all groups.
    pub fn over<K: Ord>(clusters: &[BTreeMap<K, Vec<(f64, f64)>>]) -> Option<Self> {
        let count = clusters.len();
        if count < 3 {
            return None;
        }
        let mut groups: BTreeMap<&K, Vec<Sums>> = BTreeMap::new();
        for (at, cluster) in clusters.iter().enumerate() {
            for (group, values) in cluster {
                groups.entry(group).or_insert_with(|| vec![Sums::default(); count])[at] =
                    Sums::of(values);
            }
        }
        let without = |left_out: Option<usize>| {
            let others = |group: &Vec<Sums>| {
                let kept = group.iter().enumerate().filter(|(at, _)| Some(*at) != left_out);
                kept.fold(Sums::default(), |sum, (_, one)| sum.and(*one)).centred()
            };
            let [weight, together] = groups
                .values()
                .map(others)
                .fold([0.0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
            (weight > 0.0).then(|| together / weight)
        };
        let logarithm = without(None)?;
        let others: Vec<f64> = (0..count).map(|at| without(Some(at))).collect::<Option<_>>()?;
        let mean = others.iter().sum::<f64>() / count as f64;
        let squares: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
        let variance = squares * (count - 1) as f64 / count as f64;
        Some(Self { logarithm, variance, degrees: count - 1, weight: 1.0 })
    }

    /// What several slopes, each found several times, tell of the next time, when each may differ from before as
    /// they differed among each other; `None` for one that was never found. The values of one have one variance.
    ///
    /// The variance between the times is the same for all slopes: five slopes of ten times tell it where one would
    /// not. By R. `DerSimonian` and N. Laird, Meta-analysis in clinical trials, Controlled Clinical Trials 7
    /// (1986), equation 8, with the sums over all slopes, it may be below zero. It is taken as the mean of what it may be
    /// above zero: as zero it would be too small whenever the times differ by less than can be told.
    pub fn next_of(slopes: &[Vec<Self>]) -> Vec<Option<Self>> {
        let repeated: Vec<Repeated<'_>> = slopes.iter().map(|times| Repeated::of(times)).collect();
        let between = Scatter::sum(repeated.iter().map(Repeated::scatter)).variance();
        repeated.iter().map(|one| one.next(between)).collect()
    }

    /// The mean of two independent findings of one slope, by their weights. The values of both have one
    /// variance.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (weight, degrees) = (self.weight + other.weight, self.degrees + other.degrees);
        let of = |slope: Self| slope.variance * slope.degrees as f64;
        Self {
            logarithm: (self.logarithm * self.weight + other.logarithm * other.weight) / weight,
            variance: (of(self) + of(other)) / degrees as f64,
            degrees,
            weight,
        }
    }

    /// The sum of squares of the quantity around its groups' means: n values in each of two states of
    /// one group have n/2.
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    /// The change of the logarithm for one unit of the quantity.
    pub const fn logarithm(&self) -> f64 {
        self.logarithm
    }

    /// The slope as a sample: its mean is the slope, and its variance over its count that of the error.
    pub fn sample(&self) -> LogSample {
        LogSample::of_mean(self.logarithm, self.variance, self.weight, self.degrees)
    }

    /// Only the error of the slope, for values that the slope was taken out of.
    pub fn error(&self) -> LogSample {
        LogSample::of_mean(0.0, self.variance, self.weight, self.degrees)
    }
}

/// Sums over values of a group: what a slope needs of them.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    quantity: f64,
    value: f64,
    squares: f64,
    products: f64,
}

impl Sums {
    fn of(values: &[(f64, f64)]) -> Self {
        let one = |&(quantity, value): &(f64, f64)| Self {
            count: 1.0,
            quantity,
            value,
            squares: quantity * quantity,
            products: quantity * value,
        };
        values.iter().map(one).fold(Self::default(), Self::and)
    }

    fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            quantity: self.quantity + other.quantity,
            value: self.value + other.value,
            squares: self.squares + other.squares,
            products: self.products + other.products,
        }
    }

    /// Squares and products around the means; squares that come from rounding to 53 bits alone are 0.
    fn centred(self) -> [f64; 2] {
        const ROUNDING: f64 = 1e-12;
        let count = self.count.max(1.0);
        let squares = self.squares - self.quantity * self.quantity / count;
        if squares <= ROUNDING * self.squares {
            return [0.0; 2];
        }
        [squares, self.products - self.quantity * self.value / count]
    }
}

/// How much slopes differ from time to time.
#[derive(Default)]
struct Scatter {
    /// Of the differences from their mean, by weight.
    squares: f64,
    /// What these are on average where only errors make them differ.
    by_errors: f64,
    degrees: f64,
    /// What they are more for each unit of the variance between the times.
    freedom: f64,
}

impl Scatter {
    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            squares: sum.squares + one.squares,
            by_errors: sum.by_errors + one.by_errors,
            degrees: sum.degrees + one.degrees,
            freedom: sum.freedom + one.freedom,
        })
    }

    /// Between the times: the mean of a normal distribution above zero.
    fn variance(&self) -> f64 {
        let centre = (self.squares - self.by_errors) / self.freedom;
        let deviation =
            (2.0 / self.degrees).sqrt() * self.squares.max(self.by_errors) / self.freedom;
        if !(centre.is_finite() && deviation > 0.0) {
            return 0.0;
        }
        let (normal, at) = (Normal::standard(), centre / deviation);
        let above = normal.cdf(at);
        if above > 0.0 { centre + deviation * normal.pdf(at) / above } else { 0.0 }
    }
}

/// A slope that was found several times.
struct Repeated<'a> {
    times: &'a [Slope],
    /// Of the values of all times.
    variance: f64,
    degrees: usize,
}

impl<'a> Repeated<'a> {
    fn of(times: &'a [Slope]) -> Self {
        let degrees = times.iter().map(|slope| slope.degrees).sum();
        let squares = times.iter().map(|slope| slope.variance * slope.degrees as f64);
        Self { times, variance: squares.sum::<f64>() / (degrees as f64).max(1.0), degrees }
    }

    fn sum(&self, of: impl Fn(&Slope) -> f64) -> f64 {
        self.times.iter().map(of).sum()
    }

    fn scatter(&self) -> Scatter {
        if self.times.len() < 2 {
            return Scatter::default();
        }
        let (mean, weight) = (self.mean(Slope::weight), self.sum(Slope::weight));
        let degrees = (self.times.len() - 1) as f64;
        Scatter {
            squares: self.sum(|slope| slope.weight * (slope.logarithm - mean).powi(2)),
            by_errors: self.variance * degrees,
            degrees,
            freedom: weight - self.sum(|slope| slope.weight.powi(2)) / weight,
        }
    }

    fn mean(&self, weight: impl Fn(&Slope) -> f64) -> f64 {
        self.sum(|slope| weight(slope) * slope.logarithm) / self.sum(&weight)
    }

    /// With this variance between the times.
    fn next(&self, between: f64) -> Option<Slope> {
        let Self { variance, degrees, .. } = *self;
        if between <= 0.0 || variance <= 0.0 || self.times.is_empty() {
            return self.times.iter().copied().reduce(Slope::and);
        }
        let share = between / variance;
        let worth = |slope: &Slope| (slope.weight.recip() + share).recip();
        let weight = (self.sum(worth).recip() + share).recip();
        Some(Slope { logarithm: self.mean(worth), variance, degrees, weight })
    }
}

fn centred(group: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let count = group.len().max(1) as f64;
    let quantities = group.iter().map(|(quantity, _)| quantity).sum::<f64>() / count;
    let values = group.iter().map(|(_, value)| value).sum::<f64>() / count;
    group.iter().map(move |(quantity, value)| (quantity - quantities, value - values))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_pcg::Pcg64;

    use super::*;
    use crate::interval::Level;
    use crate::log_sample::contrast;
    use crate::log_sample::tests::{coverage, covered, log_normal};
    use crate::rating::rate;

    #[test]
    fn a_known_slope_is_found() {
        let groups = [
            vec![(0.0, 1.0), (1.0, 0.5), (1.0, 0.5)],
            vec![(1.0, 6.5), (0.0, 7.0)],
            vec![(0.0, 3.0), (0.0, 3.0)],
            vec![],
        ];
        let slope = Slope::within(&groups).unwrap();
        assert!((slope.logarithm() + 0.5).abs() < 1e-12);
        assert!((slope.weight() - (2.0 / 3.0 + 0.5)).abs() < 1e-12);
        assert_eq!(slope.degrees, 3, "seven values, three means and a slope");
        let line = [vec![(0.0, 1.0), (0.1, 1.3), (0.4, 2.2)], vec![(5.0, 0.0), (7.0, 6.0)]];
        assert!((Slope::within(&line).unwrap().logarithm() - 3.0).abs() < 1e-12);
        assert_eq!(Slope::within(&[vec![(0.0, 1.0), (0.0, 2.0)]]), None, "a constant quantity");
        assert_eq!(Slope::within(&[vec![(0.0, 1.0), (1.0, 2.0)]]), None, "no spread");
        assert_eq!(Slope::within(&[]), None);
    }

    /// The states of 24 rows with four values each: long spells, as a hypervisor makes them, so that
    /// some rows have one state only.
    fn states(random: &mut Pcg64) -> Vec<Vec<bool>> {
        let far: Vec<f64> = (0..4).map(|_| random.random_range(0.05..0.95)).collect();
        let row = |random: &mut Pcg64| far.iter().map(|share| random.random_bool(*share)).collect();
        (0..24).map(|_| row(random)).collect()
    }

    /// Rows of different spread, all slowed by a quarter in the second state.
    fn rows(random: &mut Pcg64) -> Vec<Vec<(f64, f64)>> {
        let spreads = [0.15, 0.2, 0.25, 0.4];
        let states = states(random);
        let row = |(states, spread): (&Vec<bool>, &f64)| {
            let values = log_normal(random, 10.0, *spread, states.len());
            let value = |(state, value): (&bool, &f64)| {
                let state = f64::from(u8::from(*state));
                (state, value.ln() - 0.25 * state)
            };
            states.iter().zip(&values).map(value).collect()
        };
        states.iter().zip(spreads.iter().cycle()).map(row).collect()
    }

    #[test]
    fn intervals_of_slopes_hold_what_they_say() {
        coverage("slope within rows", 0x00b1, |random| {
            let slope = Slope::within(&rows(random)).unwrap();
            let estimate = contrast(&[(1.0, slope.sample())], Level::P95).unwrap();
            estimate.interval.unwrap().contains((-0.25f64).exp())
        });
    }

    #[test]
    fn several_slopes_tell_of_the_next() {
        let slope = |logarithm, weight| Slope { logarithm, variance: 1.0, degrees: 10, weight };
        let mean = slope(1.0, 1.0).and(slope(4.0, 2.0));
        assert_eq!((mean.logarithm, mean.weight, mean.degrees), (3.0, 3.0, 20));
        assert_eq!(Slope::next_of(&[vec![slope(0.3, 2.0)], vec![]]), [Some(slope(0.3, 2.0)), None]);
        // By hand: two that differ by 2 with a variance of 1. The squares are 4 * 1 + 4 * 1, and the variance between
        // them is around (8 - 1) / (8 - 32 / 8) = 1.75 with a deviation of 2^0.5 * 8 / 4 = 2.828.
        let apart = Slope::next_of(&[vec![slope(0.0, 4.0), slope(2.0, 4.0)]])[0].unwrap();
        let normal = Normal::standard();
        let at = 1.75 / 8f64.sqrt();
        let between = 1.75 + 8f64.sqrt() * normal.pdf(at) / normal.cdf(at);
        assert!((apart.logarithm - 1.0).abs() < 1e-12);
        let weight = (0.125 + 1.5 * between).recip();
        assert!((apart.weight - weight).abs() < 1e-12, "{apart:?}");
        // With other slopes that do not differ, it is less.
        let steady = || vec![slope(9.0, 4.0); 9];
        let both = Slope::next_of(&[vec![slope(0.0, 4.0), slope(2.0, 4.0)], steady(), steady()]);
        assert!(both[0].unwrap().weight > 4.0 * apart.weight, "{both:?}");
        assert!((both[1].unwrap().logarithm - 9.0).abs() < 1e-12);
    }

    #[test]
    fn clusters_have_a_slope_in_common() {
        let cluster = |values: &[(f64, f64)]| BTreeMap::from([("row", values.to_vec())]);
        let clusters = [
            cluster(&[(0.0, 0.0), (1.0, 1.0)]),
            cluster(&[(0.0, 0.0), (1.0, 1.0)]),
            cluster(&[(0.0, 0.0), (1.0, 4.0)]),
        ];
        // By hand: 2 of all; 2.5, 2.5 and 1 without one, so that the variance is 1.5 * 2 / 3.
        let slope = Slope::over(&clusters).unwrap();
        assert!((slope.logarithm - 2.0).abs() < 1e-12, "{slope:?}");
        assert!(
            (slope.variance / slope.weight - 1.0).abs() < 1e-12 && slope.degrees == 2,
            "{slope:?}"
        );
        assert_eq!(Slope::over(&clusters[..2]), None);
        assert_eq!(Slope::over(&vec![cluster(&[(1.0, 0.0), (1.0, 1.0)]); 3]), None);
    }

    /// Rows whose cells have a common quantity for each of so many runs and a part of their own; runs differ by more than
    /// their cells tell.
    #[test]
    fn intervals_of_slopes_over_runs_hold_what_they_say() {
        for (runs, seed) in [(3, 0x00d8), (5, 0x00d9), (10, 0x00da)] {
            coverage(&format!("slope over {runs} runs"), seed, |random| {
                let normal =
                    |random: &mut Pcg64, spread| log_normal(random, 1.0, spread, 1)[0].ln();
                let run = |random: &mut Pcg64| {
                    let (common, drift) = (normal(random, 0.05), normal(random, 0.02));
                    let cell = |random: &mut Pcg64| {
                        let quantity = common + normal(random, 0.05);
                        (quantity, drift - 0.5 * quantity + normal(random, 0.25))
                    };
                    let row = |random: &mut Pcg64| (0..5).map(|_| cell(random)).collect();
                    (0..90).map(|at| (at, row(random))).collect::<BTreeMap<u32, _>>()
                };
                let runs: Vec<_> = (0..runs).map(|_| run(random)).collect();
                let slope = Slope::over(&runs).unwrap();
                let estimate = contrast(&[(1.0, slope.sample())], Level::P95).unwrap();
                estimate.interval.unwrap().contains((-0.5f64).exp())
            });
        }
    }

    #[test]
    fn only_sound_slopes_are_read() {
        let slope = Slope { logarithm: -0.25, variance: 0.5, degrees: 7, weight: 4.0 };
        let text = serde_json::to_string(&slope).unwrap();
        assert_eq!(serde_json::from_str::<Slope>(&text).unwrap(), slope);
        for (good, bad) in [("0.5", "-0.5"), ("7", "0"), ("4.0", "0.0"), ("4.0", "-4.0")] {
            let wrong = text.replace(&format!(":{good}"), &format!(":{bad}"));
            assert!(wrong != text && serde_json::from_str::<Slope>(&wrong).is_err(), "{wrong}");
        }
    }

    /// One of so many slopes of a run together with those of earlier runs, which differ by this standard deviation.
    #[test]
    fn intervals_with_earlier_slopes_hold_what_they_say() {
        let cases = [
            (5, 3, 0.0),
            (5, 10, 0.0),
            (5, 3, 0.05),
            (5, 10, 0.025),
            (5, 10, 0.05),
            (5, 10, 0.1),
            (1, 10, 0.0),
            (1, 3, 0.05),
            (1, 10, 0.05),
            (1, 10, 0.1),
        ];
        for ((slopes, earlier, apart), seed) in cases.into_iter().zip(0x00b3..) {
            let what = format!("{slopes} slopes after {earlier} runs, {apart} apart");
            let share = covered(&what, seed, |random| {
                let found = |random: &mut Pcg64| {
                    let difference = apart * log_normal(random, 1.0, 1.0, 1)[0].ln();
                    (Slope::within(&moved(&rows(random), difference)).unwrap(), difference)
                };
                let before: Vec<Vec<Slope>> =
                    (0..slopes).map(|_| (0..earlier).map(|_| found(random).0).collect()).collect();
                let (own, difference) = found(random);
                let both = own.and(Slope::next_of(&before)[0].unwrap());
                let estimate = contrast(&[(1.0, both.sample())], Level::P95).unwrap();
                estimate.interval.unwrap().contains((difference - 0.25).exp())
            });
            // Ten runs cannot tell whether they differ by less than their errors of 0.07: intervals allow for
            // it, so they hold more than they say where nothing differs.
            let most = if apart > 0.0 { 0.98 } else { 1.0 };
            assert!((0.91..=most).contains(&share), "{share}");
        }
    }

    /// The same values with another slope.
    fn moved(rows: &[Vec<(f64, f64)>], difference: f64) -> Vec<Vec<(f64, f64)>> {
        let row = |row: &Vec<(f64, f64)>| {
            row.iter().map(|&(state, value)| (state, value + difference * state)).collect()
        };
        rows.iter().map(row).collect()
    }

    /// The rating of values from which the slope was taken out.
    #[test]
    fn intervals_without_a_slope_hold_what_they_say() {
        coverage("rating without a slope", 0x00b2, |random| {
            let rows = rows(random);
            let slope = Slope::within(&rows).unwrap();
            let without = |&(state, value): &(f64, f64)| (value - slope.logarithm() * state).exp();
            let cells: Vec<LogSample> = rows
                .iter()
                .map(|row| LogSample::of(&row.iter().map(without).collect::<Vec<_>>()).unwrap())
                .collect();
            let far = |row: &Vec<(f64, f64)>| {
                row.iter().map(|(state, _)| state).sum::<f64>() / row.len() as f64
            };
            let share = rows.iter().map(far).sum::<f64>() / rows.len() as f64;
            let rated = rate(&cells, &[], None, &[(share, slope.error())], Level::P95).unwrap();
            rated.estimate.interval.unwrap().contains(10.0)
        });
    }
}
