//! The traffic that a copy competes with: how much is asked for, and how much there was before and
//! during the copy.

use std::fmt;
use std::str::FromStr;

use btu_units::{BitRate, Span, Time, written_rate};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Displacement, Mode};
use btu_contract::experiment::Observation;
use btu_contract::record::{DatagramsReceived, DatagramsSent, Outcome, Report};

/// Offered load: a share of the time of the slowest part of the network, preambles and gaps
/// included, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct Background(u16);

/// No load that can be offered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a load of a network: write 0 or 60 %, at most 100 %, in steps of 0.1 %")]
pub struct BackgroundError(String);

impl Background {
    /// Only the copy.
    pub const QUIET: Self = Self(0);

    /// All of the time.
    pub(super) const WHOLE: Self = Self(1000);

    /// So many per cent; none above 100.
    pub const fn percent(percent: u16) -> Option<Self> {
        if percent <= 100 { Some(Self(percent * 10)) } else { None }
    }

    /// A share of time, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Whether there is none.
    pub const fn is_quiet(self) -> bool {
        self.0 == 0
    }

    /// The offered rate of each of `pairs` stations, counted over the payload; all of the network's
    /// time is `full`.
    pub(super) fn offered(self, full: BitRate, pairs: usize) -> BitRate {
        let all = u128::from(full.bits_per_second()) * u128::from(self.0) / 1000;
        BitRate::from_bits_per_second(u64::try_from(all / pairs.max(1) as u128).unwrap_or(u64::MAX))
    }
}

impl TryFrom<u16> for Background {
    type Error = BackgroundError;

    fn try_from(thousandths: u16) -> Result<Self, BackgroundError> {
        if thousandths <= 1000 {
            Ok(Self(thousandths))
        } else {
            Err(BackgroundError(thousandths.to_string()))
        }
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tenth) = (self.0 / 10, self.0 % 10);
        if tenth == 0 { write!(f, "{whole} %") } else { write!(f, "{whole}.{tenth} %") }
    }
}

impl FromStr for Background {
    type Err = BackgroundError;

    fn from_str(text: &str) -> Result<Self, BackgroundError> {
        let error = || BackgroundError(text.to_owned());
        let number = text.trim();
        let percent: f64 =
            number.strip_suffix('%').unwrap_or(number).trim().parse().map_err(|_| error())?;
        let thousandths = (percent * 10.0).round();
        let is_step =
            (percent * 10.0 - thousandths).abs() < 1e-6 && (0.0..=1000.0).contains(&thousandths);
        if is_step { Ok(Self(thousandths as u16)) } else { Err(error()) }
    }
}

/// The result of the background in one cell, over all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BackgroundUse {
    /// Share of time that senders sent, by their own accounts.
    pub offered: f64,
    /// Share of time that arrived before the copy, and during it.
    #[serde(flatten)]
    pub arrived: Displacement,
    /// Share of datagrams that did not arrive.
    pub lost: f64,
}

/// Of the time before the copy, a fifth at its start is left out: queues fill, and senders start
/// one after the other.
const RAMP: u64 = 5;

/// Bytes that had arrived at `at`, where the course of a stream gives its points; between two of
/// them it is straight.
fn arrived(report: &Report, received: &DatagramsReceived, at: Time) -> f64 {
    let begin = report.started + received.first;
    let (mut before, at) = ((0.0, 0.0), at.since(begin).nanoseconds() as f64);
    for &(time, bytes) in &received.progress {
        let point = (time as f64, bytes as f64);
        if point.0 >= at {
            let step = point.0 - before.0;
            let share = if step > 0.0 { (at - before.0) / step } else { 0.0 };
            return before.1 + share * (point.1 - before.1);
        }
        before = point;
    }
    before.1
}

/// The last point of a stream's course at or before `at`. The first octets of a copy delay the
/// background's next datagrams; a straight line from the point before to the point after would count
/// that delay as time before the copy, by up to one per cent of a second.
fn last_before(report: &Report, received: &DatagramsReceived, at: Time) -> Time {
    let begin = report.started + received.first;
    let points = received.progress.iter().map(|&(time, _)| begin + Span::from_nanoseconds(time));
    points.take_while(|point| *point <= at).last().unwrap_or(at)
}

/// The result of the background; `full` is the payload's rate that takes all of the network's time.
/// The receivers' clocks are the sender's own: all are stations of one machine. `None` without a
/// background.
pub(super) fn background_use(
    seen: &Observation,
    copy: (Time, Time),
    full: BitRate,
) -> Option<BackgroundUse> {
    let reports = || seen.reports.iter().filter_map(|placed| placed.result.as_ref().ok());
    let sinks: Vec<(&Report, &DatagramsReceived)> = reports()
        .filter_map(|report| match &report.outcome {
            Outcome::DatagramsReceived(received) => Some((report, received)),
            _ => None,
        })
        .collect();
    let sources: Vec<&DatagramsSent> = reports().filter_map(sent).collect();
    let first = sinks.iter().map(|(report, received)| report.started + received.first).max()?;
    let (start, end) = copy;
    let ramp = first + Span::from_nanoseconds(start.since(first).nanoseconds() / RAMP);
    let full = full.bits_per_second() as f64;
    let share = |from: Time, to: Time| {
        let rate = |&(report, received): &(&Report, &DatagramsReceived)| {
            let to = if to == start { last_before(report, received, start) } else { to };
            let bytes = arrived(report, received, to) - arrived(report, received, from);
            (to > from).then(|| bytes * 8.0 / to.since(from).seconds())
        };
        let rates: Option<Vec<f64>> = sinks.iter().map(rate).collect();
        rates.filter(|_| full > 0.0).map(|rates| rates.iter().sum::<f64>() / full)
    };
    let offered: f64 = sources.iter().filter_map(|sent| sent.bits_per_second()).sum();
    // Records may have come with a file from an untrusted source: no sum of their numbers may
    // overflow.
    let out: f64 = sources.iter().map(|sent| sent.datagrams as f64).sum();
    let came: f64 = sinks.iter().map(|(_, sink)| sink.datagrams as f64).sum();
    Some(BackgroundUse {
        offered: offered / full,
        arrived: Displacement { alone: share(ramp, start)?, during: share(start, end)? },
        lost: if out > 0.0 { 1.0 - came / out } else { 0.0 },
    })
}

fn sent(report: &Report) -> Option<&DatagramsSent> {
    match &report.outcome {
        Outcome::DatagramsSent(sent) => Some(sent),
        _ => None,
    }
}

/// Which senders did not hold their level when the copy began, a sentence each.
pub(super) fn unsettled(seen: &Observation, copy: Time) -> Vec<String> {
    let told = seen.reports.iter().filter_map(|placed| {
        let report = placed.result.as_ref().ok()?;
        let held = sent(report)?.held?;
        if held.settled.is_some_and(|settled| report.started + settled <= copy) {
            return None;
        }
        let nearest = held
            .nearest
            .map_or(String::new(), |share| format!("; the nearest was {:.1} %", share * 100.0));
        Some(format!(
            "background at {} did not hold its level before the copy began{nearest}",
            placed.station
        ))
    });
    told.collect()
}

/// A sender that kept its schedule sent what was offered, to this share.
const PACE: f64 = 0.01;

/// Why the background's accounts do not agree: more came than was sent, what came is not what was
/// sent, or it was sent at another rate.
pub(super) fn background_faults(seen: &Observation, mode: Mode) -> Vec<String> {
    let mut faults = Vec::new();
    let mut all = [0u128; 2];
    for placed in &seen.reports {
        let Ok(report) = &placed.result else { continue };
        let station = &placed.station;
        match &report.outcome {
            Outcome::DatagramsSent(sent) => {
                all[0] += u128::from(sent.datagrams);
                let rate = sent.bits_per_second().unwrap_or(0.0);
                let offered = sent.offered.bits_per_second() as f64;
                // The network slows a sender that sends as much as possible.
                if mode != Mode::Saturated && (rate / offered - 1.0).abs() > PACE {
                    let [rate, offered] = [rate, offered].map(written_rate);
                    faults.push(format!(
                        "background at {station}: {rate} were sent, {offered} asked for"
                    ));
                }
            }
            Outcome::DatagramsReceived(received) => {
                all[1] += u128::from(received.datagrams);
                if received.wrong > 0 {
                    faults.push(format!(
                        "background at {station}: {} datagrams with wrong content",
                        received.wrong
                    ));
                }
            }
            _ => {}
        }
    }
    let [out, came] = all;
    if came > out {
        faults.push(format!("background: {out} datagrams were sent, and {came} came"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use btu_units::Bytes;

    use super::*;
    use btu_contract::network::HostName;
    use btu_contract::record::{CpuTime, PlacedReport};

    #[test]
    fn loads_are_read_as_they_are_written() {
        for (text, shown) in [
            ("0", "0 %"),
            ("60 %", "60 %"),
            ("60%", "60 %"),
            (" 0.5 ", "0.5 %"),
            ("100 %", "100 %"),
        ] {
            assert_eq!(text.parse::<Background>().unwrap().to_string(), shown);
        }
        for text in ["", "%", "-1", "100.1 %", "1e9", "NaN", "0.05", "half"] {
            let error = text.parse::<Background>().unwrap_err().to_string();
            assert!(error.contains("at most 100 %"), "{error}");
        }
        assert!(serde_json::from_str::<Background>("1001").is_err());
        assert_eq!(serde_json::from_str::<Background>("600").unwrap().to_string(), "60 %");
    }

    /// Two pairs of 3 Mb/s of payload each, where 10 Mb/s fill the network; from 2 s on, during the
    /// copy, half arrives.
    fn reports() -> Vec<PlacedReport> {
        let started = Time::from_nanoseconds(5_000_000_000);
        let placed = |outcome| PlacedReport {
            station: HostName::try_from("s").unwrap(),
            activity: String::new(),
            result: Ok(Report {
                started,
                finished: started + Span::from_seconds(6),
                cpu: CpuTime::default(),
                outcome,
            }),
        };
        let offered = BitRate::from_megabits_per_second(3);
        let sent = DatagramsSent {
            datagrams: 2250,
            bytes: Bytes::new(2_250_000),
            refused: 0,
            offered,
            span: Span::from_seconds(6),
            lateness: btu_stats::Histogram::new(),
            held: None,
        };
        let received = DatagramsReceived {
            datagrams: 1500,
            lost_batches: Vec::new(),
            bytes: Bytes::new(1_500_000),
            duplicates: 0,
            reordered: 0,
            wrong: 0,
            buffer_drops: 0,
            first: Span::ZERO,
            span: Span::from_seconds(6),
            farewell: true,
            jitter: None,
            progress: vec![(1, 1000), (2_000_000_000, 750_000), (6_000_000_000, 1_500_000)],
        };
        let pair = || {
            [
                placed(Outcome::DatagramsReceived(received.clone())),
                placed(Outcome::DatagramsSent(sent.clone())),
            ]
        };
        pair().into_iter().chain(pair()).collect()
    }

    #[test]
    fn what_a_copy_displaces_is_seen_at_the_receivers() {
        let seen = Observation { reports: reports(), ..Observation::default() };
        let copy = (Time::from_nanoseconds(7_000_000_000), Time::from_nanoseconds(11_000_000_000));
        let used = background_use(&seen, copy, BitRate::from_megabits_per_second(10)).unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{used:?}");
        near(used.offered, 0.6);
        near(used.arrived.alone, 0.6);
        near(used.arrived.during, 0.3);
        near(used.lost, 1.0 / 3.0);
        assert!(background_faults(&seen, Mode::Offered).is_empty());
        assert_eq!(
            background_use(&Observation::default(), copy, BitRate::from_megabits_per_second(10)),
            None
        );
    }

    /// The copy begins between two points of the course: what it displaces then is not counted as
    /// displaced before it.
    #[test]
    fn a_copy_takes_nothing_before_it_begins() {
        let seen = Observation { reports: reports(), ..Observation::default() };
        let copy = (Time::from_nanoseconds(7_100_000_000), Time::from_nanoseconds(11_000_000_000));
        let used = background_use(&seen, copy, BitRate::from_megabits_per_second(10)).unwrap();
        // The first datagram's 1000 octets have come when the course begins. A straight line from 2 s to
        // 6 s would give 0.585.
        assert!((used.arrived.alone - 0.6).abs() < 1e-3, "{used:?}");
    }

    #[test]
    fn accounts_that_do_not_agree_are_told() {
        let mut seen = Observation { reports: reports(), ..Observation::default() };
        for placed in &mut seen.reports {
            match &mut placed.result.as_mut().unwrap().outcome {
                Outcome::DatagramsSent(sent) => sent.offered = BitRate::from_megabits_per_second(4),
                Outcome::DatagramsReceived(received) => received.datagrams = 2251,
                _ => unreachable!(),
            }
        }
        let faults = background_faults(&seen, Mode::Offered);
        assert_eq!(background_faults(&seen, Mode::Saturated).len(), 1);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].contains("3.00 Mb/s were sent, 4.00 Mb/s asked for"), "{faults:?}");
        assert_eq!(faults[2], "background: 4500 datagrams were sent, and 4502 came");
    }

    #[test]
    fn pairs_share_what_is_offered() {
        let full = BitRate::from_megabits_per_second(9);
        let offered = Background::percent(60).unwrap().offered(full, 2);
        assert_eq!(offered, BitRate::from_bits_per_second(2_700_000));
        assert_eq!(Background::percent(101), None);
    }
}
