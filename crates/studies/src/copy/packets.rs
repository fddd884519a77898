//! Packets by the second, there and back: figures 6 to 8 of the report.

use btu_contract::copy::PacketCount;
use serde::Serialize;

/// One second of a copy, or what is left of one at its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PacketSecond {
    /// Its end, in seconds since the copy began.
    pub until: f64,
    /// Packets sent a second, and the mean of their octets.
    pub sent_per_second: f64,
    /// See there; none where none was sent.
    pub sent_octets: Option<f64>,
    /// Like `sent_octets`, for what was received.
    pub received_per_second: f64,
    /// The mean size of a packet received in this second, in octets; absent when none was received.
    pub received_octets: Option<f64>,
}

/// The progress of a copy, second by second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Packets {
    /// The seconds of the copy, in their order.
    pub seconds: Vec<PacketSecond>,
    /// The end of its start phase, if there is one.
    pub change: Option<PacketChange>,
}

/// Two levels of packets sent, and when one follows the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PacketChange {
    /// End of the first, in seconds since the copy began.
    pub at: f64,
    /// Packets sent a second before it, as a mean.
    pub before: f64,
    /// Packets sent per second after that change, as a mean.
    pub after: f64,
}

/// Fewest whole seconds in which two levels are looked for.
const FEWEST: usize = 4;

/// A shorter rest of a second is a part of the one before it: the few packets in it give no rate.
const SHORTEST: f64 = 0.5;

/// Two levels closer than this share of the first are one.
const ALIKE: f64 = 0.1;

impl Packets {
    /// The progress from counts in the order of time; `None` for fewer than two.
    pub fn of(counts: &[PacketCount]) -> Option<Self> {
        let mut seconds: Vec<PacketSecond> =
            counts.windows(2).filter_map(|pair| second(&pair[0], &pair[1])).collect();
        if seconds.is_empty() {
            return None;
        }
        // The last is seldom a whole one.
        let whole = seconds.split_last().map_or(&[][..], |(_, whole)| whole);
        let change = change(whole);
        if let [.., before, one, last] = counts
            && last.at.saturating_sub(one.at).seconds() < SHORTEST
            && let Some(longer) = second(before, last)
        {
            seconds.truncate(seconds.len().saturating_sub(2));
            seconds.push(longer);
        }
        Some(Self { seconds, change })
    }
}

fn second(before: &PacketCount, after: &PacketCount) -> Option<PacketSecond> {
    let seconds = after.at.saturating_sub(before.at).seconds();
    if seconds <= 0.0 {
        return None;
    }
    // Records may have come with a file from an untrusted source.
    let more = |of: fn(&PacketCount) -> u64| of(after).saturating_sub(of(before)) as f64;
    let (sent, received) = (more(|count| count.sent), more(|count| count.received));
    let mean = |octets: f64, packets: f64| (packets > 0.0).then(|| octets / packets);
    Some(PacketSecond {
        until: after.at.seconds(),
        sent_per_second: sent / seconds,
        sent_octets: mean(more(|count| count.sent_octets), sent),
        received_per_second: received / seconds,
        received_octets: mean(more(|count| count.received_octets), received),
    })
}

/// Two levels by least squares: the place after which the squares of what is left are the fewest.
fn change(seconds: &[PacketSecond]) -> Option<PacketChange> {
    if seconds.len() < FEWEST {
        return None;
    }
    let sent: Vec<f64> = seconds.iter().map(|second| second.sent_per_second).collect();
    let left = |part: &[f64]| part.iter().map(|value| (value - mean(part)).powi(2)).sum::<f64>();
    let at = (1..sent.len()).min_by(|a, b| {
        let of = |at: usize| left(&sent[..at]) + left(&sent[at..]);
        of(*a).total_cmp(&of(*b))
    })?;
    let (before, after) = (mean(&sent[..at]), mean(&sent[at..]));
    let differ = (after - before).abs() > ALIKE * before;
    differ.then(|| PacketChange { at: seconds[at - 1].until, before, after })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::*;

    fn counts(sent: &[u64]) -> Vec<PacketCount> {
        let mut all = vec![PacketCount::default()];
        for (at, sent) in (1..).zip(sent) {
            let last = all[all.len() - 1];
            all.push(PacketCount {
                at: Span::from_seconds(at),
                sent: last.sent + sent,
                sent_octets: last.sent_octets + 1460 * sent,
                received: last.received + 10,
                received_octets: last.received_octets + 1380,
            });
        }
        all
    }

    /// The report's figure: 85 packets a second at first, then 60, answered by 10 of 138 octets.
    #[test]
    fn a_start_and_what_follows_are_told_apart() {
        let packets = Packets::of(&counts(&[85, 84, 86, 60, 61, 59, 60, 12])).unwrap();
        assert_eq!(packets.seconds.len(), 8);
        let second = packets.seconds[3];
        assert_eq!((second.sent_per_second, second.sent_octets), (60.0, Some(1460.0)));
        assert_eq!((second.received_per_second, second.received_octets), (10.0, Some(138.0)));
        let change = packets.change.unwrap();
        assert_eq!((change.at, change.before, change.after), (3.0, 85.0, 60.0));
    }

    /// Three packets in 4 ms at the end are no rate of 750 a second.
    #[test]
    fn a_short_rest_is_a_part_of_the_second_before_it() {
        let mut all = counts(&[100, 100]);
        let last = all[2];
        let rest = |at| PacketCount { at, sent: last.sent + 3, ..last };
        all.push(rest(Span::from_milliseconds(2004)));
        let seconds = Packets::of(&all).unwrap().seconds;
        assert_eq!(seconds.len(), 2);
        assert!((seconds[1].sent_per_second - 103.0 / 1.004).abs() < 1e-9, "{seconds:?}");
        assert!((seconds[1].until - 2.004).abs() < 1e-9, "{seconds:?}");
        all[3] = rest(Span::from_milliseconds(2700));
        assert_eq!(Packets::of(&all).unwrap().seconds.len(), 3);
    }

    #[test]
    fn one_level_is_not_two_and_few_seconds_have_none() {
        assert_eq!(Packets::of(&counts(&[60, 61, 59, 60, 60, 62, 58])).unwrap().change, None);
        assert_eq!(Packets::of(&counts(&[85, 60, 60])).unwrap().change, None);
        assert_eq!(Packets::of(&counts(&[])), None);
        assert_eq!(Packets::of(&[PacketCount::default(); 2]), None);
    }
}
