//! One direction of a line, as the network file draws it, from elements.
//!
//! ```text
//! queue and transmitter -> propagation (with jitter) -> loss -> corruption -> duplication -> reordering
//! ```

use btu_network::{Direction, Discipline, Rate, Reordering};
use btu_units::{BitRate, Bytes, Probability, Serializer, Span};

use crate::framing::{frame_of, occupied_bits};
use crate::loss::Scope;
use crate::random::{Bernoulli, Stream};
use crate::{
    Chain, Corrupt, Delay, Duplicate, Jitter, Limit, Line, Loss, Reorder, Stage, TraceLine,
    Transmitter,
};

/// A frame that carries a packet of 1500 octets, as a driver sees it.
const FULL_FRAME: Bytes = Bytes::new(1514);

/// One direction of a line as elements in series, named `<name>/line`, `<name>/delay` and so on;
/// their random streams come from `seed` and those names. Parts that do nothing are left out, so
/// that a plain line is one element.
pub fn line(direction: &Direction, name: &str, seed: u64) -> Chain {
    Draft { direction, name, seed, changes: false }.chain()
}

/// As [`line()`], with every part that [`Chain::change`] may change.
pub fn changing_line(direction: &Direction, name: &str, seed: u64) -> Chain {
    Draft { direction, name, seed, changes: true }.chain()
}

/// A station's impairments of incoming packets, in two parts named `<name>/loss` and
/// `<name>/delay`, which do nothing until they are changed ([`Chain::change`]).
///
/// Source: BTU (1995), section 4.1: DR drops incoming IP packets with a probability, DL delays them
/// by a fixed time. Deviation: the delay is every frame's, so that address resolution cannot
/// overtake packets; IP packets alone are lost.
pub(crate) fn input(name: &str, seed: u64) -> Chain {
    let bernoulli = Bernoulli::new(seed, &format!("{name}/loss"), Probability::NEVER);
    let loss = Stage::Loss(Box::new(Loss::new(bernoulli, Scope::IpOnly)));
    let delay = Stage::Delay(Delay::new(Span::ZERO, Limit::frames(Limit::MOST_FRAMES)));
    Chain::new(format!("{name}/loss"), loss).then(format!("{name}/delay"), delay)
}

/// A line in the making.
struct Draft<'a> {
    direction: &'a Direction,
    name: &'a str,
    seed: u64,
    changes: bool,
}

impl Draft<'_> {
    fn chain(&self) -> Chain {
        let parts = [
            ("delay", self.delay()),
            ("loss", self.loss()),
            ("corrupt", self.corrupt()),
            ("duplicate", self.duplicate()),
            ("reorder", self.reorder()),
        ];
        let line = Chain::new(self.name_of("line"), self.line());
        let parts =
            parts.into_iter().filter_map(|(name, stage)| Some((self.name_of(name), stage?)));
        parts.fold(line, |chain, (name, stage)| chain.then(name, stage))
    }

    fn line(&self) -> Stage {
        let Direction { rate, framing, queue, mtu, .. } = self.direction;
        let (name, longest) = (self.name_of("line"), frame_of(*mtu));
        match (rate, queue) {
            (Rate::Trace(trace), queue) => Stage::TraceLine(Box::new(
                TraceLine::new(trace, queue, &name, self.seed).up_to(longest),
            )),
            (Rate::Fixed(rate), Discipline::TailDrop { limit }) => Stage::Line(
                Line::new(*rate, Limit::of(*limit, *rate)).framed(*framing).up_to(longest),
            ),
            (Rate::Fixed(rate), queue) => {
                let transmitter = Transmitter::new(*rate, queue, &name, self.seed);
                Stage::Transmitter(Box::new(transmitter.framed(*framing).up_to(longest)))
            }
        }
    }

    fn delay(&self) -> Option<Stage> {
        let Direction { delay, jitter, .. } = self.direction;
        match jitter {
            Some(jitter) => {
                let stream = Stream::new(self.seed, &self.name_of("delay"));
                // Deviations beyond eight spreads are rare enough, and the limit has room for a
                // thousand more frames.
                let flight = self.flight(*delay + jitter.spread * 8);
                Some(Stage::Jitter(Box::new(Jitter::new(*delay, jitter, stream, flight))))
            }
            None if *delay > Span::ZERO || self.changes => {
                Some(Stage::Delay(Delay::new(*delay, self.flight(*delay))))
            }
            None => None,
        }
    }

    fn loss(&self) -> Option<Stage> {
        let loss = self.direction.loss;
        let bernoulli = self.bernoulli("loss", Probability::NEVER);
        (may_lose(loss) || self.changes)
            .then(|| Stage::Loss(Box::new(Loss::new(bernoulli, Scope::Every).of(loss))))
    }

    fn corrupt(&self) -> Option<Stage> {
        let share = self.direction.corrupt;
        (share > Probability::NEVER)
            .then(|| Stage::Corrupt(Corrupt::new(self.bernoulli("corrupt", share))))
    }

    fn duplicate(&self) -> Option<Stage> {
        let share = self.direction.duplicate;
        (share > Probability::NEVER)
            .then(|| Stage::Duplicate(Duplicate::new(self.bernoulli("duplicate", share))))
    }

    fn reorder(&self) -> Option<Stage> {
        let Reordering { share, depth } = self.direction.reorder;
        let timeout = self.timeout();
        let element =
            || Reorder::new(self.bernoulli("reorder", share), depth, timeout, self.flight(timeout));
        (share > Probability::NEVER).then(|| Stage::Reorder(Box::new(element())))
    }

    fn name_of(&self, element: &str) -> String {
        format!("{}/{element}", self.name)
    }

    fn bernoulli(&self, element: &str, odds: Probability) -> Bernoulli {
        Bernoulli::new(self.seed, &self.name_of(element), odds)
    }

    /// The limit of frames in flight; unknown if rate and delay may change.
    fn flight(&self, delay: Span) -> Limit {
        if self.changes {
            Limit::frames(Limit::MOST_FRAMES)
        } else {
            Limit::for_flight(self.mean_rate(), delay)
        }
    }

    fn mean_rate(&self) -> BitRate {
        match &self.direction.rate {
            Rate::Fixed(rate) => *rate,
            Rate::Trace(trace) => trace.mean_rate(),
        }
    }

    /// How long a frame is held back for reordering at most: eight full frames' time, at least 5
    /// ms.
    fn timeout(&self) -> Span {
        let bits = occupied_bits(self.direction.framing, FULL_FRAME);
        Span::from_milliseconds(5).max(Serializer::new(self.mean_rate()).transmit_bits(bits) * 8)
    }
}

/// Whether it ever loses a frame: also before a chain of states has reached its long-run share.
fn may_lose(loss: btu_network::Loss) -> bool {
    match loss {
        btu_network::Loss::None => false,
        btu_network::Loss::Random(share) => share > Probability::NEVER,
        btu_network::Loss::GilbertElliott { bad, good, .. } => {
            bad > Probability::NEVER || good > Probability::NEVER
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::virtual_time::drive;
    use crate::{Cause, Frame};
    use btu_network::{Change, Trace, Way};
    use btu_units::Time;

    const TEN: BitRate = BitRate::from_megabits_per_second(10);

    fn names(chain: &Chain) -> Vec<&str> {
        chain.accounts().map(|(name, _)| name).collect()
    }

    fn change(
        rate: Option<BitRate>,
        delay: Option<Span>,
        loss: Option<btu_network::Loss>,
    ) -> Change {
        Change { at: Span::ZERO, way: Way::Both, rate, delay, loss }
    }

    #[test]
    fn parts_that_do_nothing_are_left_out() {
        let plain = Direction::new(TEN, Span::ZERO);
        assert_eq!(names(&line(&plain, "up", 1)), ["up/line"]);
        assert_eq!(names(&changing_line(&plain, "up", 1)), ["up/line", "up/delay", "up/loss"]);
        let share = Probability::new(0.1).unwrap();
        let full = Direction {
            loss: btu_network::Loss::Random(share),
            corrupt: share,
            duplicate: share,
            reorder: Reordering { share, depth: 3 },
            ..Direction::new(TEN, Span::from_milliseconds(1))
        };
        let all = ["a/line", "a/delay", "a/loss", "a/corrupt", "a/duplicate", "a/reorder"];
        assert_eq!(names(&line(&full, "a", 1)), all);
    }

    #[test]
    fn a_change_says_whether_it_can_be_made() {
        let all = change(Some(TEN), Some(Span::ZERO), Some(btu_network::Loss::None));
        let plain = Direction::new(TEN, Span::ZERO);
        assert!(changing_line(&plain, "up", 1).change(&all, Time::ZERO));
        assert!(!line(&plain, "up", 1).change(&all, Time::ZERO), "no delay in it");
        assert!(line(&plain, "up", 1).change(&change(Some(TEN), None, None), Time::ZERO));
        let recorded =
            Direction { rate: Rate::Trace(Trace { opportunities_ms: vec![1] }), ..plain };
        assert!(
            !changing_line(&recorded, "up", 1).change(&all, Time::ZERO),
            "a trace has no rate to change"
        );
    }

    /// Frames of 1226 octets (1250 occupied, 1 ms at 10 Mb/s, of which the gap is 9.6 us) every 2
    /// ms; at 5 ms the rate becomes tenfold, at 9 ms the delay 3 instead of 1 ms, at 15 ms
    /// everything is lost.
    #[test]
    fn changes_come_at_their_times() {
        let mut chain = changing_line(&Direction::new(TEN, Span::from_milliseconds(1)), "up", 1);
        let at = |milliseconds| Time::ZERO + Span::from_milliseconds(milliseconds);
        let always = btu_network::Loss::Random(Probability::ALWAYS);
        for (time, what) in [
            (15, change(None, None, Some(always))),
            (5, change(Some(BitRate::from_megabits_per_second(100)), None, None)),
            (9, change(None, Some(Span::from_milliseconds(3)), None)),
        ] {
            assert!(chain.change(&what, at(time)));
        }
        let script: Vec<_> =
            (0..8).map(|tag| (at(u64::from(tag) * 2), Frame::new(tag, Bytes::new(1226)))).collect();
        let journey = drive(&mut chain, &script);
        let microseconds: Vec<f64> = journey
            .arrivals
            .iter()
            .map(|arrival| arrival.at.since(Time::ZERO).microseconds())
            .collect();
        // Sent at 0, 2, 4 and after the change at 6, 8, 10; the ones sent at 12 and 14 pass the
        // loss after 15 ms.
        assert_eq!(microseconds, [1990.4, 3990.4, 5990.4, 7099.04, 9099.04, 13_099.04]);
        assert_eq!(journey.drops, [(6, Cause::Loss), (7, Cause::Loss)]);
    }
}
