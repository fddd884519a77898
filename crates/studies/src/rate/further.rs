//! The rows outside the rating: request and response, and the paced stream.

use btu_stats::{Estimate, Histogram, Interval, Proportion, over_blocks, wilson_by_batches};
use btu_units::{BitRate, Bytes};
use serde::Serialize;

use btu_contract::load::Load;
use btu_contract::record::{DatagramsReceived, DatagramsSent, Outcome, Requested};

use super::LEVEL;
use super::cells::Cells;
use super::context::Context;
use super::record::CellRecord;
use super::row::{Component, Row};

/// Request and response under one load. Round trips are those of a closed loop: one user who waits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InteractiveRow {
    /// Over TCP or over UDP.
    pub component: Component,
    /// Size of request and of response.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The load that ran at the same time.
    pub load: Load,
    /// The number of valid repetitions.
    pub repetitions: usize,
    /// Requests sent in all repetitions.
    pub requests: u64,
    /// Requests without an answer in time.
    pub lost: Option<Proportion>,
    /// Answers in time per second: geometric mean over repetitions.
    pub answers_per_second: Option<Estimate>,
    /// Geometric mean of the repetitions' medians, with its interval.
    pub p50_ns: Option<Estimate>,
    /// Quantiles of all repetitions' round trips taken together.
    pub round_trip: Option<Quantiles>,
}

/// Quantiles of a distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// How many times there are.
    pub count: u64,
    /// Half are at most this.
    pub p50_ns: u64,
    /// Nine of ten; absent below ten times.
    pub p90_ns: Option<u64>,
    /// 99 of 100; absent below 100 times, of which it would be the longest.
    pub p99_ns: Option<u64>,
    /// 999 of 1000; absent below 1000 times.
    pub p999_ns: Option<u64>,
    /// The longest of the times, in nanoseconds.
    pub max_ns: u64,
}

impl Quantiles {
    /// Of `histogram`; `None` when it is empty.
    fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            p50_ns: histogram.quantile(0.5)?,
            p90_ns: histogram.known_quantile(0.9),
            p99_ns: histogram.known_quantile(0.99),
            p999_ns: histogram.known_quantile(0.999),
            max_ns: histogram.max()?,
        })
    }
}

/// The paced stream under one load; everything is counted at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UdpRow {
    /// Payload of a datagram.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The load that ran at the same time.
    pub load: Load,
    /// The number of valid repetitions.
    pub repetitions: usize,
    /// The requested rate, over the payload.
    #[serde(rename = "offered_bits_per_second")]
    pub offered: BitRate,
    /// The real sending rate, by the sender's own clock: geometric mean over repetitions. Absent in
    /// older runs.
    pub sent_bits_per_second: Option<Estimate>,
    /// The delivered rate, each datagram once: geometric mean over repetitions. Never above the
    /// sending rate. Its interval reaches to the rate that was sent and not lost: what queues on the way hold
    /// makes these differ.
    pub goodput_bits_per_second: Option<Estimate>,
    /// Datagrams that were sent and did not arrive. The interval takes losses to be independent;
    /// bursts spread wider. It reaches to the share by which the delivered rate is below the sending rate.
    pub lost: Option<Proportion>,
    /// Further copies of datagrams already counted.
    pub duplicates: u64,
    /// Datagrams that came after one with a higher number (RFC 4737).
    pub reordered: u64,
    /// Of the lost, those that the receiver's full socket buffer dropped.
    pub buffer_drops: u64,
    /// Datagrams that the sender's kernel refused; they were never sent and are not among the lost.
    pub refused: u64,
    /// The lateness of datagrams against their schedule: the 99th percentile; absent below 100
    /// datagrams.
    pub send_lateness_p99_ns: Option<u64>,
    /// How many datagrams that percentile is of. Absent in older verdicts.
    pub datagrams: u64,
}

/// Request and response, by transport and load.
pub(super) fn interactive(cells: &Cells, context: &Context) -> Vec<InteractiveRow> {
    let components = [Component::InteractiveTcp, Component::InteractiveUdp];
    let rows = components.into_iter().flat_map(|component| context.rows_of(component));
    rows.filter_map(|row| interactive_row(cells, row)).collect()
}

fn interactive_row(cells: &Cells, row: Row) -> Option<InteractiveRow> {
    let Row::Network { component, message, load } = row else { return None };
    let repetitions: Vec<(&CellRecord, &Requested)> =
        cells.of(row).iter().filter_map(|record| Some((*record, requested(record)?))).collect();
    let mut all = Histogram::new();
    for (_, requested) in &repetitions {
        all.merge(&requested.round_trip);
    }
    let medians: Vec<f64> = repetitions
        .iter()
        .filter_map(|(_, one)| one.round_trip.quantile(0.5))
        .map(|ns| ns as f64)
        .collect();
    let rates: Vec<f64> =
        repetitions.iter().filter_map(|(record, one)| answers_per_second(record, one)).collect();
    let requests = repetitions.iter().map(|(_, one)| one.requests).sum();
    let lost = repetitions.iter().map(|(_, one)| one.lost).sum();
    let lost_batches: Vec<u64> =
        repetitions.iter().flat_map(|(_, one)| &one.lost_batches).copied().collect();
    (!repetitions.is_empty()).then(|| InteractiveRow {
        component,
        message,
        load,
        repetitions: repetitions.len(),
        requests,
        lost: wilson_by_batches(lost, requests, &lost_batches, LEVEL),
        answers_per_second: over_repetitions(&rates),
        p50_ns: over_repetitions(&medians),
        round_trip: Quantiles::of(&all),
    })
}

fn requested(record: &CellRecord) -> Option<&Requested> {
    outcomes(record).find_map(|outcome| match outcome {
        Outcome::Requested(requested) => Some(requested),
        _ => None,
    })
}

fn answers_per_second(record: &CellRecord, requested: &Requested) -> Option<f64> {
    let seconds = record.network.as_ref()?.duration.seconds();
    (seconds > 0.0).then(|| requested.answers as f64 / seconds)
}

/// The paced stream, by load.
pub(super) fn udp(cells: &Cells, context: &Context) -> Vec<UdpRow> {
    context.rows_of(Component::Udp).filter_map(|row| udp_row(cells, context, row)).collect()
}

fn udp_row(cells: &Cells, context: &Context, row: Row) -> Option<UdpRow> {
    let Row::Network { message, load, .. } = row else { return None };
    let streams: Vec<(&DatagramsSent, &DatagramsReceived)> = cells
        .of(row)
        .iter()
        .filter_map(|record| Some((datagrams_sent(record)?, datagrams_received(record)?)))
        .collect();
    let sum = |of: &dyn Fn(&DatagramsSent, &DatagramsReceived) -> u64| -> u64 {
        streams.iter().map(|(sent, received)| of(sent, received)).sum()
    };
    let mut lateness = Histogram::new();
    for (sent, _) in &streams {
        lateness.merge(&sent.lateness);
    }
    let rates: Vec<f64> = streams.iter().filter_map(|(sent, _)| sent.bits_per_second()).collect();
    let goodputs: Vec<f64> =
        cells.network(row).map(|network| network.goodput_bits_per_second).collect();
    let lost = sum(&|sent, received| sent.datagrams.saturating_sub(received.datagrams));
    let lost_batches: Vec<u64> =
        streams.iter().flat_map(|(_, received)| &received.lost_batches).copied().collect();
    let sent_bits_per_second = over_repetitions(&rates);
    let (goodput_bits_per_second, lost) = with_queued(
        sent_bits_per_second,
        over_repetitions(&goodputs),
        wilson_by_batches(lost, sum(&|sent, _| sent.datagrams), &lost_batches, LEVEL),
    );
    (!streams.is_empty()).then(|| UdpRow {
        message,
        load,
        repetitions: streams.len(),
        offered: context.plan.udp_offered,
        sent_bits_per_second,
        goodput_bits_per_second,
        lost,
        duplicates: sum(&|_, received| received.duplicates),
        reordered: sum(&|_, received| received.reordered),
        buffer_drops: sum(&|_, received| received.buffer_drops),
        refused: sum(&|sent, _| sent.refused),
        send_lateness_p99_ns: lateness.known_quantile(0.99),
        datagrams: lateness.count(),
    })
}

/// Goodput and loss with intervals that hold what queues on the way make uncertain. While a queue fills, its datagrams
/// are neither delivered nor lost, and they arrive after the sender has ended: the share that is lost is too small, and the rate that
/// was sent and not lost is above the delivered one. The difference shows how much that is.
fn with_queued(
    sent: Option<Estimate>,
    goodput: Option<Estimate>,
    lost: Option<Proportion>,
) -> (Option<Estimate>, Option<Proportion>) {
    let (Some(sent), Some(mut delivered), Some(mut missing)) = (sent, goodput, lost) else {
        return (goodput, lost);
    };
    let not_lost = sent.value * (1.0 - missing.share);
    let not_delivered = (1.0 - delivered.value / sent.value).clamp(0.0, 1.0);
    delivered.interval = delivered.interval.map(|ends| reaching(ends, not_lost));
    missing.interval = reaching(missing.interval, not_delivered);
    (Some(delivered), Some(missing))
}

fn reaching(ends: Interval, value: f64) -> Interval {
    Interval { low: ends.low.min(value), high: ends.high.max(value) }
}

fn datagrams_sent(record: &CellRecord) -> Option<&DatagramsSent> {
    outcomes(record).find_map(|outcome| match outcome {
        Outcome::DatagramsSent(sent) => Some(sent),
        _ => None,
    })
}

fn datagrams_received(record: &CellRecord) -> Option<&DatagramsReceived> {
    outcomes(record).find_map(|outcome| match outcome {
        Outcome::DatagramsReceived(received) => Some(received),
        _ => None,
    })
}

/// The geometric mean of repetitions, each in a block of its own; those without a speed do not count.
fn over_repetitions(values: &[f64]) -> Option<Estimate> {
    let is_sound = |value: &f64| *value > 0.0 && value.is_finite();
    let row = values.iter().map(|value| Some(*value).filter(is_sound)).collect();
    over_blocks(&[row], LEVEL).map(|over| over.estimate)
}

/// The outcomes of a cell's workers that finished.
pub(super) fn outcomes(record: &CellRecord) -> impl Iterator<Item = &Outcome> {
    record
        .reports
        .iter()
        .filter_map(|placed| placed.result.as_ref().ok())
        .map(|report| &report.outcome)
}

#[cfg(test)]
mod tests {
    use btu_stats::wilson;

    use super::*;

    /// As measured on a line of 7.09 Mb/s with a long queue: 8.45 Mb/s sent, a tenth lost.
    #[test]
    fn the_stated_intervals_hold_what_queues_make_uncertain() {
        let about =
            |value: f64| Estimate { value, interval: Some(Interval::around(value, 0.01 * value)) };
        let lost = wilson(1030, 10_000, LEVEL).unwrap();
        let found = with_queued(Some(about(8.45e6)), Some(about(7.09e6)), Some(lost));
        let (delivered, missing) = (found.0.unwrap(), found.1.unwrap());
        let ends = delivered.interval.unwrap();
        assert!((ends.high - 8.45e6 * 0.897).abs() < 1.0 && ends.low < 7.09e6, "{ends:?}");
        assert!((missing.interval.high - (1.0 - 7.09 / 8.45)).abs() < 1e-9, "{missing:?}");
        assert_eq!((delivered.value, missing.share), (7.09e6, lost.share));
        // Nothing queued: both ways say the same, and intervals stay as they are.
        let none = wilson(0, 10_000, LEVEL).unwrap();
        let found = with_queued(Some(about(8e6)), Some(about(8e6)), Some(none));
        assert_eq!(found, (Some(about(8e6)), Some(none)));
    }

    #[test]
    fn b12_a_percentile_has_as_many_times_as_it_takes() {
        let of = |count: u64| {
            let mut histogram = Histogram::new();
            (1..=count).for_each(|value| histogram.record(value * 1000));
            Quantiles::of(&histogram).unwrap()
        };
        let few = of(72);
        assert!(few.p90_ns.is_some() && few.p99_ns.is_none() && few.p999_ns.is_none(), "{few:?}");
        assert!(few.max_ns > few.p50_ns);
        assert_eq!((of(9).p90_ns, of(9).count), (None, 9));
        let many = of(1000);
        assert!(many.p99_ns < many.p999_ns && many.p999_ns.unwrap() <= many.max_ns, "{many:?}");
    }
}
