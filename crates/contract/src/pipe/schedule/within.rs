//! The order of sizes in a limited time.
//!
//! The next size is the one farthest, by ratio, from all measured sizes, among those that are
//! expected to fit into the rest of the time. So the measured sizes are at any moment spread over
//! the range that the network can carry in that time. No message is much larger than those whose
//! time is known.

use btu_units::{Bytes, Span};

use super::times::Times;
use super::{Next, PILOT, Progress, Schedule};

/// The payload of a TCP segment of an Ethernet, which takes little more than a second at 9600 b/s:
/// messages up to this size need no estimate.
pub(super) const SEGMENT: Bytes = Bytes::new(1448);

/// The largest first message. The next pilot is a segment, and the two times give a rate.
const FIRST: Bytes = Bytes::new(SEGMENT.count() / STEP as u64);

/// No message is more than this many times as large as the largest whose time is known: a rate
/// that is estimated from smaller messages is too uncertain.
pub(super) const STEP: f64 = 16.0;

/// The share of the time that one size may take, unless a single trial takes longer: seven steps
/// lead from 1 B to 8 MiB, and as many sizes fit between them.
const SHARE_OF_A_SIZE: f64 = 1.0 / 14.0;

/// The share of the remaining time that a size larger than all before may take; what is left is for
/// sizes between the measured ones.
const SHARE_OF_THE_LARGEST: f64 = 1.0 / 2.0;

/// The share of the time below which the whole pilot is sent.
const SHARE_OF_THE_PILOT: f64 = 1.0 / 100.0;

/// With fewer trials than these, the warm-up is short.
const FEW_TRIALS: u64 = 3;

/// TCP's initial window (RFC 6928): no earlier message has to open it for one that fits.
const INITIAL_WINDOW: Bytes = Bytes::new(10 * SEGMENT.count());

impl Schedule {
    /// The size farthest from all measured ones that fits into the rest of `time`.
    pub(super) fn within(&self, time: Span, progress: &Progress) -> Option<Next> {
        let open = self.missing(&progress.points, false);
        let open: Vec<Bytes> = open.filter(|size| !progress.abandoned.contains(size)).collect();
        let moment = Moment { schedule: self, time, progress, times: self.times(progress) };
        if let Some(pilot) = moment.pilot(&open) {
            return Some(pilot);
        }
        let measured: Vec<_> = progress.points.iter().map(|point| (point.size, 0.0)).collect();
        let measured = Times::of(&measured);
        let fitting = open.into_iter().filter(|size| moment.fits(*size));
        // Of sizes equally far, as all are before the first point, the smallest.
        let far = |size| measured.far(size);
        let size = fitting.max_by(|a, b| far(*a).total_cmp(&far(*b)).then(b.cmp(a)))?;
        Some(moment.measure(size))
    }
}

/// What a decision depends on.
struct Moment<'a> {
    schedule: &'a Schedule,
    time: Span,
    progress: &'a Progress,
    times: Times,
}

impl Moment<'_> {
    /// A pilot, while nothing is known of messages about as large as the next larger of `open`.
    fn pilot(&self, open: &[Bytes]) -> Option<Next> {
        if let Some(first) = self.first_pilot(*open.iter().min()?) {
            return Some(first);
        }
        let known = self.times.largest();
        let larger = open.iter().map(|size| size.count() as f64).filter(|size| *size > known);
        let step = Bytes::new((known * STEP) as u64);
        let is_far = larger.fold(f64::INFINITY, f64::min) > known * STEP;
        let is_useful = is_far && open.iter().any(|size| *size > step) && self.fits(step);
        is_useful.then_some(Next::Pilot { size: step, repetitions: 1 })
    }

    /// One small message, and if it was quick, the whole pilot.
    fn first_pilot(&self, smallest: Bytes) -> Option<Next> {
        let size = smallest.min(FIRST);
        match self.progress.pilots[..] {
            [] => Some(Next::Pilot { size, repetitions: 1 }),
            [(_, seconds)] if self.progress.points.is_empty() => {
                let whole = seconds * self.schedule.pattern.one_way_parts() * PILOT as f64;
                let is_quick = whole < self.time.seconds() * SHARE_OF_THE_PILOT;
                is_quick.then_some(Next::Pilot { size, repetitions: PILOT })
            }
            _ => None,
        }
    }

    /// Whether a trial of this size is expected to end in time. The first small size is measured in
    /// any case: one time is more than none.
    fn fits(&self, size: Bytes) -> bool {
        let largest = self.progress.points.iter().map(|point| point.size).max();
        if largest.is_none() && size <= SEGMENT {
            return true;
        }
        let is_near = size.count() as f64 <= self.times.largest() * STEP;
        let rest = (self.time - self.progress.spent).seconds();
        let is_larger = largest.is_some_and(|largest| size > largest);
        let share = if is_larger { SHARE_OF_THE_LARGEST } else { 1.0 };
        let warm_up = self.warm_up(size, self.short_warm_up(size));
        let trial = self.round(size, self.schedule.least_repetitions());
        is_near && warm_up + trial <= rest * share
    }

    /// As many trials of this size as fit into its share of the time, at least one.
    fn measure(&self, size: Bytes) -> Next {
        let repetitions = self.schedule.repetitions(self.times.expected(size));
        let trial = self.round(size, repetitions);
        let share = self.time.seconds() * SHARE_OF_A_SIZE;
        let fitting = |warm_up| ((share - self.warm_up(size, warm_up)) / trial) as u64;
        let planned = self.schedule.precision.warm_up;
        let is_long_enough = fitting(planned) >= FEW_TRIALS;
        let warm_up = if is_long_enough { planned } else { self.short_warm_up(size) };
        let most = u64::from(self.schedule.precision.trials).max(1);
        let trials = fitting(warm_up).clamp(1, most) as u32;
        Next::Measure { size, warm_up, trials, repetitions }
    }

    /// The warm-up where time is short: one message opens the window for larger ones.
    fn short_warm_up(&self, size: Bytes) -> u64 {
        if size <= INITIAL_WINDOW { 0 } else { self.schedule.precision.warm_up.min(1) }
    }

    /// Seconds of a warm-up of this many exchanges.
    fn warm_up(&self, size: Bytes, exchanges: u64) -> f64 {
        if exchanges == 0 { 0.0 } else { self.round(size, exchanges) }
    }

    /// Seconds of a round of this many repetitions.
    fn round(&self, size: Bytes, repetitions: u64) -> f64 {
        let around = self.progress.around.map_or(0.0, Span::seconds);
        let once = self.times.expected(size) * self.schedule.pattern.one_way_parts();
        around + once * repetitions as f64
    }
}

#[cfg(test)]
mod tests;
