//! The expected time of a message, from those of other sizes.

use btu_units::Bytes;

/// Sizes closer together than this ratio show noise rather than the cost of a byte.
const FAR_ENOUGH: f64 = 1.25;

/// The shortest time that is expected of a message, in seconds.
const SHORTEST: f64 = 1e-9;

/// Sizes in bytes and their one-way times in seconds, in order of size.
pub(super) struct Times(Vec<(f64, f64)>);

/// A part of them.
type Known = [(f64, f64)];

impl Times {
    pub(super) fn of(known: &[(Bytes, f64)]) -> Self {
        let finite = known.iter().filter(|(_, seconds)| seconds.is_finite());
        let mut times: Vec<(f64, f64)> =
            finite.map(|(size, seconds)| (size.count() as f64, *seconds)).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(times)
    }

    /// The largest size, in bytes; 0 without any.
    pub(super) fn largest(&self) -> f64 {
        self.0.last().map_or(0.0, |(size, _)| *size)
    }

    /// How many times as large or as small this size is as its nearest neighbour, at least 1.
    pub(super) fn far(&self, size: Bytes) -> f64 {
        let (below, above) = self.around(size);
        let size = size.count() as f64;
        let below = below.last().map_or(f64::INFINITY, |(other, _)| size / other);
        let above = above.first().map_or(f64::INFINITY, |(other, _)| other / size);
        below.min(above)
    }

    /// The expected one-way time of a message, in seconds: between those of its neighbours, and
    /// beyond the largest from the two sizes before.
    pub(super) fn expected(&self, size: Bytes) -> f64 {
        let (below, above) = self.around(size);
        let size = size.count() as f64;
        let expected = match (below.last(), above.first()) {
            (Some((a, low)), Some((b, high))) => low + (high - low) * (size - a) / (b - a),
            (None, Some((_, high))) => *high,
            (Some(_), None) => beyond(size, below),
            (None, None) => SHORTEST,
        };
        expected.max(SHORTEST)
    }

    /// The known sizes up to this one, and those above.
    fn around(&self, size: Bytes) -> (&Known, &Known) {
        self.0.split_at(self.0.partition_point(|(other, _)| *other <= size.count() as f64))
    }
}

/// The expected time of a message that is larger than all of `known`.
///
/// `NetPIPE` 5 divides the target by the last time, as if the next size took as long; 1996's took
/// it to grow as the size does. The truth lies between, and the two sizes before give an estimate.
fn beyond(size: f64, known: &Known) -> f64 {
    let Some((&(last_size, last), before)) = known.split_last() else { return SHORTEST };
    let apart = before.iter().rev().find(|(other, _)| other * FAR_ENOUGH <= last_size);
    let slope = apart.map(|(other, time)| (last - time) / (last_size - other));
    let growth = slope.unwrap_or(0.0) * (size - last_size);
    let in_proportion = last * size / last_size;
    (last + growth).clamp(last.min(in_proportion), last.max(in_proportion))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(known: &[(u64, f64)]) -> Times {
        Times::of(&known.iter().map(|(size, time)| (Bytes::new(*size), *time)).collect::<Vec<_>>())
    }

    #[test]
    fn a_time_lies_between_those_of_its_neighbours_or_on_their_line() {
        let known = times(&[(300, 4.0), (100, 2.0)]);
        for (size, expected) in [(50, 2.0), (100, 2.0), (200, 3.0), (300, 4.0), (500, 6.0)] {
            assert!((known.expected(Bytes::new(size)) - expected).abs() < 1e-12, "{size} B");
        }
        assert!((times(&[]).expected(Bytes::new(1)) - SHORTEST).abs() < 1e-15);
        let unknown = times(&[(1, f64::NAN)]);
        assert!((unknown.expected(Bytes::new(1)) - SHORTEST).abs() < 1e-15);
    }

    #[test]
    fn a_larger_message_takes_as_long_at_least_and_in_proportion_at_most() {
        // The larger one was quicker, or the smaller one took no time.
        for (smaller, least, most) in [(9.0, 2.0, 2.0), (0.0, 4.0, 4.0)] {
            let found = times(&[(100, smaller), (200, 2.0)]).expected(Bytes::new(400));
            assert!((least..=most).contains(&found), "{found}");
        }
    }

    #[test]
    fn distances_are_ratios() {
        let known = times(&[(100, 1.0), (1600, 1.0)]);
        for (size, expected) in [(50, 2.0), (400, 4.0), (800, 2.0), (3200, 2.0), (100, 1.0)] {
            assert!((known.far(Bytes::new(size)) - expected).abs() < 1e-12, "{size} B");
        }
    }
}
