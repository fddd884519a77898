//! Propagation: every frame arrives after the same delay, and in order.
//!
//! Source: the fixed delay of netem (tc-netem(8)). Deviation: netem's `limit` makes its delay line
//! double as a queue; here the queue belongs to the line and this store's limit is only a bound on
//! memory.

use btu_units::{Bytes, Span, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::frame::Frame;
use crate::limit::Limit;
use crate::schedule::TimedQueue;

/// A fixed delay. It may be changed under way: frames in flight keep their due time and are never
/// overtaken.
#[derive(Debug)]
pub struct Delay {
    span: Span,
    changes: TimedQueue<Span>,
    limit: Limit,
    out: Departures,
}

impl Delay {
    /// A delay of `delay`; of `limit` only the frames count.
    pub fn new(delay: Span, limit: Limit) -> Self {
        Self { span: delay, changes: TimedQueue::default(), limit, out: Departures::default() }
    }

    /// Changes the delay of frames to come.
    pub fn set(&mut self, delay: Span) {
        self.span = delay;
    }

    /// Changes the delay of frames that come from `at` on.
    pub fn change(&mut self, at: Time, delay: Span) {
        self.changes.note(at, delay);
    }
}

impl Departing for Delay {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        while let Some((_, delay)) = self.changes.next_by(now) {
            self.span = delay;
        }
        if self.limit.admits(self.out.later_than(now), Bytes::ZERO, Bytes::ZERO) {
            self.out.send(frame, now + self.span);
        } else {
            self.out.drop(frame, Cause::StoreFull);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, Step};

    #[test]
    fn a_shorter_delay_does_not_let_frames_overtake() {
        let mut delay = Delay::new(Span::from_milliseconds(1), Limit::frames(10));
        delay.accept(Frame::new(0, Bytes::new(60)), Time::ZERO);
        delay.set(Span::ZERO);
        delay.accept(Frame::new(1, Bytes::new(60)), Time::from_nanoseconds(10));
        let due = Time::from_nanoseconds(1_000_000);
        assert_eq!(delay.poll(Time::from_nanoseconds(10)), Step::Wake(due));
        assert!(matches!(delay.poll(due), Step::Deliver(Frame { tag: 0, .. }, at) if at == due));
        assert!(matches!(delay.poll(due), Step::Deliver(Frame { tag: 1, .. }, at) if at == due));
        assert_eq!(delay.poll(due), Step::Idle);
    }

    #[test]
    fn a_full_store_drops_and_says_so() {
        let mut delay = Delay::new(Span::from_milliseconds(1), Limit::frames(1));
        delay.accept(Frame::new(0, Bytes::new(60)), Time::ZERO);
        delay.accept(Frame::new(1, Bytes::new(60)), Time::ZERO);
        assert!(matches!(
            delay.poll(Time::ZERO),
            Step::Drop(Frame { tag: 1, .. }, Cause::StoreFull)
        ));
    }
}
