//! What a measurement found: losses by direction, round trips, and how delays vary.

use btu_units::Time;

use crate::ledger::{Ledger, ReturnedPacket, Sent};
use crate::time::{ErrorEstimate, Format};

/// The result of a measurement. Times are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StampReport {
    /// How many packets were sent and answered, and what else came.
    pub counts: Counts,
    /// Where the others were lost: sent = answered + lost.
    pub losses: Losses,
    /// The round trips, without the reflector's own time, in the order of sending.
    pub round_trips: Vec<RoundTrip>,
    /// The time for which the reflector had each of these packets.
    pub turnaround_seconds: Vec<f64>,
    /// Answers whose times cannot be: the reflector says that it had the packet for less than nothing, or
    /// for longer than it was away. They have no round trip.
    pub impossible: u64,
    /// For each answer, how much longer its way there took than the shortest one. The clocks need not be
    /// synchronised for that, but they have to run equally fast.
    pub variation_there_seconds: Vec<f64>,
    /// The same on the way back.
    pub variation_back_seconds: Vec<f64>,
    /// How good this host's clock is, and the reflector's, at the last answer.
    pub clocks: [ErrorEstimate; 2],
    /// The delay there and back of each answer, only if both clocks are synchronised, as they say.
    pub one_way_seconds: Option<[Vec<f64>; 2]>,
    /// The least and the most time to live with which packets reached the reflector.
    pub ttl: Option<[u8; 2]>,
}

/// Numbers of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Handed to the kernel.
    pub sent: u64,
    /// Those that the kernel had no room for; not sent.
    pub not_sent: u64,
    /// Answered at least once.
    pub answered: u64,
    /// Answers that came again.
    pub duplicates: u64,
    /// Answers that came after that of a later packet.
    pub reordered: u64,
    /// Datagrams that answer no packet.
    pub strange: u64,
}

/// Where packets were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// By the reflector's own numbers.
    ByDirection {
        /// Did not reach the reflector.
        there: u64,
        /// Reached it, and their answers were lost.
        back: u64,
        /// Sent after the last packet that was answered: no number tells.
        unknown: u64,
    },
    /// The reflector copies the numbers of the sender, so no number tells.
    Copied {
        /// Lost on either way.
        lost: u64,
    },
    /// The numbers of the reflector do not count this session's packets.
    Inconsistent {
        /// Lost on either way.
        lost: u64,
    },
}

/// A round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrip {
    /// When its packet was sent, since the first one.
    pub at_seconds: f64,
    /// How long it took.
    pub seconds: f64,
}

impl Losses {
    /// On either way.
    pub const fn all(self) -> u64 {
        match self {
            Self::ByDirection { there, back, unknown } => there + back + unknown,
            Self::Copied { lost } | Self::Inconsistent { lost } => lost,
        }
    }
}

impl StampReport {
    /// Of a measurement that is over; `near` is how good this host's clock was.
    pub(crate) fn of(ledger: &Ledger, not_sent: u64, near: ErrorEstimate) -> Self {
        let pairs: Vec<Pair> = ledger.pairs().map(Pair).collect();
        let first = pairs.first().copied();
        let relative = |of: fn(&Pair, &Pair) -> i64| -> Vec<f64> {
            let delays = pairs.iter().filter_map(|pair| Some(of(pair, first.as_ref()?)));
            above_least(delays.collect())
        };
        let possible: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_possible()).collect();
        let far = pairs.last().map_or(near, |pair| pair.answer().packet.error);
        Self {
            counts: counts(ledger, not_sent),
            losses: losses(ledger),
            round_trips: possible
                .iter()
                .filter_map(|pair| Some(pair.round_trip(first?.sent().at)))
                .collect(),
            turnaround_seconds: possible.iter().map(|pair| seconds(pair.turnaround_ns())).collect(),
            impossible: (pairs.len() - possible.len()) as u64,
            variation_there_seconds: relative(Pair::there_ns),
            variation_back_seconds: relative(Pair::back_ns),
            clocks: [near, far],
            one_way_seconds: one_way(&pairs, near),
            ttl: ttl(&pairs),
        }
    }
}

fn counts(ledger: &Ledger, not_sent: u64) -> Counts {
    Counts {
        sent: ledger.sent_in_all(),
        not_sent,
        answered: ledger.answered,
        duplicates: ledger.duplicates,
        reordered: ledger.reordered,
        strange: ledger.strange,
    }
}

/// A reflector with state numbers packets in the order of their arrival, from 0 on. So its highest number
/// tells how many packets had reached it until then.
fn losses(ledger: &Ledger) -> Losses {
    let sent = ledger.sent_in_all();
    let lost = sent - ledger.answered;
    let numbers = || {
        ledger.pairs().map(|(_, answer)| (answer.packet.sender_sequence, answer.packet.sequence))
    };
    let mut tell = numbers().filter(|(own, _)| *own > 0).peekable();
    if tell.peek().is_some() && tell.all(|(own, other)| own == other) {
        return Losses::Copied { lost };
    }
    let highest = numbers().map(|(_, other)| u64::from(other) + 1).max().unwrap_or(0);
    // Packets that were doubled on the way there have two numbers.
    let reached = highest.saturating_sub(ledger.doubled_there);
    let until_last = match ledger.answered {
        0 => 0,
        _ => ledger.sent_until(ledger.last_answered()),
    };
    if !(ledger.answered..=until_last).contains(&reached) {
        return Losses::Inconsistent { lost };
    }
    Losses::ByDirection {
        there: until_last - reached,
        back: reached - ledger.answered,
        unknown: sent - until_last,
    }
}

/// A packet and its answer.
#[derive(Clone, Copy)]
struct Pair((Sent, ReturnedPacket));

impl Pair {
    const fn sent(&self) -> Sent {
        self.0.0
    }

    const fn answer(&self) -> ReturnedPacket {
        self.0.1
    }

    fn format(&self) -> Format {
        self.answer().packet.error.format()
    }

    /// T4 - T1.
    fn away_ns(&self) -> i64 {
        since(self.answer().arrived, self.sent().at)
    }

    /// T3 - T2.
    fn turnaround_ns(&self) -> i64 {
        let packet = self.answer().packet;
        packet.sent.nanoseconds_since(packet.received, self.format())
    }

    fn is_possible(&self) -> bool {
        (0..=self.away_ns()).contains(&self.turnaround_ns())
    }

    fn round_trip(&self, first: Time) -> RoundTrip {
        RoundTrip {
            at_seconds: self.sent().at.since(first).seconds(),
            seconds: seconds(self.away_ns() - self.turnaround_ns()),
        }
    }

    /// How much longer the way there took than that of another packet: T2 - T1, less the same.
    fn there_ns(&self, other: &Self) -> i64 {
        let [own, others] = [self, other].map(|pair| pair.answer().packet.received);
        own.nanoseconds_since(others, self.format())
            .saturating_sub(since(self.sent().at, other.sent().at))
    }

    /// The same for the way back: T4 - T3.
    fn back_ns(&self, other: &Self) -> i64 {
        let [own, others] = [self, other].map(|pair| pair.answer().packet.sent);
        since(self.answer().arrived, other.answer().arrived)
            .saturating_sub(own.nanoseconds_since(others, self.format()))
    }
}

/// May be negative: answers overtake each other. Times since the machine's start are below 2^63 ns.
fn since(later: Time, earlier: Time) -> i64 {
    later.since(earlier).nanoseconds().cast_signed()
        - earlier.since(later).nanoseconds().cast_signed()
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Each delay less the least of them.
fn above_least(delays_ns: Vec<i64>) -> Vec<f64> {
    let least = delays_ns.iter().copied().min().unwrap_or(0);
    delays_ns.into_iter().map(|delay| seconds(delay.saturating_sub(least))).collect()
}

/// Delays by both clocks. PTP counts leap seconds and NTP does not, so that only NTP's times are compared.
fn one_way(pairs: &[Pair], near: ErrorEstimate) -> Option<[Vec<f64>; 2]> {
    let is_good =
        |pair: &Pair| pair.answer().packet.error.is_synchronised() && pair.format() == Format::Ntp;
    if !near.is_synchronised() || pairs.is_empty() || !pairs.iter().all(is_good) {
        return None;
    }
    let there = |pair: &Pair| {
        pair.answer().packet.received.nanoseconds_since(pair.sent().stamp, Format::Ntp)
    };
    let there: Vec<i64> = pairs.iter().map(there).collect();
    let back = pairs.iter().zip(&there).map(|(pair, there)| {
        seconds(pair.away_ns().saturating_sub(pair.turnaround_ns()).saturating_sub(*there))
    });
    Some([there.iter().copied().map(seconds).collect(), back.collect()])
}

/// Reflectors of TWAMP Light that do not know it leave zeros there, with which no packet arrives.
fn ttl(pairs: &[Pair]) -> Option<[u8; 2]> {
    let told = |pair: &Pair| pair.answer().packet.sender_ttl.filter(|ttl| *ttl > 0);
    let all = || pairs.iter().filter_map(told);
    Some([all().min()?, all().max()?])
}

#[cfg(test)]
mod tests;
