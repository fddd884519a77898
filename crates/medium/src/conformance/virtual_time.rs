//! The simplest driver: a clock that jumps from event to event.

use btu_network::Direction;
use btu_units::{Bytes, Span, Time};

use super::Bench;
use crate::account::Cause;
use crate::element::{Element, Step};
use crate::frame::{Damage, Frame};
use crate::link::line;

/// The outcome of the frames of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Journey {
    /// Frames that left, with their due times.
    pub arrivals: Vec<Arrival>,
    /// Frames that were dropped.
    pub drops: Vec<(u32, Cause)>,
    /// Copies that were announced.
    pub copies: Vec<u32>,
}

/// A frame that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The tag of the frame, as its driver set it.
    pub tag: u32,
    /// When it was due.
    pub at: Time,
    /// Whether a bit of it was inverted.
    pub damaged: bool,
}

/// Drives `element` with frames at ascending times and polls it exactly at its wake-up times, until
/// it holds no frame.
///
/// # Panics
/// When the element breaks its contract.
pub fn drive(element: &mut impl Element, script: &[(Time, Frame)]) -> Journey {
    drive_late(element, script, |_| false)
}

/// As [`drive`], but without the wake-ups for which `skip`, called with their number, returns true.
///
/// # Panics
/// When the element breaks its contract.
pub fn drive_late(
    element: &mut impl Element,
    script: &[(Time, Frame)],
    mut skip: impl FnMut(usize) -> bool,
) -> Journey {
    let mut journey = Journey::default();
    let mut wake = None;
    let mut polls = 0;
    for &(at, frame) in script {
        while let Some(time) = wake.filter(|&time| time <= at) {
            polls += 1;
            wake = if skip(polls) { None } else { journey.empty(element, time) };
        }
        element.accept(frame, at);
        polls += 1;
        wake = if skip(polls) { None } else { journey.empty(element, at) };
    }
    let end = Time::from_nanoseconds(u64::MAX);
    assert_eq!(journey.empty(element, end), None, "something is left for ever");
    assert_eq!(element.account().held, 0);
    journey
}

impl Journey {
    /// Polls until the element has nothing more for now; returns its wake-up time.
    fn empty(&mut self, element: &mut impl Element, now: Time) -> Option<Time> {
        loop {
            let step = element.poll(now);
            assert!(element.account().is_balanced(), "{:?}", element.account());
            match step {
                Step::Deliver(frame, due) => self.arrive(frame, due, now),
                Step::Drop(frame, cause) => self.drops.push((frame.tag, cause)),
                Step::Duplicate(frame) => self.copies.push(frame.tag),
                Step::Wake(time) => {
                    assert!(time > now, "woken at {time:?}, asked at {now:?}");
                    return Some(time);
                }
                Step::Idle => return None,
            }
        }
    }

    fn arrive(&mut self, frame: Frame, at: Time, now: Time) {
        assert!(at <= now, "delivered before it was due");
        assert!(self.arrivals.last().is_none_or(|before| before.at <= at), "due times go back");
        self.arrivals.push(Arrival { tag: frame.tag, at, damaged: frame.damage != Damage::NONE });
    }
}

/// A link in virtual time: exact.
#[derive(Debug)]
pub struct VirtualBench {
    /// Seeds the link's streams.
    pub seed: u64,
}

impl Bench for VirtualBench {
    fn run(&mut self, direction: &Direction, script: &[(Span, Bytes)]) -> Vec<super::Arrival> {
        let frames: Vec<_> = (0u32..)
            .zip(script)
            .map(|(tag, &(after, length))| (Time::ZERO + after, Frame::new(tag, length)))
            .collect();
        let journey = drive(&mut line(direction, "up", self.seed), &frames);
        let arrivals = journey.arrivals.into_iter();
        arrivals
            .map(|Arrival { tag, at, damaged }| super::Arrival {
                number: tag,
                sent: frames[tag as usize].0,
                arrived: at,
                damaged,
            })
            .collect()
    }

    fn tolerance(&self) -> Span {
        Span::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::VirtualBench;
    use btu_network::Shape;

    const BENCH: VirtualBench = VirtualBench { seed: 1995 };

    fn probability(share: f64) -> Probability {
        Probability::new(share).unwrap()
    }

    #[test]
    fn rates() {
        for rate in [10, 100, 1000].map(BitRate::from_megabits_per_second) {
            for length in [SHORTEST_FRAME, Bytes::new(512), FULL_FRAME] {
                a_busy_line_keeps_its_rate(&mut { BENCH }, rate, length);
            }
        }
    }

    #[test]
    fn delays() {
        for delay in [Span::ZERO, Span::from_milliseconds(1), Span::from_milliseconds(250)] {
            an_idle_link_delays_as_asked(&mut { BENCH }, delay);
        }
    }

    #[test]
    fn losses() {
        for share in [0.01, 0.05, 0.2] {
            losses_are_binomial(&mut { BENCH }, probability(share));
        }
    }

    #[test]
    fn duplicates() {
        duplicates_come_in_pairs(&mut { BENCH }, probability(0.05));
    }

    #[test]
    fn jitter() {
        for shape in [Shape::Uniform, Shape::Normal, Shape::Pareto] {
            jitter_is_distributed_as_asked(&mut { BENCH }, shape);
        }
        jitter_keeps_order_where_asked(&mut { BENCH });
    }

    #[test]
    fn bursts() {
        losses_come_in_bursts(&mut { BENCH });
    }

    #[test]
    fn damage() {
        damage_is_binomial(&mut { BENCH }, probability(0.05));
    }

    #[test]
    fn queues() {
        a_queue_of_frames_drops_at_its_tail(&mut { BENCH });
        a_queue_of_bytes_counts_bytes(&mut { BENCH });
        controlled_delay_keeps_no_standing_queue(&mut { BENCH });
    }

    #[test]
    fn recorded_lines() {
        a_recorded_line_keeps_its_opportunities(&mut { BENCH });
    }

    #[test]
    fn reordering() {
        reordered_frames_are_overtaken(&mut { BENCH }, probability(0.05));
    }
}
