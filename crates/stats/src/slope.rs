//! How values depend on a quantity, common to groups of values, such as cells of rows.

use crate::log_sample::LogSample;

/// By how much the logarithm of values changes with a quantity, within groups. A quantity of two states is 0
/// or 1: then it is the difference between the states.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    use crate::log_sample::tests::{coverage, log_normal};
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
            let rated = rate(&cells, &[], &[(share, slope.error())], Level::P95).unwrap();
            rated.estimate.interval.unwrap().contains(10.0)
        });
    }
}
