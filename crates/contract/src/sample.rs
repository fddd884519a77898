//! The progress of streams: the samples that their ends send during a transfer, and the rates that
//! follow.

use std::collections::BTreeMap;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::activity::Activity;
use crate::network::HostName;
pub use crate::reported::{Answered, Sample};
use crate::script::Script;

/// The progress between two samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The time at which it began, in seconds since the start of the cell.
    pub from_seconds: f64,
    /// When the interval ended, in seconds since the start of the cell.
    pub to_seconds: f64,
    /// The median time of the requests whose answers arrived in the interval; `None` if none did. In
    /// runs of older versions the kernel's smoothed round trip, which follows a long queue late.
    pub request_seconds: Option<f64>,
    /// How many answers that were; absent in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// One for each direction, all connections together.
    pub flows: Vec<FlowInterval>,
}

/// The data that moved from one host to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowInterval {
    /// The host of the sender.
    pub from: HostName,
    /// The host of the receiver.
    pub to: HostName,
    /// Payload that arrived over time, by the receiver's count and clock: of TCP when its segments
    /// reached the kernel, although the application gets what is behind a gap later.
    pub goodput_bits_per_second: f64,
    /// Segments that TCP sent again in the interval.
    pub segments_sent_again: Option<u64>,
    /// The congestion window (unacknowledged data in flight) at its end, of all connections
    /// together.
    pub congestion_window_bytes: Option<u64>,
    /// The longest smoothed round trip of the connections themselves at its end.
    pub round_trip_seconds: Option<f64>,
    /// Datagrams that were missed in the interval; below zero where late ones filled older gaps.
    pub missed: Option<i64>,
}

/// The kind of a watched step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Receives,
    Sends,
    Asks,
}

/// A step that is watched.
#[derive(Debug)]
struct Watched {
    part: StepKind,
    /// The host that sends the data, and the host that receives it.
    way: (HostName, HostName),
    /// Its samples, by the number of the interval that ended then.
    told: BTreeMap<u64, Sample>,
    last: Sample,
    /// Whether the step has ended: then no interval waits for it any more.
    has_ended: bool,
}

/// Makes intervals from the samples of a script's steps.
#[derive(Debug)]
pub struct Intervals {
    every: Span,
    steps: BTreeMap<usize, Watched>,
    /// The next interval to report, from 1.
    next: u64,
}

/// Most intervals that are kept while one step lags behind the others.
const MOST_KEPT: usize = 64;

impl Intervals {
    /// For a script with steps that send a sample at intervals of `every`.
    pub fn of(script: &Script, every: Span) -> Self {
        let steps = script.steps.iter().enumerate().filter_map(|(index, step)| {
            let part = part(&step.order.activity)?;
            let is_peer = |(_, other): &(usize, &crate::script::Step)| other.peer == Some(index);
            let peer = match step.peer {
                Some(peer) => script.steps.get(peer)?,
                None => script.steps.iter().enumerate().find(is_peer)?.1,
            };
            let (own, other) = (step.host.clone(), peer.host.clone());
            let way = if part == StepKind::Receives { (other, own) } else { (own, other) };
            let watched =
                Watched { part, way, told: BTreeMap::new(), last: Sample::START, has_ended: false };
            Some((index, watched))
        });
        Self { every, steps: steps.collect(), next: 1 }
    }

    /// The steps that send samples.
    pub fn steps(&self) -> impl Iterator<Item = usize> + '_ {
        self.steps.keys().copied()
    }

    /// Adds a sample of a step.
    pub fn add(&mut self, step: usize, sample: Sample) {
        let number = sample.at.nanoseconds() / self.every.nanoseconds().max(1);
        if let Some(watched) = self.steps.get_mut(&step)
            && watched.told.len() < MOST_KEPT
            && number < u64::MAX
        {
            watched.told.insert(number, sample);
        }
    }

    /// Marks a step as ended.
    pub fn end(&mut self, step: usize) {
        if let Some(watched) = self.steps.get_mut(&step) {
            watched.has_ended = true;
        }
    }

    /// The next interval, when every running step has sent its sample. It lasts until the first end
    /// of an interval with a sample: a host that reports a time years later gets one interval of
    /// years and not millions of empty ones.
    pub fn ready(&mut self) -> Option<Interval> {
        let is_told = |watched: &Watched| {
            watched.has_ended || watched.told.keys().any(|number| *number >= self.next)
        };
        if !self.steps.values().all(is_told) {
            return None;
        }
        let due = self.steps.values().filter_map(|watched| watched.told.range(self.next..).next());
        let number = due.map(|(number, _)| *number).min()?;
        let interval = self.interval(number);
        self.next = number + 1;
        Some(interval)
    }

    /// The interval from the previous one to the end of the one with this number.
    fn interval(&mut self, number: u64) -> Interval {
        let every = self.every.seconds();
        let (from_seconds, to_seconds) = ((self.next - 1) as f64 * every, number as f64 * every);
        let mut interval = Interval {
            from_seconds,
            to_seconds,
            request_seconds: None,
            requests: None,
            flows: Vec::new(),
        };
        for watched in self.steps.values_mut() {
            let later = watched.told.split_off(&(number + 1));
            let told = std::mem::replace(&mut watched.told, later).into_values().next_back();
            let Some(now) = told else { continue };
            let before = std::mem::replace(&mut watched.last, now);
            interval.take(watched, &before, &now);
        }
        interval
    }
}

impl Sample {
    /// The sample before any data moved.
    const START: Self =
        Self { at: Span::ZERO, bytes: Bytes::ZERO, missing: None, tcp: None, requests: None };

    /// Payload that reached the receiver since `before`, if TCP's segments are known also what waits
    /// behind a gap: a gap that is filled would otherwise look like a stream that is faster than its
    /// line.
    fn arrived_since(&self, before: &Self) -> u64 {
        let segments = self.tcp.map_or(0, |tcp| tcp.data_segments_received);
        if segments == 0 {
            return self.bytes.count().saturating_sub(before.bytes.count());
        }
        let earlier = before.tcp.map_or(0, |tcp| tcp.data_segments_received);
        let each = self.tcp.map_or(0, |tcp| tcp.receive_mss_bytes);
        u64::from(segments.wrapping_sub(earlier)) * u64::from(each)
    }

    fn sent_again(&self) -> u32 {
        self.tcp.map_or(0, |tcp| tcp.total_retransmits)
    }
}

impl Interval {
    fn take(&mut self, watched: &Watched, before: &Sample, now: &Sample) {
        let round_trip =
            now.tcp.filter(|tcp| tcp.rtt_us > 0).map(|tcp| f64::from(tcp.rtt_us) / 1e6);
        if watched.part == StepKind::Asks {
            self.request_seconds = now.requests.map(|requests| requests.median.seconds());
            self.requests = now.requests.map(|requests| requests.count);
            return;
        }
        let flow = self.flow(&watched.way);
        if watched.part == StepKind::Receives {
            let (moved, time) = (now.arrived_since(before), now.at.saturating_sub(before.at));
            flow.goodput_bits_per_second +=
                moved as f64 * 8.0 / time.seconds().max(f64::MIN_POSITIVE);
            if let Some(missing) = now.missing {
                let missed =
                    missing.cast_signed().wrapping_sub(before.missing.unwrap_or(0).cast_signed());
                flow.missed = Some(flow.missed.unwrap_or(0).saturating_add(missed));
            }
            return;
        }
        let Some(tcp) = now.tcp else { return };
        let add =
            |sum: &mut Option<u64>, part: u64| *sum = Some(sum.unwrap_or(0).saturating_add(part));
        add(
            &mut flow.segments_sent_again,
            now.sent_again().saturating_sub(before.sent_again()).into(),
        );
        add(
            &mut flow.congestion_window_bytes,
            u64::from(tcp.cwnd_segments) * u64::from(tcp.send_mss_bytes),
        );
        flow.round_trip_seconds =
            [flow.round_trip_seconds, round_trip].into_iter().flatten().reduce(f64::max);
    }

    fn flow(&mut self, (from, to): &(HostName, HostName)) -> &mut FlowInterval {
        let place = self.flows.iter().position(|flow| flow.from == *from && flow.to == *to);
        let place = place.unwrap_or_else(|| {
            self.flows.push(FlowInterval {
                from: from.clone(),
                to: to.clone(),
                goodput_bits_per_second: 0.0,
                segments_sent_again: None,
                congestion_window_bytes: None,
                round_trip_seconds: None,
                missed: None,
            });
            self.flows.len() - 1
        });
        &mut self.flows[place]
    }
}

fn part(activity: &Activity) -> Option<StepKind> {
    match activity {
        Activity::TcpReceive(_) | Activity::UdpReceive(_) => Some(StepKind::Receives),
        Activity::TcpSend(_) => Some(StepKind::Sends),
        Activity::Request(request) if request.open_loop.is_some() => Some(StepKind::Asks),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
