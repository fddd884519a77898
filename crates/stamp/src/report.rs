//! What a measurement found: losses by direction, round trips, and how delays vary.

use btu_stats::batches;
use btu_units::Time;

use crate::ledger::{Ledger, ReturnedPacket, SentPacket};
use crate::steps::{ClockStep, MOST_STEPS, Ways, steps};
use crate::time::{ErrorEstimate, Format};

/// The result of a measurement. Times are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StampReport {
    /// How many packets were sent and answered, and what else came.
    pub counts: Counts,
    /// Where the others were lost: sent = answered + lost.
    pub losses: Losses,
    /// The lost packets of each of the equal parts of all ([`batches`]), there and back; of both ways in the first where
    /// no number tells the way.
    pub lost_batches: [Vec<u64>; 2],
    /// The round trips, without the reflector's own time, in the order of sending.
    pub round_trips: Vec<RoundTrip>,
    /// The time for which the reflector had each of these packets.
    pub turnaround_seconds: Vec<f64>,
    /// Answers whose times cannot be: the reflector says that it had the packet for less than nothing, or
    /// for longer than it was away. They have no round trip.
    pub impossible: u64,
    /// The moments at which the far clock was set, as far as the packets tell.
    pub steps: Vec<ClockStep>,
    /// For each of these answers, how much longer its way there took than the shortest one between the same two
    /// steps. The clocks need not be synchronised for that, but they have to run equally fast. Empty if
    /// the far clock was set too often to tell.
    pub variation_there_seconds: Vec<f64>,
    /// The same on the way back.
    pub variation_back_seconds: Vec<f64>,
    /// How good this host's clock is, and the reflector's, at the last answer.
    pub clocks: [ErrorEstimate; 2],
    /// The delay there and back of each answer, only if both clocks are synchronised, as they say, and
    /// none was set.
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
        let possible: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_possible()).collect();
        let ways = possible.iter().filter_map(|pair| Some(pair.ways(first.as_ref()?)));
        let ways: Vec<Ways> = ways.collect();
        let (starts, steps): (Vec<usize>, Vec<ClockStep>) = steps(&ways).into_iter().unzip();
        let [variation_there_seconds, variation_back_seconds] =
            [|one: &Ways| one.there, |one: &Ways| one.back]
                .map(|way| variation(&ways, &starts, way));
        let losses = losses(ledger);
        let far = pairs.last().map_or(near, |pair| pair.answer().packet.error);
        Self {
            counts: counts(ledger, not_sent),
            losses,
            lost_batches: lost_batches(ledger, losses),
            round_trips: possible
                .iter()
                .filter_map(|pair| Some(pair.round_trip(first?.sent().at)))
                .collect(),
            turnaround_seconds: possible.iter().map(|pair| seconds(pair.turnaround_ns())).collect(),
            impossible: (pairs.len() - possible.len()) as u64,
            variation_there_seconds,
            variation_back_seconds,
            clocks: [near, far],
            one_way_seconds: one_way(&pairs, near).filter(|_| steps.is_empty()),
            steps,
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

/// Where in the order of sending packets were lost. Between two answers the order is not known, so
/// losses count where the later one was sent.
fn lost_batches(ledger: &Ledger, losses: Losses) -> [Vec<u64>; 2] {
    let sent = || ledger.sent.iter().zip(&ledger.answers).filter(|(sent, _)| sent.is_some());
    let Losses::ByDirection { unknown, .. } = losses else {
        let lost = (0..).zip(sent()).filter(|(_, (_, answer))| answer.is_none());
        let lost = lost.map(|(place, _)| place);
        return [batches(lost, ledger.sent_in_all()), Vec::new()];
    };
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let (mut reached, mut answered) = (0, 0);
    for (place, (_, answer)) in (0_u64..).zip(sent()) {
        let Some(answer) = answer else { continue };
        reached = reached.max(u64::from(answer.packet.sequence) + 1);
        answered += 1;
        let more = |lost: &[u64], all: u64| all.saturating_sub(lost.len() as u64) as usize;
        there.resize(there.len() + more(&there, (place + 1).saturating_sub(reached)), place);
        back.resize(back.len() + more(&back, reached.saturating_sub(answered)), place);
    }
    let until_last = ledger.sent_in_all() - unknown;
    [there, back].map(|lost| batches(lost.into_iter(), until_last))
}

/// A packet and its answer.
#[derive(Clone, Copy)]
struct Pair((SentPacket, ReturnedPacket));

impl Pair {
    const fn sent(&self) -> SentPacket {
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

    fn ways(&self, first: &Self) -> Ways {
        let [there, back] = [self.there_ns(first), self.back_ns(first)].map(seconds);
        Ways { at: self.sent().at.since(first.sent().at).seconds(), there, back }
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

/// Each delay less the least of those between the same two steps of the far clock. Packets may overtake each other: which of
/// those that were sent next to a step arrived before it is not known, so they are left out.
fn variation(ways: &[Ways], starts: &[usize], way: fn(&Ways) -> f64) -> Vec<f64> {
    if starts.len() > MOST_STEPS {
        return Vec::new();
    }
    let trips = || ways.iter().map(Ways::round_trip);
    let spread = trips().fold(f64::NEG_INFINITY, f64::max) - trips().fold(f64::INFINITY, f64::min);
    let is_next_to = |one: &Ways, start: usize| {
        let apart = (one.at - ways[start].at).abs();
        apart > 0.0 && apart < spread
    };
    let ends = starts.iter().copied().chain([ways.len()]);
    let parts = [0].into_iter().chain(starts.iter().copied()).zip(ends);
    let above_least = |(from, to): (usize, usize)| {
        let is_known = |one: &&Ways| !starts.iter().any(|start| is_next_to(one, *start));
        let delays = ways[from..to].iter().filter(is_known).map(way);
        let least = delays.clone().fold(f64::INFINITY, f64::min);
        delays.map(move |delay| delay - least)
    };
    parts.flat_map(above_least).collect()
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
