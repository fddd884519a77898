//! Drivers in virtual time: one for scripts, one that keeps stations busy.

use btu_units::Time;

use crate::account::Cause;
use crate::frame::Frame;
use crate::segment::{Segment, SegmentStep, Tap};

/// The outcome of the frames of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Journey {
    pub(super) arrivals: Vec<(Time, Tap, u32)>,
    pub(super) drops: Vec<(u32, Cause)>,
    pub(super) copies: Vec<u32>,
}

/// Accepts the script's frames at their times and polls exactly when the medium asks for it, until
/// nothing is left.
pub(super) fn drive(medium: &mut impl Segment, script: &[(Time, Tap, Frame)]) -> Journey {
    drive_late(medium, script, |_| false)
}

/// As [`drive`], but polls for which `skip` (asked with their number) says so do not happen.
pub(super) fn drive_late(
    medium: &mut impl Segment,
    script: &[(Time, Tap, Frame)],
    mut skip: impl FnMut(usize) -> bool,
) -> Journey {
    let mut journey = Journey::default();
    let mut wake = None;
    let mut polls = 0;
    for &(at, tap, frame) in script {
        while let Some(time) = wake.filter(|&time| time <= at) {
            polls += 1;
            wake = if skip(polls) { None } else { journey.empty(medium, time) };
        }
        medium.accept(tap, frame, at);
        polls += 1;
        if !skip(polls) {
            wake = journey.empty(medium, at);
        }
    }
    while let Some(time) = wake {
        wake = journey.empty(medium, time);
    }
    assert_eq!(
        journey.empty(medium, Time::from_nanoseconds(u64::MAX)),
        None,
        "something is left for ever"
    );
    assert_eq!(medium.account().held, 0);
    journey
}

impl Journey {
    fn empty(&mut self, medium: &mut impl Segment, now: Time) -> Option<Time> {
        loop {
            let passage = medium.poll(now);
            assert!(medium.account().is_balanced(), "{:?}", medium.account());
            match passage {
                SegmentStep::Deliver(tap, frame, due) => {
                    assert!(due <= now, "delivered before it was due");
                    assert!(
                        self.arrivals.last().is_none_or(|&(before, ..)| before <= due),
                        "due times go back"
                    );
                    self.arrivals.push((due, tap, frame.tag));
                }
                SegmentStep::Drop(frame, cause) => self.drops.push((frame.tag, cause)),
                SegmentStep::Duplicate(frame) => self.copies.push(frame.tag),
                SegmentStep::Wake(time) => {
                    assert!(time > now, "woken at {time:?}, asked at {now:?}");
                    return Some(time);
                }
                SegmentStep::Idle => return None,
            }
        }
    }
}

/// Keeps two frames in each station, from `next`, until `end`; calls `arrived` for each delivery.
///
/// A frame's tag is its sender's tap.
pub(super) fn saturate(
    medium: &mut impl Segment,
    stations: u32,
    end: Time,
    mut next: impl FnMut(u32) -> Frame,
    mut arrived: impl FnMut(Frame, Time),
) {
    for station in (0..stations).chain(0..stations) {
        medium.accept(Tap(station), next(station), Time::ZERO);
    }
    let mut now = Time::ZERO;
    while now < end {
        let sender = match medium.poll(now) {
            SegmentStep::Deliver(_, frame, due) => {
                arrived(frame, due);
                frame.tag
            }
            SegmentStep::Drop(frame, _) => frame.tag,
            SegmentStep::Duplicate(_) => continue,
            SegmentStep::Wake(time) => {
                now = time;
                continue;
            }
            SegmentStep::Idle => unreachable!("stations are busy"),
        };
        medium.accept(Tap(sender), next(sender), now);
    }
}
