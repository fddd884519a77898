//! Propagation that varies: a fixed delay and a random deviation; their sum is never negative.
//!
//! Sources: `delay` of tc-netem(8) for what can be asked; Pareto's distribution with shape 3, moved
//! so that its mean is 0, with the requested standard deviation. Deviations from netem:
//! * A first-order autoregression, x = rho last + sqrt(1 - rho^2) new, keeps mean and variance and
//!   gives neighbours a correlation of rho. netem mixes its 32-bit random numbers as rho last +
//!   (1 - rho) new before it looks up the distribution, which shrinks the variance to
//!   (1 - rho) / (1 + rho) of the requested one. In both, a correlated uniform or Pareto deviation is no longer
//!   exactly uniform or Pareto: sums of such are not.
//! * Distributions are computed, not looked up in tables of 4096 entries that end at four standard
//!   deviations.
//! * Frames overtake only if that is requested; then deviations larger than the delay are cut off
//!   at a delay of 0, which raises the mean. With their order kept, a frame waits for the ones
//!   before it, which raises the mean as well.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use btu_network::Shape;
use btu_units::{Bytes, Span, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::element::Step;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::random::Stream;
use crate::schedule::TimedQueue;

/// A delay that varies.
#[derive(Debug)]
pub struct Jitter {
    delay: Span,
    changes: TimedQueue<Span>,
    deviation: Deviation,
    keep_order: bool,
    limit: Limit,
    /// Frames that may still be overtaken, the earliest on top.
    flying: BinaryHeap<Reverse<Flying>>,
    /// How many frames came in: ties leave in their order.
    count: u64,
    out: Departures,
}

impl Jitter {
    /// A delay of `delay` that varies as `jitter` says; of `limit` only the frames count.
    pub fn new(delay: Span, jitter: &btu_network::Jitter, stream: Stream, limit: Limit) -> Self {
        Self {
            delay,
            changes: TimedQueue::default(),
            deviation: Deviation::new(jitter, stream),
            keep_order: jitter.keep_order,
            limit,
            flying: BinaryHeap::new(),
            count: 0,
            out: Departures::default(),
        }
    }

    /// Changes the mean delay of frames that come from `at` on.
    pub fn change(&mut self, at: Time, delay: Span) {
        self.changes.note(at, delay);
    }

    /// The due time of a frame that arrives at `now`.
    fn due(&mut self, now: Time) -> Time {
        while let Some((_, delay)) = self.changes.next_by(now) {
            self.delay = delay;
        }
        let nanoseconds = self.delay.nanoseconds() as f64 + self.deviation.next();
        now + Span::from_nanoseconds(nanoseconds.round().max(0.0) as u64)
    }

    /// Lets the frames go that no other frame can overtake any more.
    fn land(&mut self, now: Time) {
        while let Some(Reverse(next)) = self.flying.peek()
            && next.due <= now
        {
            self.out.send(next.frame, next.due);
            self.flying.pop();
        }
    }
}

impl Departing for Jitter {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        self.land(now);
        let due = self.due(now);
        if !self.limit.admits(
            self.flying.len() + self.out.later_than(now),
            Bytes::ZERO,
            Bytes::ZERO,
        ) {
            self.out.drop(frame, Cause::StoreFull);
        } else if self.keep_order {
            self.out.send(frame, due);
        } else {
            self.flying.push(Reverse(Flying { due, number: self.count, frame }));
            self.count += 1;
        }
    }

    fn advance(&mut self, now: Time) -> Step {
        self.land(now);
        self.flying.peek().map_or(Step::Idle, |Reverse(next)| Step::Wake(next.due))
    }

    fn held_elsewhere(&self) -> usize {
        self.flying.len()
    }
}

/// A frame on its way, ordered by due time and then by arrival.
#[derive(Debug)]
struct Flying {
    due: Time,
    number: u64,
    frame: Frame,
}

impl Flying {
    fn rank(&self) -> (Time, u64) {
        (self.due, self.number)
    }
}

impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Flying {}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flying {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// A sequence of deviations from the mean delay.
#[derive(Debug)]
struct Deviation {
    shape: Shape,
    spread_nanoseconds: f64,
    correlation: f64,
    /// The last deviation, in spreads; the first has none before it.
    last: Option<f64>,
    stream: Stream,
}

impl Deviation {
    fn new(jitter: &btu_network::Jitter, stream: Stream) -> Self {
        Self {
            shape: jitter.shape,
            spread_nanoseconds: jitter.spread.nanoseconds() as f64,
            correlation: jitter.correlation.share(),
            last: None,
            stream,
        }
    }

    /// The next deviation in nanoseconds.
    fn next(&mut self) -> f64 {
        let new = self.sample();
        let rho = self.correlation;
        let deviation = self.last.map_or(new, |last| rho * last + (1.0 - rho * rho).sqrt() * new);
        self.last = Some(deviation);
        deviation * self.spread_nanoseconds
    }

    /// A deviation by itself, in spreads, with mean 0.
    fn sample(&mut self) -> f64 {
        match self.shape {
            Shape::Uniform => 2.0 * self.stream.share() - 1.0,
            Shape::Normal => self.stream.normal(),
            // x_m u^(-1/3) has mean 3/2 x_m and standard deviation sqrt(3)/2 x_m.
            Shape::Pareto => {
                let share: f64 = self.stream.share();
                let over_least = (1.0 - share).cbrt().recip();
                (over_least - 1.5) * 2.0 / 3f64.sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::{Journey, drive};
    use btu_units::Probability;

    const FRAMES: u32 = 100_000;
    const SHAPES: [Shape; 3] = [Shape::Uniform, Shape::Normal, Shape::Pareto];

    fn jitter(shape: Shape, correlation: f64, keep_order: bool) -> btu_network::Jitter {
        let correlation = Probability::new(correlation).unwrap();
        btu_network::Jitter { spread: Span::from_milliseconds(1), shape, correlation, keep_order }
    }

    /// Draws many deviations, in units of the spread.
    fn deviations(shape: Shape, correlation: f64) -> Vec<f64> {
        let mut deviation =
            Deviation::new(&jitter(shape, correlation, false), Stream::new(1995, "jitter"));
        (0..FRAMES).map(|_| deviation.next() / 1e6).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn variance(values: &[f64]) -> f64 {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
    }

    fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
        values.sort_unstable_by(f64::total_cmp);
        values[(share * values.len() as f64) as usize]
    }

    fn asked_variance(shape: Shape) -> f64 {
        if shape == Shape::Uniform { 1.0 / 3.0 } else { 1.0 }
    }

    /// The mean of n values with correlation rho between neighbours varies by s^2/n
    /// (1+rho)/(1-rho); 99.9 % bounds.
    #[test]
    fn the_mean_is_not_moved() {
        for shape in SHAPES {
            for rho in [0.0, 0.5, 0.9] {
                let allowed = 3.29
                    * (asked_variance(shape) / f64::from(FRAMES) * (1.0 + rho) / (1.0 - rho))
                        .sqrt();
                let mean = mean(&deviations(shape, rho));
                assert!(mean.abs() < allowed, "{shape:?}, {rho}: {mean}, not 0 +- {allowed}");
            }
        }
    }

    /// A sample variance varies by s^4/n (k - 1) (1+rho^2)/(1-rho^2) for a kurtosis k of 1.8
    /// (uniform) or 3 (normal). A Pareto distribution of shape 3 has none: its sample variance
    /// converges slowly, and is tested by its quantiles.
    #[test]
    fn correlation_keeps_the_variance() {
        for (shape, kurtosis) in [(Shape::Uniform, 1.8), (Shape::Normal, 3.0)] {
            for rho in [0.0f64, 0.5, 0.9] {
                let factor = (1.0 + rho * rho) / (1.0 - rho * rho);
                // The kurtosis of a correlated uniform deviation is between its own and 3.
                let kurtosis = if rho > 0.0 { 3.0 } else { kurtosis };
                let asked = asked_variance(shape);
                let allowed = 3.29 * asked * ((kurtosis - 1.0) / f64::from(FRAMES) * factor).sqrt();
                let variance = variance(&deviations(shape, rho));
                assert!(
                    (variance - asked).abs() < allowed,
                    "{shape:?}, {rho}: {variance}, not {asked} +- {allowed}"
                );
            }
        }
    }

    /// Inverse distribution functions at q; a sample quantile varies by sqrt(q(1-q)/n) / density,
    /// here allowed as the quantiles of shares 3.29 sqrt(q(1-q)/n) to either side.
    #[test]
    fn quantiles_are_those_of_the_distribution() {
        let pareto = |q: f64| ((1.0 - q).cbrt().recip() - 1.5) * 2.0 / 3f64.sqrt();
        for (shape, q, expected) in [
            (Shape::Uniform, 0.1, -0.8),
            (Shape::Uniform, 0.9, 0.8),
            (Shape::Normal, 0.158_655, -1.0),
            (Shape::Normal, 0.5, 0.0),
            (Shape::Normal, 0.977_25, 2.0),
            (Shape::Pareto, 0.01, pareto(0.01)),
            (Shape::Pareto, 0.5, pareto(0.5)),
            (Shape::Pareto, 0.99, pareto(0.99)),
        ] {
            let sample = deviations(shape, 0.0);
            let margin = 3.29 * (q * (1.0 - q) / f64::from(FRAMES)).sqrt();
            let (low, high) = (quantile(sample.clone(), q - margin), quantile(sample, q + margin));
            assert!(
                (low..=high).contains(&expected),
                "{shape:?} at {q}: {expected} not in {low} to {high}"
            );
        }
    }

    /// Bartlett: an autocorrelation of a first-order process varies by (1 - rho^2)/n; 99.9 %,
    /// doubled for the tails of the Pareto distribution, which the formula does not know.
    #[test]
    fn neighbours_are_correlated_as_asked() {
        for shape in SHAPES {
            for rho in [0.0, 0.25, 0.9] {
                let values = deviations(shape, rho);
                let pairs: Vec<f64> = values.windows(2).map(|pair| pair[0] * pair[1]).collect();
                let seen = (mean(&pairs) - mean(&values).powi(2)) / variance(&values);
                let allowed = 2.0 * 3.29 * ((1.0 - rho * rho) / f64::from(FRAMES)).sqrt();
                assert!((seen - rho).abs() < allowed, "{shape:?}: {seen}, not {rho} +- {allowed}");
            }
        }
    }

    fn journey(delay: Span, shape: Shape, keep_order: bool) -> Journey {
        let stream = Stream::new(1995, "jitter");
        let mut element =
            Jitter::new(delay, &jitter(shape, 0.0, keep_order), stream, Limit::frames(1000));
        let script: Vec<_> = (0..2000)
            .map(|tag| {
                (Time::from_nanoseconds(u64::from(tag) * 100_000), Frame::new(tag, Bytes::new(60)))
            })
            .collect();
        drive(&mut element, &script)
    }

    #[test]
    fn order_is_kept_or_not_as_asked() {
        let in_order =
            |journey: Journey| journey.arrivals.windows(2).all(|pair| pair[0].tag < pair[1].tag);
        for shape in SHAPES {
            assert!(in_order(journey(Span::from_milliseconds(5), shape, true)), "{shape:?}");
            assert!(!in_order(journey(Span::from_milliseconds(5), shape, false)), "{shape:?}");
        }
    }

    #[test]
    fn nobody_arrives_before_it_was_sent() {
        let journey = journey(Span::from_microseconds(100), Shape::Normal, false);
        assert_eq!(journey.arrivals.len(), 2000);
        assert!(journey.arrivals.iter().all(|arrival| arrival.at.since(Time::ZERO).nanoseconds()
            >= u64::from(arrival.tag) * 100_000));
    }
}
