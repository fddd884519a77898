//! Holds a level of load: the sender adjusts its rate by what its receiver reports.

use btu_contract::copy::{Held, Hold, Servo, State};
use btu_units::{BitRate, Span, Time};

use super::header::{DatagramKind, HEADER};
use super::post::Exchange;
use super::send::{KIND, WIDEST_GAP};
use crate::error::TrafficError;

/// Controls the offered rate.
pub(super) struct Holder {
    servo: Servo,
    full: BitRate,
    message_bits: f64,
    /// Datagrams and nanoseconds of the last count.
    last: (u64, u64),
    /// The current rate, the time of its start, and the bits that were offered before.
    offered: BitRate,
    since: Option<Time>,
    before_bits: f64,
    settled: Option<Time>,
}

impl Holder {
    /// For datagrams of `message` bytes; `first` is offered first.
    pub(super) fn new(hold: Hold, first: BitRate, message: usize) -> Result<Self, TrafficError> {
        let servo = Servo::new(hold.mode, hold.asked, hold.full)
            .filter(|_| hold.full.bits_per_second() > 0);
        let wrong = || TrafficError::Order {
            activity: KIND,
            what: format!("{} of {} is not a level", hold.asked, hold.full),
        };
        Ok(Self {
            servo: servo.ok_or_else(wrong)?,
            full: hold.full,
            message_bits: message as f64 * 8.0,
            last: (0, 0),
            offered: first,
            since: None,
            before_bits: 0.0,
            settled: None,
        })
    }

    /// Processes the receiver's reports; returns the new rate, if it changes.
    pub(super) fn listen(&mut self, exchange: &Exchange, now: Time) -> Option<BitRate> {
        self.since.get_or_insert(now);
        let mut room = [0; HEADER + 8];
        let mut changed = false;
        while let Ok(length) = exchange.receive_now(&mut room) {
            let Some((header, body)) = exchange.header(&room[..length]) else { continue };
            let count =
                body.try_into().map(u64::from_be_bytes).map(|elapsed| (header.number, elapsed));
            if let (DatagramKind::Count, Ok(count)) = (header.kind, count) {
                changed |= self.take(count, now);
            }
        }
        let offered = self.servo.offered().max(self.least());
        if !changed || offered == self.offered {
            return None;
        }
        self.before_bits = self.bits_until(now);
        (self.offered, self.since) = (offered, Some(now));
        Some(offered)
    }

    /// Takes a count that is later than the last one.
    fn take(&mut self, count: (u64, u64), now: Time) -> bool {
        let (datagrams, elapsed) =
            (count.0.checked_sub(self.last.0), count.1.checked_sub(self.last.1));
        let (Some(datagrams), Some(elapsed @ 1..)) = (datagrams, elapsed) else { return false };
        self.last = count;
        let arrived = datagrams as f64 * self.message_bits / (elapsed as f64 * 1e-9);
        self.servo.reading(arrived / self.full.bits_per_second() as f64);
        if self.servo.state() == State::Settled {
            self.settled.get_or_insert(now);
        }
        true
    }

    /// The least rate, below which the receiver would consider the stream over.
    fn least(&self) -> BitRate {
        BitRate::from_bits_per_second((self.message_bits / WIDEST_GAP.seconds()).ceil() as u64)
    }

    fn bits_until(&self, now: Time) -> f64 {
        let seconds = self.since.map_or(0.0, |since| now.since(since).seconds());
        self.before_bits + seconds * self.offered.bits_per_second() as f64
    }

    /// The mean offered rate between `begun` and `ended`, and the result of the level; `start` is
    /// the report's.
    pub(super) fn account(&self, begun: Time, ended: Time, start: Time) -> (BitRate, Option<Held>) {
        let seconds = ended.since(begun).seconds();
        let mean = if seconds > 0.0 {
            self.bits_until(ended) / seconds
        } else {
            self.offered.bits_per_second() as f64
        };
        let nearest = match self.servo.state() {
            State::GaveUp { nearest } => Some(nearest),
            State::Settling | State::Settled => None,
        };
        let settled: Option<Span> = self.settled.map(|settled| settled.since(start));
        (
            BitRate::from_bits_per_second(mean.round() as u64),
            Some(Held { offered: self.offered, settled, nearest }),
        )
    }
}
