//! A transfer by one TCP connection over a drawing's fabric, next to the traffic of others.
//!
//! Reno with selective acknowledgements as Linux has it, as far as time depends on it: ten segments
//! at first (RFC 6928), slow start and congestion avoidance by acknowledged segments (RFC 5681,
//! RFC 3465), loss found by later segments that arrived (RACK, RFC 8985), one halving for all
//! losses of a round trip, probes of a tail (RFC 8985, section 7), timers of at least 200 ms
//! (`tcp_rto_min`; RFC 6298) that are taken back when they were too early (Eifel, RFC 3522), and an
//! acknowledgement for every second segment, after 40 ms, or at once where some are missing.
//! Deviations: an acknowledgement says all that has arrived, not three blocks of it; the window is
//! halved at once, not step by step (RFC 6937); SYN and last segment are full ones; neither sender
//! nor receiver takes time.

use std::collections::BTreeSet;

use btu_units::{Span, Time};

/// Segments of the first window (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;

/// Later transmissions that must have arrived before one counts as lost (RFC 5681).
const LATER_ARRIVALS: usize = 3;

const LEAST_TIMEOUT: f64 = 0.2;
const FIRST_TIMEOUT: f64 = 1.0;
const LONGEST_TIMEOUT: f64 = 120.0;
const DELAYED_ACKNOWLEDGEMENT: Span = Span::from_milliseconds(40);

/// Segments at first of which each is acknowledged (Linux: `TCP_MAX_QUICKACKS`).
const QUICKLY_ACKNOWLEDGED: usize = 16;

/// The flow of the segments, and that of the acknowledgements.
pub(super) const SEGMENTS: u32 = 0;
pub(super) const ACKNOWLEDGEMENTS: u32 = 1;

/// A transfer: the drawing's first flow has its segments, the second its acknowledgements. Both
/// have one sender and no rate of their own.
#[derive(Debug, Clone, Copy)]
pub struct TcpTransfer {
    /// The number of full segments.
    pub segments: u32,
    /// The longest window in segments.
    pub window: f64,
    /// When it begins, after the network came up.
    pub begin: Span,
    /// Later than that it is given up.
    pub end: Span,
}

/// A segment at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment {
    /// It is to be sent, for the first time or again.
    Waiting,
    /// It was sent in this transmission, of which nothing is known yet.
    Sent(usize),
    Acknowledged,
}

/// A frame to be sent: of a flow, with what is written on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) flow: u32,
    /// The number of the transmission, or how many arrivals are acknowledged.
    pub(super) label: usize,
}

/// Both ends of a connection. The first of its segments is the handshake.
#[derive(Debug, Default)]
pub(super) struct SimulatedConnection {
    segments: Vec<Segment>,
    /// The segments before this one were sent, and those of them that are sent again.
    next: usize,
    again: BTreeSet<usize>,
    /// Each transmission: its segment and its time.
    transmissions: Vec<(usize, Time)>,
    in_flight: usize,
    /// The latest transmission that is known to have arrived, the first of which nothing is known,
    /// and the first after the last halving.
    latest: usize,
    unknown: usize,
    recovered_from: usize,
    window: f64,
    threshold: f64,
    longest_window: f64,
    /// Smoothed round trip and its variation, in seconds (RFC 6298).
    round_trip: Option<(f64, f64)>,
    /// Timers that have run out since the last acknowledgement, probes included.
    run_out: u32,
    /// Window, threshold and the first unknown transmission before a timer that may have been too
    /// early.
    before_timeout: Option<(f64, f64, usize)>,
    arrived: Vec<bool>,
    /// The transmissions that arrived, in their order; how many of them the sender knows.
    arrivals: Vec<usize>,
    known: usize,
    /// The first segment that is missing, and how many have arrived.
    missing: usize,
    count: usize,
    unacknowledged: u32,
    /// When half of the segments and all had arrived.
    pub(super) times: [Option<Time>; 2],
    /// What is to be sent now.
    pub(super) sendings: Vec<Sending>,
    /// The alarms of the sender and of the receiver.
    pub(super) alarms: [Option<Time>; 2],
}

impl SimulatedConnection {
    pub(super) fn new(asked: &TcpTransfer) -> Self {
        let count = asked.segments as usize + 1;
        Self {
            segments: vec![Segment::Waiting; count],
            window: 1.0,
            threshold: f64::INFINITY,
            longest_window: asked.window.max(1.0),
            arrived: vec![false; count],
            ..Self::default()
        }
    }

    /// Sends what the window allows, and sets the sender's alarm.
    pub(super) fn send(&mut self, now: Time) {
        // Until the handshake is over, nothing else is sent.
        let end = if self.segments[0] == Segment::Acknowledged { self.segments.len() } else { 1 };
        while (self.in_flight as f64) < self.window.floor() {
            let segment = match self.again.pop_first() {
                Some(segment) if self.segments[segment] != Segment::Waiting => continue,
                Some(segment) => segment,
                None if self.next < end => {
                    self.next += 1;
                    self.next - 1
                }
                None => break,
            };
            self.transmit(segment, now);
        }
        let wait = (self.in_flight > 0).then(|| self.alarm_after());
        self.alarms[0] = wait.map(|seconds| now + Span::from_seconds_f64(seconds));
    }

    fn transmit(&mut self, segment: usize, now: Time) {
        let transmission = self.transmissions.len();
        self.transmissions.push((segment, now));
        self.in_flight += usize::from(!matches!(self.segments[segment], Segment::Sent(_)));
        self.segments[segment] = Segment::Sent(transmission);
        self.sendings.push(Sending { flow: SEGMENTS, label: transmission });
    }

    /// Seconds until the sender's alarm: until an overtaken segment counts as lost, until a probe,
    /// or until the timeout.
    fn alarm_after(&self) -> f64 {
        let Some((smooth, variation)) = self.round_trip else {
            return FIRST_TIMEOUT * f64::from(1u32 << self.run_out.min(6));
        };
        let timeout = smooth + (4.0 * variation).max(LEAST_TIMEOUT);
        match self.run_out {
            0 if self.has_overtaken() => smooth / 4.0,
            0 => timeout.min(2.0 * smooth + if self.in_flight == 1 { 0.2 } else { 0.002 }),
            times => (timeout * f64::from(1u32 << (times - 1).min(10))).min(LONGEST_TIMEOUT),
        }
    }

    /// Whether a transmission is unknown though a later one has arrived.
    fn has_overtaken(&self) -> bool {
        let until = self.latest.min(self.transmissions.len());
        (self.unknown..until).any(|number| self.is_out(number))
    }

    /// Whether nothing is known of a transmission.
    fn is_out(&self, transmission: usize) -> bool {
        let segment = self.transmissions[transmission].0;
        self.segments[segment] == Segment::Sent(transmission)
    }

    /// The sender's alarm: overtaken segments are lost, a probe is due, or the timer has run out.
    pub(super) fn ring(&mut self, now: Time) {
        let first = self.run_out == 0 && self.round_trip.is_some();
        self.run_out += 1;
        if first && self.has_overtaken() {
            self.run_out = 0;
            self.give_up_before(self.latest);
        } else if first {
            // The probe is new data, else the last segment again.
            let (segment, _) = self.transmissions[self.transmissions.len() - 1];
            let probe = if self.next < self.segments.len() { self.next } else { segment };
            self.next = self.next.max(probe + 1);
            self.transmit(probe, now);
        } else {
            let before = (self.window, self.threshold, self.unknown);
            self.give_up_before(self.transmissions.len());
            // Only the first of several timeouts halves.
            self.threshold = if self.before_timeout.is_some() { before.1 } else { self.threshold };
            self.before_timeout.get_or_insert(before);
            self.window = 1.0;
        }
        self.send(now);
    }

    /// Takes transmissions before this one for lost.
    fn give_up_before(&mut self, end: usize) {
        for number in self.unknown..end {
            if !self.is_out(number) {
                continue;
            }
            let segment = self.transmissions[number].0;
            self.segments[segment] = Segment::Waiting;
            self.again.insert(segment);
            self.in_flight -= 1;
            if number >= self.recovered_from && segment > 0 {
                self.threshold = (self.window / 2.0).max(2.0);
                self.window = self.threshold;
                self.recovered_from = self.transmissions.len();
            }
        }
        self.unknown = self.unknown.max(end);
    }

    /// An acknowledgement of so many arrivals has come back.
    pub(super) fn acknowledged(&mut self, arrivals: usize, now: Time) {
        let mut new = 0;
        for place in self.known..arrivals {
            let number = self.arrivals[place];
            let (segment, sent) = self.transmissions[number];
            self.measure(now.since(sent).seconds());
            self.latest = self.latest.max(number);
            if let Some(before) = self.before_timeout.take()
                && number < self.recovered_from
            {
                self.take_back(before);
            }
            self.in_flight -= usize::from(matches!(self.segments[segment], Segment::Sent(_)));
            new += usize::from(self.segments[segment] != Segment::Acknowledged);
            self.segments[segment] = Segment::Acknowledged;
        }
        self.known = self.known.max(arrivals);
        if new > 0 {
            self.run_out = 0;
        }
        let distance = if self.latest < self.recovered_from { 0 } else { LATER_ARRIVALS };
        if self.latest >= self.recovered_from {
            self.grow(new as f64);
        }
        self.give_up_before((self.latest + 1).saturating_sub(distance).min(self.latest));
        self.send(now);
    }

    /// The timer was too early: nothing that was sent before it is lost.
    fn take_back(&mut self, (window, threshold, unknown): (f64, f64, usize)) {
        (self.window, self.threshold, self.unknown) = (window, threshold, unknown);
        for number in (unknown..self.transmissions.len()).rev() {
            let segment = self.transmissions[number].0;
            if self.again.remove(&segment) && self.segments[segment] == Segment::Waiting {
                self.segments[segment] = Segment::Sent(number);
                self.in_flight += 1;
            }
        }
    }

    fn grow(&mut self, acknowledged: f64) {
        if self.known == 1 {
            self.window = FIRST_WINDOW;
        } else if self.window < self.threshold {
            self.window = (self.window + acknowledged).min(self.threshold);
        } else {
            self.window += acknowledged / self.window;
        }
        self.window = self.window.min(self.longest_window);
    }

    /// RFC 6298, section 2.
    fn measure(&mut self, seconds: f64) {
        self.round_trip = Some(match self.round_trip {
            None => (seconds, seconds / 2.0),
            Some((smooth, variation)) => (
                smooth + (seconds - smooth) / 8.0,
                variation + ((seconds - smooth).abs() - variation) / 4.0,
            ),
        });
    }

    /// A transmission has arrived at the receiver.
    pub(super) fn arrived(&mut self, transmission: usize, now: Time) {
        let (segment, _) = self.transmissions[transmission];
        self.arrivals.push(transmission);
        let is_next = segment == self.missing && self.count == self.missing;
        if !std::mem::replace(&mut self.arrived[segment], true) {
            self.count += 1;
        }
        while self.arrived.get(self.missing) == Some(&true) {
            self.missing += 1;
        }
        for (time, share) in self.times.iter_mut().zip([2, 1]) {
            if self.count * share >= self.arrived.len() {
                time.get_or_insert(now);
            }
        }
        self.unacknowledged += 1;
        if self.unacknowledged > 1 || !is_next || self.count <= QUICKLY_ACKNOWLEDGED {
            self.acknowledge();
        } else {
            self.alarms[1] = Some(now + DELAYED_ACKNOWLEDGEMENT);
        }
    }

    /// Sends an acknowledgement of all that has arrived.
    pub(super) fn acknowledge(&mut self) {
        (self.unacknowledged, self.alarms[1]) = (0, None);
        self.sendings.push(Sending { flow: ACKNOWLEDGEMENTS, label: self.arrivals.len() });
    }
}
