//! Lam's idealised contention: a shared Ethernet for which a closed form of the mean delay exists.
//!
//! Source: S. S. Lam, "A Carrier Sense Multiple Access Protocol for Local Networks", Computer
//! Networks 4 (1980), in the form that the reconstruction of measured networks agrees with. All
//! frames that wait are one pool. When a success is over, time is slotted in twice the cable's
//! propagation delay. If one frame waits, it is sent at once. If more do, one slot is lost to a
//! collision, and each slot after it begins a success with probability 1/e or is lost. A success
//! takes the frame's octets, check sequence included, and one propagation delay. If none waits, the
//! slots go on, and the same rule holds at the end of the first slot in which frames came.
//!
//! Choices: the pool is first in, first out (the mean delay does not depend on it); every listener
//! is at the far end, so a frame is delivered when its success is over. Frames are neither padded
//! nor preceded by a preamble. A station's queue limit counts what waits behind its first frame,
//! with that frame's octets.

use std::collections::VecDeque;

use btu_units::{Bytes, Probability, Span, Time};

use super::outgoing::Outgoing;
use super::tally::{MOST_ATTEMPTS, Tally};
use super::timing::Timing;
use crate::account::{Account, Cause};
use crate::frame::Frame;
use crate::limit::Limit;
use crate::listeners::Listeners;
use crate::random::Bernoulli;
use crate::segment::{Meter, Segment, SegmentStep, Tap};

/// The waiting frames, the frame on the cable, and the carried frames.
#[derive(Debug)]
pub(super) struct Pool {
    timing: Timing,
    propagation: Span,
    limit: Limit,
    listeners: Listeners,
    bernoulli: Bernoulli,
    remainder: u64,
    /// Each station's frames in the pool.
    stations: Vec<QueuedAmount>,
    /// In the order of their arrival.
    waiting: VecDeque<(Tap, Frame)>,
    state: CableState,
    out: Outgoing,
    tally: Tally,
    takers: Vec<Tap>,
}

#[derive(Debug, Clone, Copy, Default)]
struct QueuedAmount {
    frames: usize,
    bytes: Bytes,
}

#[derive(Debug, Clone, Copy)]
enum CableState {
    /// No frame waits; slots have been counted from this time on.
    Idle(Time),
    /// A frame waits; the end of this slot decides about it.
    Slot(Time),
    /// The first frame in the pool is on its way, or lost slots before it are, from and until these
    /// times.
    Carrying { start: Time, over: Time },
}

impl Pool {
    pub(super) fn new(
        timing: Timing,
        propagation: Span,
        limit: Limit,
        listeners: Listeners,
        name: &str,
        seed: u64,
    ) -> Self {
        // 1/e is within 0 and 1.
        let odds = Probability::new(1.0 / std::f64::consts::E).unwrap_or(Probability::ALWAYS);
        Self {
            timing,
            propagation,
            limit,
            bernoulli: Bernoulli::new(seed, name, odds),
            remainder: 0,
            stations: vec![QueuedAmount::default(); listeners.taps() as usize],
            listeners,
            waiting: VecDeque::new(),
            state: CableState::Idle(Time::ZERO),
            out: Outgoing::default(),
            tally: Tally::default(),
            takers: Vec::new(),
        }
    }

    pub(super) fn carried_after(&self) -> [u64; MOST_ATTEMPTS] {
        self.tally.carried_after()
    }

    /// Processes all events until `now`, or until there is one to report. Events at `now` do not
    /// see frames that are accepted at `now`.
    fn advance(&mut self, now: Time, enough: impl Fn(&Outgoing) -> bool) {
        while !enough(&self.out) {
            match self.state {
                CableState::Slot(end) if end <= now => self.contend(end),
                CableState::Carrying { start, over } if over <= now => self.carry(start, over),
                _ => break,
            }
        }
    }

    /// The waiting stations at `now` decide which one sends.
    fn contend(&mut self, now: Time) {
        let lost = match self.waiting.len() {
            0 => {
                self.state = CableState::Idle(now);
                return;
            }
            1 => 0,
            _ => {
                let mut lost = 1;
                while !self.bernoulli.decide() {
                    lost += 1;
                }
                lost
            }
        };
        let start = now + self.slot() * lost;
        for slot in 0..lost {
            let begin = now + self.slot() * slot;
            self.tally.collide(begin, begin + self.slot());
        }
        let first = self
            .waiting
            .front()
            .map_or(Span::ZERO, |&(_, frame)| self.timing.data(frame, &mut self.remainder));
        self.state = CableState::Carrying { start, over: start + first + self.propagation };
    }

    /// A success is over.
    fn carry(&mut self, start: Time, over: Time) {
        if let Some((tap, frame)) = self.waiting.pop_front() {
            let share = &mut self.stations[tap.index()];
            share.frames -= 1;
            share.bytes = share.bytes - frame.length();
            self.tally.carry(over.since(start) - self.propagation, self.propagation, 0);
            self.listeners.of(tap, frame.destination, &mut self.takers);
            self.out.deliver(frame, &self.takers, |_| over);
        }
        self.contend(over);
    }

    fn slot(&self) -> Span {
        self.propagation * 2
    }

    /// When the slot ends in which `now` is, slots being counted from `since` on. A frame that
    /// arrives exactly between two slots is in the later one; without propagation delay there are
    /// no slots to wait for.
    fn end_of_slot(&self, since: Time, now: Time) -> Time {
        match now.since(since).nanoseconds().checked_div(self.slot().nanoseconds()) {
            Some(slots) => since + self.slot() * (slots + 1),
            None => now,
        }
    }

    fn wake(&self) -> SegmentStep {
        match self.state {
            CableState::Idle(_) => SegmentStep::Idle,
            CableState::Slot(end) => SegmentStep::Wake(end),
            CableState::Carrying { over, .. } => SegmentStep::Wake(over),
        }
    }
}

impl Segment for Pool {
    fn accept(&mut self, tap: Tap, frame: Frame, now: Time) {
        self.advance(now, |_| false);
        self.out.receive();
        let share = &mut self.stations[tap.index()];
        if share.frames > 0 && !self.limit.admits(share.frames - 1, share.bytes, frame.length()) {
            return self.out.drop(frame, Cause::QueueFull);
        }
        share.frames += 1;
        share.bytes += frame.length();
        self.waiting.push_back((tap, frame));
        if let CableState::Idle(since) = self.state {
            self.state = CableState::Slot(self.end_of_slot(since, now));
        }
    }

    fn poll(&mut self, now: Time) -> SegmentStep {
        self.advance(now, |out| out.has_something(now));
        self.out.pop(now).unwrap_or_else(|| self.wake())
    }

    fn account(&self) -> Account {
        self.out.account(self.waiting.len() as u64)
    }

    fn meter(&self) -> Meter {
        self.tally.meter()
    }

    fn announce(&mut self, number: u32, tap: Tap) {
        self.listeners.announce(number, tap);
    }

    fn reset(&mut self) {
        self.tally.reset();
        self.out.reset(self.waiting.len() as u64);
    }
}
