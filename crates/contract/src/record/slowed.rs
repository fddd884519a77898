//! Tells how much slower processors are at times than at their best.

use btu_units::Span;

/// The quick time is at this part of the readings in rising order: one in so many may be an outlier
/// below it. It is a small part, since a reading is the mean of four: where each is slow half of the time, one
/// reading in sixteen is quick.
const BELOW_QUICK: usize = 100;

/// The time that a fixed piece of arithmetic takes when nothing slows the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slowed {
    quick: Span,
}

impl Slowed {
    /// By these readings; `None` if one of them is missing, or all are.
    pub fn of(times: impl IntoIterator<Item = Option<Span>>) -> Option<Self> {
        let mut times: Vec<Span> = times.into_iter().collect::<Option<_>>()?;
        times.sort_unstable();
        let quick = times.get(times.len() / BELOW_QUICK).filter(|quick| **quick > Span::ZERO)?;
        Some(Self { quick: *quick })
    }

    /// The time when nothing slows the processors.
    pub const fn quick(self) -> Span {
        self.quick
    }

    /// The logarithm of this time over the quick one: 0 at full speed, 0.1 where everything takes a tenth longer.
    pub fn slowness(self, time: Span) -> f64 {
        (time.nanoseconds().max(1) as f64 / self.quick.nanoseconds() as f64).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(microseconds: u64) -> Span {
        Span::from_microseconds(microseconds)
    }

    #[test]
    fn slowness_is_the_logarithm_of_the_time_over_a_quick_one() {
        let times = [vec![us(20)], vec![us(43); 12], vec![us(62); 87]].concat();
        let slowed = Slowed::of(times.into_iter().map(Some)).unwrap();
        assert_eq!(slowed.quick(), us(43), "one in a hundred may be too small");
        assert!(slowed.slowness(us(43)).abs() < 1e-12);
        assert!((slowed.slowness(us(86)) - 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn without_readings_nothing_is_told() {
        assert_eq!(Slowed::of([]), None);
        assert_eq!(Slowed::of([Some(us(43)), None]), None);
        assert_eq!(Slowed::of([Some(us(0))]), None);
    }
}
