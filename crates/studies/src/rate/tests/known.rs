//! Synthetic runs: exact slowdowns, exact ratings.

use btu_contract::json;
use btu_units::{BitRate, Bytes, Span};

use btu_contract::record::{DatagramsReceived, DatagramsSent, Requested};

use super::super::*;
use super::*;
use crate::rate::reading::Reading;

/// Half a second alone, a second under any load, whatever the component.
fn doubled(row: Row, _: u32) -> f64 {
    match row {
        Row::Network { load: Load::Idle, .. } => 0.5,
        _ => 1.0,
    }
}

#[test]
fn twice_as_long_is_a_slowdown_of_two() {
    let context = context();
    let verdict = judge(&run(&context, 3, doubled, 3.0), &context);
    assert_eq!(verdict.penalties.table.len(), 15);
    for penalty in &verdict.penalties.table {
        let (network, host) = (penalty.network.unwrap(), penalty.host.unwrap());
        assert!(
            close(network.slowdown.value, 2.0) && close(host.slowdown.value, 3.0),
            "{penalty:?}"
        );
        assert!(close(network.clipped_seconds, 0.5) && close(network.signed_seconds, 0.5));
        assert!(close(host.base_seconds, 1.0) && close(host.clipped_seconds, 2.0));
        assert_eq!((network.components, host.components), (6, 6));
        assert!(network.slowdown.interval.unwrap().width() < 1e-9, "nothing varied");
    }
    for total in &verdict.penalties.totals {
        assert!(close(total.clipped_seconds, 3.0 * (0.5 + 2.0)), "three loads, both sides");
    }
    assert!(
        verdict.penalties.by_component.iter().all(|one| close(one.network.unwrap().value, 2.0))
    );
    assert!(verdict.penalties.by_load.iter().all(|one| close(one.host.unwrap().value, 3.0)));
}

#[test]
fn the_rating_is_the_geometric_mean_over_all_loaded_cells() {
    let context = context();
    let seconds = |row, _| match row {
        Row::Network { component: Component::Send, load: Load::Cpu, .. } => 64.0,
        _ => 1.0,
    };
    let verdict = judge(&run(&context, 3, seconds, 1.0), &context);
    let rating = verdict.rating.unwrap();
    // 5 of 90 cells are 64 times slower than 8 Mb/s: 8e6 / 64^(5/90).
    assert!(close(rating.btu_bits_per_second.value, 8e6 / 64f64.powf(5.0 / 90.0)));
    assert!(close(rating.arithmetic_mean_bits_per_second, 8e6 * (85.0 + 5.0 / 64.0) / 90.0));
    assert!(close(rating.harmonic_mean_bits_per_second, 8e6 * 90.0 / (85.0 + 5.0 * 64.0)));
    assert_eq!((rating.cells_used, rating.cells_planned, rating.repetitions_used), (90, 90, 270));
    assert_eq!(rating.complete_blocks, 3);
    assert!(!rating.low_confidence && rating.missing.is_empty());
    assert!(
        close(verdict.idle.unwrap().btu_bits_per_second.value, 8e6),
        "idle does not count the slow cells"
    );
    let cpu =
        verdict.per_load.iter().find(|one| one.load == Load::Cpu).unwrap().rating.clone().unwrap();
    assert!(close(cpu.btu_bits_per_second.value, 8e6 / 64f64.powf(5.0 / 30.0)));
    assert_eq!(verdict.per_size.len(), 5);
    assert!(verdict.btu95.is_none(), "the volume was not fixed");
}

#[test]
fn blocks_that_differ_as_a_whole_widen_the_interval() {
    let context = context();
    let drift = |_, block| [0.9, 1.0, 1.1][block as usize];
    let rating = judge(&run(&context, 3, drift, 1.0), &context).rating.unwrap();
    assert!(rating.low_confidence);
    assert_eq!(rating.low_confidence_reason().unwrap(), "known to ±25 % only");
    // Spread .1003 of the logarithms, three blocks, t = 4.3027.
    let half = (4.302_65 * 0.100_34 / 3f64.sqrt()).sinh();
    assert!((rating.btu_bits_per_second.relative_half_width().unwrap() / half - 1.0).abs() < 1e-3);
}

/// Two blocks tell no interval, neither of the rating nor of rows and slowdowns.
#[test]
fn two_blocks_give_no_interval_and_low_confidence() {
    let context = context();
    let drift = |_, block| [0.6, 1.0][block as usize];
    let verdict = judge(&run(&context, 2, drift, 1.0), &context);
    let rating = verdict.rating.unwrap();
    assert_eq!((rating.btu_bits_per_second.interval, rating.complete_blocks), (None, 2));
    assert_eq!(rating.low_confidence_reason().unwrap(), "2 blocks, and an interval takes three");
    let intervals = verdict.rates.iter().map(|row| row.goodput_bits_per_second.unwrap().interval);
    assert!(intervals.into_iter().all(|interval| interval.is_none()));
    assert!(verdict.penalties.by_load.iter().all(|of| of.network.unwrap().interval.is_none()));
}

/// The slowdown of a block's cells does not contain what the block has in common.
#[test]
fn a_machine_that_drifts_leaves_slowdowns_as_they_are() {
    let context = context();
    let drift = |row, block: u32| doubled(row, block) * f64::from(1 + block);
    let verdict = judge(&run(&context, 3, drift, 1.0), &context);
    for of in &verdict.penalties.by_load {
        let slowdown = of.network.unwrap();
        assert!(close(slowdown.value, 2.0) && slowdown.interval.unwrap().width() < 1e-9);
    }
}

#[test]
fn a_gain_is_clipped_in_the_papers_penalty_and_kept_in_the_signed_one() {
    let context = context();
    let seconds = |row, _| match row {
        Row::Network { component: Component::Send, load: Load::Disk, .. } => 0.4,
        Row::Network { load: Load::Disk, .. } => 1.6,
        _ => 1.0,
    };
    let verdict = judge(&run(&context, 3, seconds, 1.0), &context);
    let disk = verdict.penalties.table.iter().find(|penalty| penalty.load == Load::Disk).unwrap();
    let network = disk.network.unwrap();
    assert!(close(network.clipped_seconds, 5.0 * 0.6 / 6.0));
    assert!(close(network.signed_seconds, (5.0 * 0.6 - 0.6) / 6.0));
}

#[test]
fn seconds_are_for_the_baselines_work() {
    let context = context();
    let mut records = run(&context, 3, |_, _| 1.0, 1.0);
    for record in records.iter_mut().filter(|record| record.host.is_some()) {
        if let Some(network) = &mut record.network {
            // Twice the volume in twice the time is no penalty.
            network.bytes = VOLUME * 2;
            network.duration = Span::from_seconds(2);
        }
    }
    let penalties = judge(&records, &context).penalties;
    assert!(
        penalties.table.iter().all(|penalty| penalty.network.unwrap().signed_seconds.abs() < 1e-9)
    );
}

#[test]
fn void_cells_do_not_count_and_missing_rows_are_named() {
    let context = context();
    let lost =
        Row::Network { component: Component::Recv, message: Bytes::new(4096), load: Load::Cpu };
    let mut records = run(&context, 3, doubled, 1.0);
    for record in records.iter_mut().filter(|record| record.row == lost) {
        record.faults.push("tcp-send on test died: signal 9".to_owned());
        record.network.as_mut().unwrap().goodput_bits_per_second = 1.0;
    }
    let verdict = judge(&records, &context);
    let rating = verdict.rating.clone().unwrap();
    assert!(close(rating.btu_bits_per_second.value, 8e6));
    assert_eq!(rating.missing, [lost]);
    assert_eq!((rating.cells_used, rating.cells_planned), (89, 90));
    assert!(rating.low_confidence);
    assert_eq!(verdict.invalid_cells, 3);
    let row = verdict.rates.iter().find(|rate| rate.repetitions == 0).unwrap();
    assert_eq!(
        (row.component, row.invalid, row.goodput_bits_per_second),
        (Component::Recv, 3, None)
    );
}

#[test]
fn the_order_in_which_cells_were_stored_does_not_matter() {
    let context = context();
    let mut records = run(&context, 3, |_, block| 1.0 + f64::from(block) / 10.0, 1.0);
    let forth = judge(&records, &context);
    records.reverse();
    assert_eq!(judge(&records, &context), forth);
}

/// With void cells, rows that are missing and blocks that differ.
#[test]
fn the_speeds_alone_give_the_rating_of_the_whole_cells() {
    let context = context();
    let mut records = run(&context, 3, |_, block| 1.0 + f64::from(block) / 10.0, 1.0);
    for record in records.iter_mut().step_by(7) {
        record.faults.push("hung".to_owned());
    }
    records.retain(|record| {
        !matches!(record.row, Row::Network { component: Component::Send, load: Load::Disk, .. })
    });
    let verdict = judge(&records, &context);
    let rating = verdict.rating.clone().unwrap();
    assert!(!rating.missing.is_empty() && rating.btu_bits_per_second.interval.is_some());
    assert_eq!((verdict.title, &verdict.obstacles[..]), (Title::Part, &[Obstacle::Incomplete][..]));
    let mut readings: Vec<Reading> = records.iter().filter_map(Reading::of).collect();
    let whole = (verdict.rating, verdict.obstacles);
    assert_eq!(rating_of(&readings, &context), whole);
    readings.reverse();
    assert_eq!(rating_of(&readings, &context), whole);
    assert_eq!(rating_of(&[], &context), (None, vec![Obstacle::NoRating]));
}

#[test]
fn nothing_measured_is_a_verdict_too() {
    let verdict = judge(&[], &context());
    assert!(verdict.rating.is_none() && verdict.idle.is_none() && verdict.cpu.is_empty());
    assert!(
        verdict
            .penalties
            .table
            .iter()
            .all(|penalty| penalty.network.is_none() && penalty.host.is_none())
    );
    assert!(verdict.penalties.totals.is_empty());
    assert_eq!(verdict.warnings.len(), 1, "{:?}", verdict.warnings);
}

#[test]
fn cpu_time_is_that_of_the_test_stations_network_workers() {
    let context = context();
    let verdict = judge(&run(&context, 3, doubled, 1.0), &context);
    // Each sender used 4 ms for 10^6 bytes: 4 s for a gigabyte; receiver and host activity are not
    // counted.
    assert_eq!(verdict.cpu.len(), 20);
    for row in &verdict.cpu {
        assert!(close(row.cpu_seconds_per_gigabyte.unwrap(), 4.0));
        assert!(
            close(row.machine_busy, 0.5)
                && close(row.machine_softirq, 0.1)
                && row.machine_steal < 1e-9
        );
    }
}

/// A context with the further rows only.
fn further() -> Context {
    let base = context();
    let plan =
        Plan { components: Component::FURTHER.to_vec(), loads: vec![Load::Idle], ..base.plan };
    Context { plan, ..base }
}

fn requested(block: u32, round_trip_us: u64) -> CellRecord {
    let row = Row::Network {
        component: Component::InteractiveUdp,
        message: Bytes::new(100),
        load: Load::Idle,
    };
    let mut round_trip = Histogram::new();
    for _ in 0..99 {
        round_trip.record(round_trip_us * 1000);
    }
    let outcome = Outcome::Requested(Requested {
        requests: 100,
        answers: 99,
        lost: 1,
        lost_batches: Vec::new(),
        late: 0,
        wrong: 0,
        round_trip,
    });
    let network = NetworkResult {
        bytes: Bytes::ZERO,
        duration: Span::from_milliseconds(10),
        goodput_bits_per_second: 0.0,
        loss: 0.01,
    };
    let reports = vec![report(HostRole::Test, "request", 0.01, outcome)];
    CellRecord { network: Some(network), reports, ..cell(row, block) }
}

#[test]
fn round_trips_of_all_repetitions_are_taken_together() {
    let records = [requested(0, 10), requested(1, 20), requested(2, 40)];
    let verdict = judge(&records, &further());
    let [row] = verdict.interactive[..] else { panic!("{:?}", verdict.interactive) };
    let round_trip = row.round_trip.unwrap();
    assert_eq!((row.requests, round_trip.count), (300, 297));
    assert!((round_trip.p50_ns as f64 / 20_000.0 - 1.0).abs() < 2e-3);
    assert!((round_trip.max_ns as f64 / 40_000.0 - 1.0).abs() < 2e-3);
    let lost = row.lost.unwrap();
    assert_eq!((lost.events, lost.trials), (3, 300));
    assert!(
        (row.p50_ns.unwrap().value / 20_000.0 - 1.0).abs() < 2e-3,
        "geometric mean of 10, 20, 40"
    );
    assert!(close(row.answers_per_second.unwrap().value, 9900.0));
    assert!(verdict.rating.is_none(), "request and response is not part of the rating");
}

fn streamed(block: u32, arrived: u64) -> CellRecord {
    let row =
        Row::Network { component: Component::Udp, message: Bytes::new(1024), load: Load::Idle };
    let mut lateness = Histogram::new();
    lateness.record(5_000_000);
    let offered = BitRate::from_megabits_per_second(500);
    let span = Span::from_milliseconds(100);
    let sent = DatagramsSent {
        datagrams: 1000,
        bytes: Bytes::new(1_024_000),
        refused: 2,
        offered,
        span,
        lateness,
        held: None,
    };
    let received = DatagramsReceived {
        datagrams: arrived,
        lost_batches: Vec::new(),
        bytes: Bytes::new(1024 * arrived),
        duplicates: 1,
        reordered: 3,
        wrong: 0,
        buffer_drops: 1000 - arrived,
        first: Span::ZERO,
        span: Span::from_milliseconds(100),
        farewell: true,
        jitter: None,
        progress: Vec::new(),
    };
    let network = NetworkResult {
        bytes: received.bytes,
        duration: received.span,
        goodput_bits_per_second: received.bytes.bits() / received.span.seconds(),
        loss: 0.1,
    };
    let reports = vec![
        report(HostRole::Active, "udp-send", 0.1, Outcome::DatagramsSent(sent)),
        report(HostRole::Test, "udp-receive", 0.1, Outcome::DatagramsReceived(received)),
    ];
    CellRecord { network: Some(network), reports, ..cell(row, block) }
}

#[test]
fn losses_of_the_stream_are_counted_at_the_receiver() {
    let verdict = judge(&[streamed(0, 900), streamed(1, 980)], &further());
    let [row] = verdict.udp[..] else { panic!("{:?}", verdict.udp) };
    let lost = row.lost.unwrap();
    assert_eq!((lost.events, lost.trials), (120, 2000));
    assert!(lost.interval.contains(0.06) && !lost.interval.contains(0.08));
    assert!(close(row.sent_bits_per_second.unwrap().value, 81.92e6));
    assert_eq!((row.duplicates, row.reordered, row.buffer_drops, row.refused), (2, 6, 120, 4));
    let kinds: Vec<_> = verdict.warnings.iter().map(|warning| &warning.cause).collect();
    assert!(
        matches!(kinds[..], [Cause::NotMeasured(_), Cause::BufferDrops(_), Cause::LatePacing(_)]),
        "{kinds:?}"
    );
}

#[test]
fn a_verdict_has_no_gaps_in_json() {
    let context = context();
    let verdict = judge(&run(&context, 3, doubled, 3.0), &context);
    let text = json::indented(&verdict).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["rates"].as_array().unwrap().len(), verdict.rates.len());
    for name in
        ["btu_bits_per_second", "clipped_seconds", "cpu_seconds_per_gigabyte", "message_bytes"]
    {
        assert!(text.contains(name), "{name}");
    }
}
