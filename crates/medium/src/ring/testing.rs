//! Common parts of the tests of both rings: drivers, listeners, random traffic, and the properties
//! of any ring.

use std::collections::HashMap;

use btu_network::{Codel, Discipline, QueueLimit};
use btu_units::{Bytes, Span, Time};
use proptest::prelude::*;
use rand::RngExt;
use rand_pcg::Pcg64;

use crate::account::Cause;
use crate::frame::{Address, Frame};
use crate::listeners::Listener;
use crate::segment::{Segment, SegmentStep, Tap};

/// `stations` stations, the `n`th called [`Address::of_station`] of `n`.
pub(crate) fn stations(stations: u32) -> Vec<Listener> {
    (0..stations).map(|number| Listener::Station(Address::of_station(number))).collect()
}

/// A tail-drop queue of so many frames.
pub(crate) fn queue(frames: u32) -> Discipline {
    Discipline::TailDrop { limit: QueueLimit::Frames(frames) }
}

pub(crate) fn frame(tag: u32, length: u64, from: u32, to: u32) -> Frame {
    Frame::new(tag, Bytes::new(length)).between(Address::of_station(from), Address::of_station(to))
}

pub(crate) fn at(nanoseconds: u64) -> Time {
    Time::from_nanoseconds(nanoseconds)
}

/// Three stations and a bridge.
pub(crate) fn stations_and_a_bridge() -> Vec<Listener> {
    stations(3).into_iter().chain([Listener::Bridge]).collect()
}

/// Short queues of two kinds: one drops arriving frames, the other leaving ones.
pub(crate) fn discipline() -> impl Strategy<Value = Discipline> {
    let codel = |frames| Codel {
        limit: QueueLimit::Frames(frames),
        target: Span::from_microseconds(500),
        interval: Span::from_milliseconds(2),
    };
    prop_oneof![
        (1u32..6).prop_map(queue),
        (3u32..20).prop_map(move |frames| Discipline::Codel(codel(frames)))
    ]
}

/// A frame that a station hands over at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) at: Time,
    pub(crate) tap: Tap,
    pub(crate) frame: Frame,
}

/// The result of a script.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Journey {
    /// Tap, tag and due time.
    pub(crate) deliveries: Vec<(Tap, u32, Time)>,
    pub(crate) drops: Vec<(u32, Cause)>,
}

/// Drives a segment from event to event: it is polled at every time it names.
pub(crate) fn drive(segment: &mut impl Segment, script: &[Offer]) -> Journey {
    let mut journey = Journey::default();
    let mut wake = None;
    for offer in script {
        while let Some(time) = wake.filter(|&time| time <= offer.at) {
            wake = journey.empty(segment, time);
        }
        segment.accept(offer.tap, offer.frame, offer.at);
        wake = journey.empty(segment, offer.at);
    }
    while let Some(time) = wake {
        wake = journey.empty(segment, time);
    }
    journey
}

/// Drives a segment lazily: it is polled after the offers that `polls` selects, and at the end.
pub(crate) fn drive_lazily(
    segment: &mut impl Segment,
    script: &[Offer],
    polls: &[bool],
    end: Time,
) -> Journey {
    let mut journey = Journey::default();
    for (offer, &poll) in script.iter().zip(polls) {
        segment.accept(offer.tap, offer.frame, offer.at);
        if poll {
            journey.empty(segment, offer.at);
        }
    }
    journey.empty(segment, end);
    journey
}

impl Journey {
    /// Polls until there are no more events; returns the time of the next poll.
    fn empty(&mut self, segment: &mut impl Segment, now: Time) -> Option<Time> {
        loop {
            let passage = segment.poll(now);
            let account = segment.account();
            assert!(account.is_balanced(), "{account:?}");
            match passage {
                SegmentStep::Deliver(tap, frame, due) => {
                    assert!(
                        due <= now && self.deliveries.last().is_none_or(|last| last.2 <= due),
                        "{due:?} at {now:?}"
                    );
                    self.deliveries.push((tap, frame.tag, due));
                }
                SegmentStep::Drop(frame, cause) => self.drops.push((frame.tag, cause)),
                SegmentStep::Duplicate(_) => {}
                SegmentStep::Wake(time) => {
                    assert!(time > now);
                    return Some(time);
                }
                SegmentStep::Idle => return None,
            }
        }
    }
}

/// Scripts for `taps` taps in time order; several offers may come at one time, and some are for all
/// stations, for a station that is elsewhere, or for the sender itself.
pub(crate) fn script(taps: u32, gap: u64) -> impl Strategy<Value = Vec<(Offer, bool)>> {
    let offer = (prop_oneof![Just(0), 0..gap], 0..taps, 0..taps + 2, 20u64..3000, any::<bool>());
    prop::collection::vec(offer, 1..80).prop_map(move |offers| {
        let mut now = 0;
        let offer = |(tag, (gap, from, to, length, poll)): (u32, (u64, u32, u32, u64, bool))| {
            now += gap;
            let mut frame = frame(tag, length, from, to);
            if to > taps {
                frame.destination = Address::BROADCAST;
            }
            (Offer { at: at(now), tap: Tap(from), frame }, poll)
        };
        (0..).zip(offers).map(offer).collect()
    })
}

/// The two properties of every ring under a script: accounts balance and end empty (asserted on the
/// way), and the results do not depend on the times of polls.
pub(crate) fn laziness_changes_nothing(
    new: impl Fn() -> Box<dyn Segment>,
    script: &[(Offer, bool)],
) -> Result<(), TestCaseError> {
    let (offers, polls): (Vec<Offer>, Vec<bool>) = script.iter().copied().unzip();
    let (mut exact, mut lazy) = (new(), new());
    let expected = drive(&mut exact, &offers);
    let end = expected.deliveries.last().map_or(at(0), |last| last.2).max(at(1 << 40));
    prop_assert_eq!(&drive_lazily(&mut lazy, &offers, &polls, end), &expected);
    prop_assert_eq!(exact.account().held, 0);
    prop_assert_eq!(exact.meter(), lazy.meter());
    // Every copy of every frame left once.
    let account = exact.account();
    prop_assert_eq!(account.received as usize, offers.len());
    prop_assert_eq!(account.delivered as usize, expected.deliveries.len());
    prop_assert_eq!(account.dropped() as usize, expected.drops.len());
    let mut copies: HashMap<(Tap, u32), u32> = HashMap::new();
    expected
        .deliveries
        .iter()
        .for_each(|&(tap, tag, _)| *copies.entry((tap, tag)).or_default() += 1);
    prop_assert!(copies.values().all(|&copies| copies == 1));
    Ok(())
}

impl Segment for Box<dyn Segment> {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        (**self).accept(tap, frame, now);
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        (**self).poll(now)
    }

    fn account(&self) -> crate::Account {
        (**self).account()
    }

    fn meter(&self) -> crate::Meter {
        (**self).meter()
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        (**self).announce(number, tap);
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// The sizes of random traffic: how long frames are on the ring.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lengths {
    Fixed,
    Exponential,
}

/// Symmetrical Poisson traffic on a ring of 8 Gb/s, where an octet takes a nanosecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) stations: u32,
    /// Mean octets of a frame on the ring.
    pub(crate) mean: f64,
    pub(crate) lengths: Lengths,
    /// The share of the ring's rate that is offered.
    pub(crate) load: f64,
    /// Nanoseconds of walking that each frame needs beyond its own time when the ring is busy: for
    /// the control only.
    pub(crate) walk: f64,
    pub(crate) seed: u64,
}

impl Traffic {
    /// The mean wait, from a frame's arrival to its beginning, in nanoseconds, over `frames`
    /// frames; `around` octets are on the ring beyond a frame's length, `between` is the time of
    /// propagation from one station to another.
    ///
    /// For comparison the same frames go through a single queue without a ring; its mean wait is
    /// known exactly (Pollaczek and Khinchine); the queue's error is subtracted (a control variate
    /// with weight one), which keeps the mean and removes most of the random error. The first tenth
    /// is not counted.
    pub(crate) fn mean_wait(
        &self,
        ring: &mut impl Segment,
        around: u64,
        between: impl Fn(u32, u32) -> u64,
        frames: u32,
    ) -> f64 {
        let mut run = Run {
            traffic: self,
            rng: Pcg64::new(self.seed.into(), 3),
            sent: Vec::new(),
            ring: 0.0,
            count: 0,
        };
        let (mut now, mut backlog, mut single) = (0.0_f64, 0.0_f64, 0.0);
        for tag in 0..frames {
            let gap = run.exponential(self.mean / self.load);
            now += gap;
            backlog = (backlog - gap).max(0.0);
            let (offer, size) = run.offer(tag, now, around);
            run.wait(ring, offer.at, &between, frames / 10);
            ring.accept(offer.tap, offer.frame, offer.at);
            if tag >= frames / 10 {
                single += backlog;
            }
            backlog += size as f64 + self.walk;
        }
        run.wait(ring, at(u64::MAX >> 1), &between, frames / 10);
        let counted = f64::from(frames - frames / 10);
        assert_eq!(run.count, frames - frames / 10, "no frame may be lost");
        let mean = self.mean + self.walk;
        let variance =
            if matches!(self.lengths, Lengths::Fixed) { 0.0 } else { self.mean * self.mean };
        let rate = self.load / self.mean;
        let exact = rate * (mean * mean + variance) / (2.0 * (1.0 - rate * mean));
        run.ring / counted - (single / counted - exact)
    }
}

struct Run<'a> {
    traffic: &'a Traffic,
    rng: Pcg64,
    /// Of each frame: sender, receiver, when it was accepted, how long it is on the ring.
    sent: Vec<(u32, u32, Time, u64)>,
    ring: f64,
    count: u32,
}

impl Run<'_> {
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.rng.random::<f64>()).ln()
    }

    fn offer(&mut self, tag: u32, now: f64, around: u64) -> (Offer, u64) {
        let size = match self.traffic.lengths {
            Lengths::Fixed => self.traffic.mean,
            Lengths::Exponential => self.exponential(self.traffic.mean),
        };
        let size = (size.round() as u64).max(around);
        let from = self.rng.random_range(0..self.traffic.stations);
        let to = (from + self.rng.random_range(1..self.traffic.stations)) % self.traffic.stations;
        let offer = Offer {
            at: at(now.round() as u64),
            tap: Tap(from),
            frame: frame(tag, size - around, from, to),
        };
        self.sent.push((from, to, offer.at, size));
        (offer, size)
    }

    /// Collects the frames that arrived by `now`.
    fn wait(
        &mut self,
        ring: &mut impl Segment,
        now: Time,
        between: &impl Fn(u32, u32) -> u64,
        warm_up: u32,
    ) {
        loop {
            match ring.poll(now) {
                SegmentStep::Deliver(_, frame, due) if frame.tag >= warm_up => {
                    let (from, to, accepted, size) = self.sent[frame.tag as usize];
                    self.ring +=
                        (due.since(accepted).nanoseconds() - size - between(from, to)) as f64;
                    self.count += 1;
                }
                SegmentStep::Wake(_) | SegmentStep::Idle => return,
                _ => {}
            }
        }
    }
}

/// Keeps `depth` frames that occupy `size` octets of an empty ring in each of the first `active`
/// stations' queues until `end`; every frame goes to the station upstream of its sender. Answers
/// senders and due times, in order of the latter.
pub(crate) fn saturate(
    ring: &mut impl Segment,
    on_it: u32,
    active: u32,
    depth: u32,
    length: u64,
    end: Time,
) -> Vec<(u32, Time)> {
    let offer = |from: u32| frame(from, length, from, (from + on_it - 1) % on_it);
    for from in (0..active).flat_map(|from| std::iter::repeat_n(from, depth as usize)) {
        ring.accept(Tap(from), offer(from), Time::ZERO);
    }
    let (mut deliveries, mut now) = (Vec::new(), Time::ZERO);
    while now <= end {
        match ring.poll(now) {
            SegmentStep::Deliver(_, delivered, due) => {
                deliveries.push((delivered.tag, due));
                ring.accept(Tap(delivered.tag), offer(delivered.tag), now);
            }
            SegmentStep::Wake(time) => now = time,
            other => panic!("{other:?} on a busy ring"),
        }
    }
    deliveries
}
