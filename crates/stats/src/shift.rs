//! A common difference between two states of values that are grouped, such as cells of rows.

use crate::log_sample::LogSample;

/// By how much values in the second state differ from values in the first one, within groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Mean logarithm in the second state less that in the first one.
    logarithm: f64,
    /// Of the values around their groups' means and the shift.
    variance: f64,
    degrees: usize,
    /// The sum of squares of the state around its groups' means: n values in each state of one
    /// group have n/2.
    weight: f64,
}

impl Shift {
    /// By least squares, each group with a mean of its own. Each value is in the second state or not,
    /// and has a logarithm. `None` if no group has both states, or nothing is left to tell the spread.
    ///
    /// The error of the shift does not correlate with the errors of the groups' means, so its variance adds
    /// to theirs.
    pub fn within(groups: &[Vec<(bool, f64)>]) -> Option<Self> {
        let centred: Vec<(f64, f64)> = groups.iter().flat_map(|group| centred(group)).collect();
        let weight: f64 = centred.iter().map(|(state, _)| state * state).sum();
        let together: f64 = centred.iter().map(|(state, value)| state * value).sum();
        let repeated = groups.iter().filter(|group| !group.is_empty()).count();
        let degrees = centred.len().checked_sub(repeated + 1).filter(|degrees| *degrees > 0)?;
        if weight <= 0.0 {
            return None;
        }
        let logarithm = together / weight;
        let rest: f64 =
            centred.iter().map(|(state, value)| (value - logarithm * state).powi(2)).sum();
        Some(Self { logarithm, variance: rest / degrees as f64, degrees, weight })
    }

    /// The sum of squares of the state around its groups' means: n values in each state of one group
    /// have n/2.
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    /// A value in the second state over one in the first.
    pub fn factor(&self) -> f64 {
        self.logarithm.exp()
    }

    /// The shift as a sample: its mean is the shift, and its variance over its count that of the error.
    pub fn sample(&self) -> LogSample {
        LogSample::of_mean(self.logarithm, self.variance, self.weight, self.degrees)
    }

    /// Only the error of the shift, for values that the shift was taken out of.
    pub fn error(&self) -> LogSample {
        LogSample::of_mean(0.0, self.variance, self.weight, self.degrees)
    }
}

fn centred(group: &[(bool, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let count = group.len().max(1) as f64;
    let states = group.iter().map(|(state, _)| f64::from(u8::from(*state))).sum::<f64>() / count;
    let values = group.iter().map(|(_, value)| value).sum::<f64>() / count;
    group.iter().map(move |(state, value)| (f64::from(u8::from(*state)) - states, value - values))
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
    fn a_known_shift_is_found() {
        let groups = [
            vec![(false, 1.0), (true, 0.5), (true, 0.5)],
            vec![(true, 6.5), (false, 7.0)],
            vec![(false, 3.0), (false, 3.0)],
            vec![],
        ];
        let shift = Shift::within(&groups).unwrap();
        assert!((shift.factor() - (-0.5f64).exp()).abs() < 1e-12);
        assert!((shift.weight() - (2.0 / 3.0 + 0.5)).abs() < 1e-12);
        assert_eq!(shift.degrees, 3, "seven values, three means and a shift");
        assert_eq!(Shift::within(&[vec![(false, 1.0), (false, 2.0)]]), None, "one state");
        assert_eq!(Shift::within(&[vec![(false, 1.0), (true, 2.0)]]), None, "no spread");
        assert_eq!(Shift::within(&[]), None);
    }

    /// The states of 24 rows with four values each: long spells, as a hypervisor makes them, so that
    /// some rows have one state only.
    fn states(random: &mut Pcg64) -> Vec<Vec<bool>> {
        let far: Vec<f64> = (0..4).map(|_| random.random_range(0.05..0.95)).collect();
        let row = |random: &mut Pcg64| far.iter().map(|share| random.random_bool(*share)).collect();
        (0..24).map(|_| row(random)).collect()
    }

    /// Rows of different spread, all slowed by a quarter in the second state.
    fn rows(random: &mut Pcg64) -> Vec<Vec<(bool, f64)>> {
        let spreads = [0.15, 0.2, 0.25, 0.4];
        let states = states(random);
        let row = |(states, spread): (&Vec<bool>, &f64)| {
            let values = log_normal(random, 10.0, *spread, states.len());
            let value = |(state, value): (&bool, &f64)| {
                (*state, value.ln() - if *state { 0.25 } else { 0.0 })
            };
            states.iter().zip(&values).map(value).collect()
        };
        states.iter().zip(spreads.iter().cycle()).map(row).collect()
    }

    #[test]
    fn intervals_of_shifts_hold_what_they_say() {
        coverage("shift within rows", 0x00b1, |random| {
            let shift = Shift::within(&rows(random)).unwrap();
            let estimate = contrast(&[(1.0, shift.sample())], Level::P95).unwrap();
            estimate.interval.unwrap().contains((-0.25f64).exp())
        });
    }

    /// The rating of values from which the shift was taken out.
    #[test]
    fn intervals_without_a_shift_hold_what_they_say() {
        coverage("rating without a shift", 0x00b2, |random| {
            let rows = rows(random);
            let shift = Shift::within(&rows).unwrap();
            let without = |&(state, value): &(bool, f64)| {
                value.exp() / if state { shift.factor() } else { 1.0 }
            };
            let cells: Vec<LogSample> = rows
                .iter()
                .map(|row| LogSample::of(&row.iter().map(without).collect::<Vec<_>>()).unwrap())
                .collect();
            let far = |row: &Vec<(bool, f64)>| {
                row.iter().filter(|(state, _)| *state).count() as f64 / row.len() as f64
            };
            let share = rows.iter().map(far).sum::<f64>() / rows.len() as f64;
            let rated = rate(&cells, &[], &[(share, shift.error())], Level::P95).unwrap();
            rated.estimate.interval.unwrap().contains(10.0)
        });
    }
}
