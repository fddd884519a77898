//! Random reordering: a share of frames is held back until some later ones have overtaken them.
//!
//! Source: RFC 4737 for what reordering is: a frame is reordered when one with a higher number came
//! before it, so each frame held back here counts once. A held frame leaves right behind the
//! `depth`-th frame that passes it, or when its timeout is at an end, because traffic may stop.
//! Deviation from `reorder` of tc-netem(8): that sends a share of packets ahead of a delay line and
//! needs a delay to work; this one needs none.

use std::collections::VecDeque;

use btu_units::{Bytes, Span, Time};

use crate::account::Cause;
use crate::departures::{Departing, Departures};
use crate::element::Step;
use crate::frame::Frame;
use crate::limit::Limit;
use crate::random::Bernoulli;

/// A reordering of a share of frames.
#[derive(Debug)]
pub struct Reorder {
    bernoulli: Bernoulli,
    depth: u32,
    timeout: Span,
    limit: Limit,
    /// Oldest first; therefore also in the order in which they will leave.
    held: VecDeque<Held>,
    out: Departures,
}

#[derive(Debug)]
struct Held {
    frame: Frame,
    /// The number of frames that must still pass.
    to_pass: u32,
    until: Time,
}

impl Reorder {
    /// Holds back the frames that `bernoulli` selects until `depth` (at least one) frames have
    /// passed or `timeout` is over; of `limit` only the frames count.
    pub fn new(bernoulli: Bernoulli, depth: u32, timeout: Span, limit: Limit) -> Self {
        Self {
            bernoulli,
            depth: depth.max(1),
            timeout,
            limit,
            held: VecDeque::new(),
            out: Departures::default(),
        }
    }

    fn hold(&mut self, frame: Frame, now: Time) {
        if self.limit.admits(self.held.len(), Bytes::ZERO, Bytes::ZERO) {
            self.held.push_back(Held { frame, to_pass: self.depth, until: now + self.timeout });
        } else {
            self.out.drop(frame, Cause::StoreFull);
        }
    }

    fn pass(&mut self, frame: Frame, now: Time) {
        self.out.send(frame, now);
        for held in &mut self.held {
            held.to_pass -= 1;
        }
        while let Some(held) = self.held.pop_front_if(|held| held.to_pass == 0) {
            self.out.send(held.frame, now);
        }
    }

    /// Releases the frames that have reached their timeout by `now`.
    fn expire(&mut self, now: Time) {
        while let Some(held) = self.held.pop_front_if(|held| held.until <= now) {
            self.out.send(held.frame, held.until);
        }
    }
}

impl Departing for Reorder {
    fn departures(&self) -> &Departures {
        &self.out
    }

    fn departures_mut(&mut self) -> &mut Departures {
        &mut self.out
    }

    fn take(&mut self, frame: Frame, now: Time) {
        self.expire(now);
        if self.bernoulli.decide() { self.hold(frame, now) } else { self.pass(frame, now) }
    }

    fn advance(&mut self, now: Time) -> Step {
        self.expire(now);
        self.held.front().map_or(Step::Idle, |held| Step::Wake(held.until))
    }

    fn held_elsewhere(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::drive;
    use crate::element::Element;
    use btu_units::Probability;

    fn reorder(share: f64, depth: u32) -> Reorder {
        let bernoulli = Bernoulli::new(1, "reorder", Probability::new(share).unwrap());
        Reorder::new(bernoulli, depth, Span::from_milliseconds(5), Limit::frames(100))
    }

    fn frames(count: u32) -> Vec<(Time, Frame)> {
        (0..count)
            .map(|n| (Time::from_nanoseconds(u64::from(n)), Frame::new(n, Bytes::new(60))))
            .collect()
    }

    #[test]
    fn a_held_frame_is_overtaken_by_as_many_as_asked() {
        let arrivals = drive(&mut reorder(0.05, 3), &frames(1000)).arrivals;
        let place = |tag: u32| arrivals.iter().position(|arrival| arrival.tag == tag).unwrap();
        let overtaken: Vec<usize> = (0..990)
            .map(|tag| (tag + 1..1000).filter(|&later| place(later) < place(tag)).count())
            .collect();
        assert!(overtaken.iter().all(|&by| by == 0 || by == 3), "{overtaken:?}");
        assert!(overtaken.contains(&3));
    }

    #[test]
    fn timeout_ends_when_traffic_stops() {
        let mut reorder = reorder(1.0, 3);
        reorder.accept(Frame::new(0, Bytes::new(60)), Time::ZERO);
        let end = Time::from_nanoseconds(5_000_000);
        assert_eq!(reorder.poll(Time::ZERO), Step::Wake(end));
        assert!(matches!(reorder.poll(end), Step::Deliver(_, due) if due == end));
    }
}
