//! The verdict over a run of `btu speed`.

mod bloat;
mod cause;
mod filling;

use btu_network::{Drawing, StationId};
use btu_stats::{Estimate, Histogram, Level, Proportion, geometric_interval, wilson_by_batches};
use btu_units::{Bytes, Span, Time};
use serde::Serialize;

pub use bloat::{Bloat, BloatWord, PhaseLoss, Wait};

use self::bloat::bloat;
use self::filling::still_filling;
use super::plan::{ASKED, CONNECT_ASKED};
use super::{Phase, SpeedCell, SpeedPlan};
use crate::breakdown::Breakdown;
use btu_contract::activity::Token;
use btu_contract::experiment::{
    AROUND_DATAGRAM, AROUND_SEGMENT, Measured, Observation, SEGMENT, Scripts, Warning, passage,
    warnings,
};
use btu_contract::record::{Outcome, Report, Requested, TcpInfo, bytes_by};
use btu_contract::sample::Interval;

/// A hundredth of fewer requests is less than one of them.
const LEAST_OF_P99: u64 = 100;

/// The number of parts in a flow's progress.
const PARTS: usize = 20;

/// Linux's SYN has eight octets of options more than other segments: the largest segment, the scale
/// of windows and selective acknowledgements next to the time stamps.
const SYN_OPTIONS: usize = 8;

/// The header of IPv6 is 40 octets long, that of IPv4 20.
const LONGER_HEADER: usize = 20;

/// The verdict over a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpeedVerdict {
    /// How long requests wait in queues, in one word; `None` where no phase can say it.
    pub bloat: Option<Bloat>,
    /// One for each phase of the plan, in its order.
    pub rows: Vec<SpeedRow>,
    /// The closed form's time of a request on the idle network of the file, in seconds.
    pub expected_round_trip_seconds: Option<f64>,
    /// The warnings about the result.
    pub warnings: Vec<Warning>,
}

/// The result of a phase, over all of its cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpeedRow {
    /// The phase of the measurement.
    #[serde(flatten)]
    pub cell: SpeedCell,
    /// The times of requests from the near host to the far one and back.
    pub round_trip: Option<RoundTrip>,
    /// The median less that of the idle network, in seconds: mostly the wait in queues. Below zero
    /// if no request waited, and the processors of a busy network were quicker to answer.
    pub queue_seconds: Option<f64>,
    /// Half the 95 % interval of that difference, in seconds.
    pub queue_uncertainty_seconds: Option<f64>,
    /// The mean over the shortest idle round trip, less one: the buffer delay of RFC 6349, section
    /// 4.3, as a share.
    pub buffer_delay: Option<f64>,
    /// The flows over the network.
    pub flows: Vec<FlowSpeed>,
    /// The connections of the phase that counts them; its round trip is the time of one, from
    /// connecting until the near host has closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connects: Option<Connects>,
    /// Processor time of the near host's workers over the phase's time: 1 is one processor.
    pub near_processors: Option<f64>,
    /// Like `near_processors`, for the far host's.
    pub far_processors: Option<f64>,
    /// Cells that do not count.
    pub invalid: usize,
    /// What was reported once a second in the first cell that counts: rates, segments that were sent
    /// again, congestion windows and round trips. Empty in runs of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Interval>,
}

/// Connections, each for one request, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Connects {
    /// Those that were answered and closed, per second of the near host's monotonic clock: the
    /// geometric mean of the blocks (95 %).
    pub per_second: Estimate,
    /// The closed form's rate on the network of the file, with hosts that take no time.
    pub expected_per_second: Option<f64>,
    /// The median time of a connection over that of a request on the idle network.
    pub idle_round_trips: Option<f64>,
    /// Connections that the far host refused.
    pub refused: u64,
}

/// The times of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundTrip {
    /// The number of requests in the distribution: those that left after the lead and were answered.
    pub count: u64,
    /// Those without an answer, of all that were sent, those of the lead too. The interval holds for
    /// losses in bursts ([`wilson_by_batches`]).
    pub lost: Proportion,
    /// The shortest, in seconds.
    pub least_seconds: f64,
    /// The median: of all, with an interval (95 %) where there were several blocks.
    pub median: Estimate,
    /// Half the 95 % interval of the median of all requests by their ranks, in seconds, as if no
    /// request depended on another one.
    pub median_uncertainty_seconds: f64,
    /// The 99th percentile; absent below 100 requests, of which it would be the longest.
    pub p99_seconds: Option<f64>,
    /// Half its 95 % interval by ranks, in seconds, as if no request depended on another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_uncertainty_seconds: Option<f64>,
    /// The mean round-trip time, in seconds.
    pub mean_seconds: f64,
}

impl RoundTrip {
    /// Half the 95 % interval of the median: by the blocks, or by the requests of a single one.
    fn uncertainty(&self) -> f64 {
        let by_blocks = self.median.interval.map(|interval| (interval.high - interval.low) / 2.0);
        by_blocks.unwrap_or(self.median_uncertainty_seconds)
    }
}

/// The direction of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the near host to the far one.
    Up,
    /// From the far host to the near one.
    Down,
}

/// The data in one direction, all connections together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowSpeed {
    /// The direction in which the data went.
    pub direction: Direction,
    /// Payload that arrived over the time until its last byte had arrived, in bits per second: the
    /// geometric mean of the blocks (95 %). Of several connections what arrived while all of them
    /// ran, over that one time: rates over times of their own would add up to more than the line has.
    pub goodput: Option<Estimate>,
    /// That time, in seconds, the mean of the blocks: longer than the phase where queues drain.
    pub seconds: f64,
    /// The goodput in each twentieth of that time, the mean of the blocks: its course, and how much
    /// it varies.
    pub course_bits_per_second: Vec<f64>,
    /// The closed form's rate of TCP on the network of the file.
    pub expected_bits_per_second: Option<f64>,
    /// The time of a transfer over its ideal time: the transfer time ratio of RFC 6349, section
    /// 4.1.
    pub transfer_time_ratio: Option<f64>,
    /// Octets that TCP sent again, as a share of all it sent; one less this is the efficiency of
    /// RFC 6349, section 4.2.
    pub sent_again: Option<f64>,
    /// The real sending rate of datagrams, in bits per second of payload.
    pub sent_bits_per_second: Option<f64>,
    /// Datagrams that did not arrive. The interval holds for losses in bursts ([`wilson_by_batches`]).
    pub lost: Option<Proportion>,
    /// Datagrams that arrived after one that was sent later.
    pub overtaken: Option<u64>,
    /// The jitter of datagrams, in seconds: the mean of |D| of RFC 3550, section 6.4.1, against the
    /// sender's schedule.
    pub jitter_seconds: Option<f64>,
    /// Where the time of TCP went; absent of short flows, and in runs of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Breakdown>,
}

/// One flow of a cell, or several together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrived {
    pub(super) direction: Direction,
    /// Payload over the time until its last byte had arrived.
    pub(super) bits_per_second: f64,
    /// The start of that time, by the receiver's clock.
    started: Time,
    /// That time.
    time: Span,
    /// Arrivals: (nanoseconds since the start, bytes so far), ascending.
    progress: Vec<(u64, u64)>,
    tcp: Option<TcpInfo>,
    datagrams: Option<Datagrams>,
}

#[derive(Debug, Clone, PartialEq)]
struct Datagrams {
    sent: u64,
    arrived: u64,
    lost_batches: Vec<u64>,
    overtaken: u64,
    sent_bits_per_second: f64,
    jitter: Option<Span>,
}

/// The accounts of each pair of a cell: the listener is at the far host, the caller at the near
/// one.
fn pairs(seen: &Observation) -> impl Iterator<Item = [&Report; 2]> {
    seen.reports.chunks_exact(2).filter_map(|pair| {
        let [far, near] = pair else { return None };
        Some([far.result.as_ref().ok()?, near.result.as_ref().ok()?])
    })
}

/// The results of requests.
pub(super) fn requested(seen: &Observation) -> Option<&Requested> {
    pairs(seen).find_map(|[_, near]| match &near.outcome {
        Outcome::Requested(requested) => Some(requested),
        _ => None,
    })
}

/// Every flow of a cell by itself.
fn received(seen: &Observation) -> impl Iterator<Item = Arrived> {
    pairs(seen).filter_map(|[far, near]| match (&far.outcome, &near.outcome) {
        (Outcome::Received(_) | Outcome::DatagramsReceived(_), _) => {
            arrived(Direction::Up, near, far)
        }
        (_, Outcome::Received(_) | Outcome::DatagramsReceived(_)) => {
            arrived(Direction::Down, far, near)
        }
        _ => None,
    })
}

fn arrived(direction: Direction, from: &Report, to: &Report) -> Option<Arrived> {
    match (&from.outcome, &to.outcome) {
        (Outcome::Sent(sent), Outcome::Received(received)) => Some(Arrived {
            direction,
            bits_per_second: rate(received.bytes, received.last_byte)?,
            started: to.started,
            time: received.last_byte,
            progress: received.progress.clone(),
            tcp: Some(sent.tcp),
            datagrams: None,
        }),
        (Outcome::DatagramsSent(sent), Outcome::DatagramsReceived(received)) => {
            let sent_bits_per_second = rate(sent.bytes, sent.span)?;
            // Over the longer of two times: a stream cannot arrive faster than it was sent.
            let time = received.span.max(sent.span);
            Some(Arrived {
                direction,
                bits_per_second: rate(received.bytes, time)?,
                started: to.started + received.first,
                time: received.span,
                progress: received.progress.clone(),
                tcp: None,
                datagrams: Some(Datagrams {
                    sent: sent.datagrams,
                    arrived: received.datagrams,
                    lost_batches: received.lost_batches.clone(),
                    overtaken: received.reordered,
                    sent_bits_per_second,
                    jitter: received.jitter,
                }),
            })
        }
        _ => None,
    }
}

fn rate(bytes: Bytes, time: Span) -> Option<f64> {
    (time > Span::ZERO).then(|| bytes.bits() / time.seconds())
}

impl Arrived {
    /// The rate in each part of the time.
    fn course(&self) -> Vec<f64> {
        let part = self.time.nanoseconds() as f64 / PARTS as f64;
        if part <= 0.0 || self.progress.is_empty() {
            return Vec::new();
        }
        let at = |number: usize| bytes_by(&self.progress, part * number as f64);
        (0..PARTS).map(|number| (at(number + 1) - at(number)) * 8e9 / part).collect()
    }
}

/// All flows of one direction together, over the time in which all of them ran.
pub(super) fn together(seen: &Observation, direction: Direction) -> Option<Arrived> {
    let mut flows: Vec<Arrived> = received(seen).filter(|one| one.direction == direction).collect();
    if flows.len() < 2 {
        return flows.pop();
    }
    let started = flows.iter().map(|flow| flow.started).min()?;
    let time = flows.iter().map(|flow| flow.started + flow.time).min()?.since(started);
    let at = |nanoseconds: u64| {
        let own = |flow: &Arrived| {
            let moment = started + Span::from_nanoseconds(nanoseconds);
            bytes_by(&flow.progress, moment.since(flow.started).nanoseconds() as f64)
        };
        (nanoseconds, flows.iter().map(own).sum::<f64>() as u64)
    };
    let parts = PARTS as u64;
    let progress: Vec<(u64, u64)> =
        (0..=parts).map(|part| at(time.nanoseconds() * part / parts)).collect();
    let bytes = Bytes::new(progress.last()?.1);
    let tcp = flows.iter().filter_map(|flow| flow.tcp).reduce(|sum, one| TcpInfo {
        bytes_sent: sum.bytes_sent.saturating_add(one.bytes_sent),
        bytes_retransmitted: sum.bytes_retransmitted.saturating_add(one.bytes_retransmitted),
        ..sum
    });
    Some(Arrived {
        direction,
        bits_per_second: rate(bytes, time)?,
        started,
        time,
        progress,
        tcp,
        datagrams: None,
    })
}

/// Judges a run by all its stored data.
pub(super) fn judge(plan: &SpeedPlan, cells: &[Measured<SpeedCell>]) -> SpeedVerdict {
    let drawing = plan.frame().network.drawing().filter(|drawing| !drawing.bare);
    let way = drawing.as_ref().and_then(|drawing| PathFormulas::of(plan, drawing));
    let mut rows: Vec<SpeedRow> =
        plan.cells().into_iter().map(|cell| row(cell, cells, way.as_ref())).collect();
    let idle = rows.iter().find(|row| row.cell.phase == Phase::Idle).and_then(|row| row.round_trip);
    for row in rows.iter_mut().filter(|row| row.cell.phase != Phase::Idle) {
        let both = row.round_trip.zip(idle);
        if let Some(connects) = &mut row.connects {
            connects.idle_round_trips =
                both.map(|(each, idle)| each.median.value / idle.median.value);
            continue;
        }
        row.queue_seconds = both.map(|(loaded, idle)| loaded.median.value - idle.median.value);
        row.queue_uncertainty_seconds =
            both.map(|(loaded, idle)| loaded.uncertainty().hypot(idle.uncertainty()));
        row.buffer_delay =
            both.map(|(loaded, idle)| loaded.mean_seconds / idle.least_seconds - 1.0);
    }
    cause::divide(&mut rows, cells);
    let expected_round_trip_seconds = way.as_ref().and_then(PathFormulas::round_trip);
    let warnings = warnings(cells).into_iter().chain(still_filling(plan, &rows)).collect();
    let is_managed = drawing.as_ref().is_some_and(Drawing::has_managed_queue);
    let bloat = bloat(&rows).map(|bloat| Bloat { has_cure: !is_managed, ..bloat });
    SpeedVerdict { bloat, rows, expected_round_trip_seconds, warnings }
}

/// The closed forms for the path between the two hosts.
pub(super) struct PathFormulas<'a> {
    drawing: &'a Drawing,
    near: StationId,
    far: StationId,
    /// The additional octets of headers, compared with IPv4.
    longer_header: usize,
}

impl<'a> PathFormulas<'a> {
    /// From one station to another over IPv4.
    pub(super) fn between(drawing: &'a Drawing, [near, far]: [StationId; 2]) -> Self {
        Self { drawing, near, far, longer_header: 0 }
    }

    pub(super) fn of(plan: &SpeedPlan, drawing: &'a Drawing) -> Option<Self> {
        let [near, far] = plan.hosts();
        let longer_header = if plan.frame().network.is_ipv6() { LONGER_HEADER } else { 0 };
        let [near, far] = [near?, far?].map(|host| drawing.station_called(host.as_str()));
        Some(Self { drawing, near: near?, far: far?, longer_header })
    }

    /// The time of a request and its answer, in seconds.
    fn round_trip(&self) -> Option<f64> {
        let octets = ASKED.count() as usize + AROUND_DATAGRAM + self.longer_header;
        let one =
            |from, to| passage(self.drawing, from, to, octets).map(|way| way.occupied + way.beyond);
        Some(one(self.near, self.far)? + one(self.far, self.near)?)
    }

    /// The time of a connection for one request, in seconds, with hosts that take no time: two round
    /// trips, and the frames that go ahead of another one on the line. The near host acknowledges
    /// the far one's SYN before it sends token and request; the far host acknowledges these (Linux
    /// does so at once on a new connection), answers, and sends its FIN; the near host acknowledges
    /// that and sends its own before the next SYN.
    pub(super) fn connect_seconds(&self) -> Option<f64> {
        let request = Token::default().len() + CONNECT_ASKED.count() as usize;
        let forth = self.crossings(self.near, self.far, [SYN_OPTIONS, request], 3)?;
        let back =
            self.crossings(self.far, self.near, [SYN_OPTIONS, CONNECT_ASKED.count() as usize], 2)?;
        Some(forth + back)
    }

    /// The time of frames that cross one after the other, each with so many octets of payload, and
    /// of empty segments that only occupy the line.
    fn crossings(
        &self,
        from: StationId,
        to: StationId,
        payloads: [usize; 2],
        empty: u32,
    ) -> Option<f64> {
        let of = |payload: usize| {
            passage(self.drawing, from, to, payload + AROUND_SEGMENT + self.longer_header)
        };
        let [first, second] = payloads.map(of);
        let (first, second) = (first?, second?);
        let ahead = of(0)?.occupied * f64::from(empty);
        Some(first.occupied + first.beyond + second.occupied + second.beyond + ahead)
    }

    /// The lower rate of both directions, in bits per second of payload.
    pub(super) fn slowest(&self) -> Option<f64> {
        let both =
            [Direction::Up, Direction::Down].map(|direction| self.bits_per_second(direction));
        both.into_iter().flatten().min_by(f64::total_cmp)
    }

    /// Payload of TCP, in bits per second. A full frame is as long over IPv6: its payload is what
    /// is less. `None` where a line changes its rate meanwhile.
    fn bits_per_second(&self, direction: Direction) -> Option<f64> {
        let changes = self.drawing.links.iter().flat_map(|link| &link.changes);
        if changes.into_iter().any(|change| change.rate.is_some()) {
            return None;
        }
        let (from, to) =
            if direction == Direction::Up { (self.near, self.far) } else { (self.far, self.near) };
        let occupied = passage(self.drawing, from, to, SEGMENT + AROUND_SEGMENT)?.occupied;
        Some((SEGMENT - self.longer_header) as f64 * 8.0 / occupied)
    }
}

fn row(cell: SpeedCell, cells: &[Measured<SpeedCell>], way: Option<&PathFormulas<'_>>) -> SpeedRow {
    let own = || cells.iter().filter(|measured| measured.cell == cell);
    let valid: Vec<&Observation> =
        own().filter(|measured| measured.is_valid()).map(|measured| &measured.seen).collect();
    let flow = |direction| flow(&valid, direction, way);
    SpeedRow {
        cell,
        round_trip: round_trip(&valid),
        queue_seconds: None,
        queue_uncertainty_seconds: None,
        buffer_delay: None,
        flows: [Direction::Up, Direction::Down].into_iter().filter_map(flow).collect(),
        connects: (cell.phase == Phase::Connects).then(|| connects(&valid, way)).flatten(),
        near_processors: processors(&valid, |[_, near]| near),
        far_processors: processors(&valid, |[far, _]| far),
        invalid: own().count() - valid.len(),
        course: valid.first().map(|seen| seen.course.clone()).unwrap_or_default(),
    }
}

fn connects(valid: &[&Observation], way: Option<&PathFormulas<'_>>) -> Option<Connects> {
    let per_second = |[_, near]: [&Report; 2]| match &near.outcome {
        Outcome::Requested(requested) => Some(requested.answers as f64 / near.duration().seconds()),
        _ => None,
    };
    let rates: Vec<f64> =
        valid.iter().filter_map(|seen| pairs(seen).find_map(per_second)).collect();
    let refused = valid.iter().filter_map(|seen| requested(seen)).map(|requested| requested.lost);
    Some(Connects {
        per_second: geometric_interval(&rates, Level::P95)?,
        expected_per_second: way
            .and_then(PathFormulas::connect_seconds)
            .map(|seconds| 1.0 / seconds),
        idle_round_trips: None,
        refused: refused.fold(0, u64::saturating_add),
    })
}

fn round_trip(valid: &[&Observation]) -> Option<RoundTrip> {
    let mut all = Histogram::new();
    let mut medians = Vec::new();
    let (mut count, mut sent, mut lost) = (0_u64, 0_u64, 0_u64);
    let mut lost_batches = Vec::new();
    for requested in valid.iter().filter_map(|seen| requested(seen)) {
        all.merge(&requested.round_trip);
        medians.extend(requested.round_trip.quantile(0.5).map(seconds));
        count = count.saturating_add(requested.samples());
        sent = sent.saturating_add(requested.requests);
        lost = lost.saturating_add(requested.lost);
        lost_batches.extend(&requested.lost_batches);
    }
    let interval = geometric_interval(&medians, Level::P95).and_then(|estimate| estimate.interval);
    let has_p99 = count >= LEAST_OF_P99;
    Some(RoundTrip {
        count,
        lost: wilson_by_batches(lost, sent, &lost_batches, Level::P95)?,
        least_seconds: seconds(all.min()?),
        median: Estimate { value: seconds(all.quantile(0.5)?), interval },
        median_uncertainty_seconds: uncertainty(&all, 0.5, count)?,
        p99_seconds: has_p99.then(|| all.known_quantile(0.99).map(seconds)).flatten(),
        p99_uncertainty_seconds: has_p99.then(|| uncertainty(&all, 0.99, count)).flatten(),
        mean_seconds: all.mean()? / 1e9,
    })
}

/// Half of the distance between the ranks that contain a quantile of all possible requests with
/// 95 %: the number of requests below it is binomial.
fn uncertainty(all: &Histogram, quantile: f64, count: u64) -> Option<f64> {
    let ranks = 1.96 * (quantile * (1.0 - quantile) / count as f64).sqrt();
    let at = |quantile: f64| all.quantile(quantile.clamp(0.0, 1.0)).map(seconds);
    Some((at(quantile + ranks)? - at(quantile - ranks)?) / 2.0)
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn flow(
    valid: &[&Observation],
    direction: Direction,
    way: Option<&PathFormulas<'_>>,
) -> Option<FlowSpeed> {
    let flows: Vec<Arrived> = valid.iter().filter_map(|seen| together(seen, direction)).collect();
    let rates: Vec<f64> = flows.iter().map(|flow| flow.bits_per_second).collect();
    let first = flows.first()?;
    let mut course = vec![0.0; first.course().len()];
    for flow in &flows {
        course
            .iter_mut()
            .zip(flow.course())
            .for_each(|(sum, rate)| *sum += rate / flows.len() as f64);
    }
    let goodput = geometric_interval(&rates, Level::P95);
    let expected =
        way.filter(|_| first.tcp.is_some()).and_then(|way| way.bits_per_second(direction));
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let tcp: Vec<TcpInfo> = flows.iter().filter_map(|flow| flow.tcp).collect();
    let datagrams: Vec<&Datagrams> =
        flows.iter().filter_map(|flow| flow.datagrams.as_ref()).collect();
    let sum = |part: fn(&Datagrams) -> u64| {
        datagrams.iter().map(|one| part(one)).fold(0, u64::saturating_add)
    };
    let lost_batches: Vec<u64> =
        datagrams.iter().flat_map(|one| &one.lost_batches).copied().collect();
    let sent: Vec<f64> = datagrams.iter().map(|one| one.sent_bits_per_second).collect();
    Some(FlowSpeed {
        direction,
        goodput,
        seconds: flows.iter().map(|flow| flow.time.seconds()).sum::<f64>() / flows.len() as f64,
        course_bits_per_second: course,
        expected_bits_per_second: expected,
        transfer_time_ratio: expected
            .zip(goodput)
            .map(|(expected, goodput)| expected / goodput.value),
        sent_again: share(
            tcp.iter().map(|one| one.bytes_retransmitted).fold(0, u64::saturating_add),
            tcp.iter().map(|one| one.bytes_sent).fold(0, u64::saturating_add),
        ),
        sent_bits_per_second: geometric_interval(&sent, Level::P95).map(|estimate| estimate.value),
        lost: wilson_by_batches(
            sum(|one| one.sent).saturating_sub(sum(|one| one.arrived)),
            sum(|one| one.sent),
            &lost_batches,
            Level::P95,
        ),
        overtaken: (!datagrams.is_empty()).then(|| sum(|one| one.overtaken)),
        jitter_seconds: mean(datagrams.iter().filter_map(|one| Some(one.jitter?.seconds()))),
        breakdown: None,
    })
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Processor time of one end's workers over the time of the longest.
fn processors(valid: &[&Observation], end: fn([&Report; 2]) -> &Report) -> Option<f64> {
    let (mut used, mut time) = (0.0, 0.0);
    for seen in valid {
        let reports: Vec<&Report> = pairs(seen).map(end).collect();
        used += reports.iter().map(|report| report.cpu.used().seconds()).sum::<f64>();
        time += reports.iter().map(|report| report.duration().seconds()).fold(0.0, f64::max);
    }
    (time > 0.0).then(|| used / time)
}

#[cfg(test)]
mod tests;
