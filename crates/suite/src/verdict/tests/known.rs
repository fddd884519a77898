//! Synthetic runs: exact slowdowns, exact ratings.

use btu_stats::{Form, student_quantile};
use btu_units::{BitRate, Bytes, Span};

use super::super::*;
use super::*;
use crate::compare::Reading;
use crate::record::{DatagramsReceived, DatagramsSent, Requested};

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
    assert_eq!(rating.interval_form, Some(Form::BetweenBlocks));
    assert!(rating.low_confidence);
    // Spread .1003 of the logarithms, three blocks, t = 4.3027.
    let half = (4.302_65 * 0.100_34 / 3f64.sqrt()).sinh();
    assert!((rating.btu_bits_per_second.relative_half_width().unwrap() / half - 1.0).abs() < 1e-3);
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

fn placed(records: &[CellRecord]) -> Vec<PlacedReading> {
    let mut in_order: Vec<&CellRecord> = records.iter().collect();
    in_order.sort_by_key(|record| (record.block, record.position, record.row));
    let placed =
        |record: &&CellRecord| Some((Reading::of(record)?, record.machine.processor_readings()));
    PlacedReading::in_order(&in_order.iter().filter_map(placed).collect::<Vec<_>>())
}

/// Cells of the first block are far, half as quick with large messages and a fifth slower with
/// others; under `cpu`, everything takes twice as long. Odd blocks are a tenth quicker.
fn far_at_first(context: &Context) -> Vec<CellRecord> {
    let seconds = |row: Row, block: u32| {
        let Row::Network { message, load, .. } = row else { return 1.0 };
        let far = if message == Bytes::new(65_536) { 2.0 } else { 1.25 };
        let cpu = if load == Load::Cpu { 2.0 } else { 1.0 };
        cpu * if block == 0 { far } else { 1.0 } * if block.is_multiple_of(2) { 1.0 } else { 0.9 }
    };
    let mut records = run(context, 4, seconds, 1.0);
    for record in &mut records {
        let is_far = record.block == 0;
        record.machine.core_to_core_ns = Some(if is_far { 300 } else { 60 });
    }
    records
}

/// The cells of a run that was far from beginning to end.
fn far_throughout(context: &Context) -> Vec<CellRecord> {
    let mut records = far_at_first(context);
    records.retain(|record| record.block == 0);
    let more = |block| records.iter().map(move |record| CellRecord { block, ..record.clone() });
    [1, 2].into_iter().flat_map(more).chain(records.iter().cloned()).collect()
}

/// What nothing in a run tells, three earlier runs tell: 8 Mb/s near, and half of that under `cpu`.
#[test]
fn what_far_processors_cost_comes_from_earlier_runs() {
    let mut context = context();
    let records = far_throughout(&context);
    context.known.near = Some(Span::from_nanoseconds(60));
    let runs = vec![placed(&far_at_first(&context)); 3];
    let rating = |context: &Context| judge(&records, context).rating.unwrap().btu_bits_per_second;
    let as_measured = rating(&context).value;
    context.known.costs = KnownCosts::of(&runs[1..], context.known.near);
    assert!(context.known.costs.is_empty() && close(rating(&context).value, as_measured));

    context.known.costs = KnownCosts::of(&runs, context.known.near);
    let sizes: Vec<_> =
        context.known.costs.far.iter().map(|cost| (cost.message, cost.runs)).collect();
    assert_eq!(sizes.len(), 5);
    assert!(sizes.iter().all(|(_, runs)| *runs == 3) && sizes[4].0 == Bytes::new(65_536));
    let near = 8e6 / 2f64.powf(1.0 / 3.0) / 0.9f64.powf(2.0 / 3.0);
    assert!(close(rating(&context).value, near), "{:?} of {near}", rating(&context));
    assert!(rating(&context).interval.unwrap().width() > 0.0);
    assert!(close(
        rating_of(&placed(&records), &context).0.unwrap().btu_bits_per_second.value,
        near
    ));
    let verdict = judge(&records, &context);
    let warning =
        verdict.warnings.iter().find(|one| matches!(one.cause, Cause::ProcessorsApart(_)));
    let observed = &warning.unwrap().observed;
    assert!(observed.contains("over that of others (in 3 earlier runs as well)"), "{observed}");
}

/// In the first and third block arithmetic takes twice as long, and goodput is half.
fn slow_in_turns(context: &Context) -> Vec<CellRecord> {
    let mut records =
        run(context, 4, |_, block| if block.is_multiple_of(2) { 2.0 } else { 1.0 }, 1.0);
    for record in &mut records {
        record.machine.core_to_core_ns = Some(60);
        record.machine.arithmetic_ns =
            Some(if record.block.is_multiple_of(2) { 56_000 } else { 28_000 });
    }
    records
}

/// A run with four quick cells, whose own slope is worth too little: three earlier runs tell that twice the time is half
/// of the goodput.
#[test]
fn what_slow_processors_cost_comes_from_earlier_runs() {
    let mut context = context();
    let runs = vec![placed(&slow_in_turns(&context)); 3];
    let (mut records, quick): (Vec<_>, Vec<_>) =
        slow_in_turns(&context).into_iter().partition(|record| record.block.is_multiple_of(2));
    let is_rated = |record: &CellRecord| matches!(record.row, Row::Network { component, load: Load::Cpu, .. } if component.is_rated());
    records
        .extend(quick.into_iter().filter(|record| record.block == 1 && is_rated(record)).take(4));
    let rating = |context: &Context| judge(&records, context).rating.unwrap().btu_bits_per_second;
    assert!(rating(&context).value < 4.1e6, "as measured");
    context.known.costs = KnownCosts::of(&runs, None);
    let slow = context.known.costs.slow.unwrap();
    assert_eq!(slow.runs, 3);
    // Readings on both sides of a change are blurred.
    assert!((slow.goodput.logarithm() + 1.0).abs() < 0.1, "{slow:?}");
    let usual = context.known.costs.usual.unwrap();
    assert_eq!(usual.arithmetic_ns, (56_000.0 * 0.5f64.sqrt()).round() as u64);
    // Nearly all cells are slow; in the usual time, rates are those of quick ones over the root of two.
    let expected = 8e6 / 2f64.sqrt();
    let found = rating(&context).value;
    assert!((found / expected - 1.0).abs() < 0.02, "{found}");
    let verdict = judge(&records, &context);
    let slowed =
        verdict.warnings.iter().find(|one| matches!(one.cause, Cause::ProcessorsSlowed(_)));
    let observed = &slowed.unwrap().observed;
    assert!(
        observed.contains("in the usual 39.6 us (in 3 earlier runs as well), taken out"),
        "{observed}"
    );
}

/// By hand: three runs between near processors of 60, 66 and 72 ns have goodputs of 8 Mb/s over the root of the latency over
/// 60 ns. A run of 80 ns is as it would be at their mean.
#[test]
fn what_goes_along_with_the_latency_comes_from_earlier_runs() {
    let mut context = context();
    let of_latency = |latency: u64| {
        let seconds = (latency as f64 / 60.0).sqrt();
        let mut records = run(&context, 4, |_, _| seconds, 1.0);
        for record in &mut records {
            record.machine.core_to_core_ns = Some(latency);
            record.machine.arithmetic_ns = Some(40_000);
        }
        records
    };
    let runs = [60, 66, 72].map(|latency| placed(&of_latency(latency)));
    let records = of_latency(80);
    let costs = KnownCosts::of(&runs, None);
    let usual = costs.usual.unwrap();
    assert_eq!((usual.core_to_core_ns, usual.arithmetic_ns), (66, 40_000));
    let distant = costs.distant.unwrap();
    assert!((distant.goodput.logarithm() + 0.5).abs() < 1e-9, "{distant:?}");
    assert_eq!((distant.runs, costs.slow), (3, None), "arithmetic was always as quick");
    let text = serde_json::to_string(&costs).unwrap();
    assert_eq!(serde_json::from_str::<KnownCosts>(&text).unwrap(), costs);
    context.known.costs = costs;
    let verdict = judge(&records, &context);
    let rating = verdict.rating.clone().unwrap().btu_bits_per_second;
    assert!(close(rating.value, 8e6 / (66f64 / 60.0).sqrt()), "{rating:?}");
    assert_eq!(rating_of(&placed(&records), &context).0, verdict.rating);
    let slowed =
        verdict.warnings.iter().find(|one| matches!(one.cause, Cause::ProcessorsSlowed(_)));
    let observed = &slowed.unwrap().observed;
    let expected = "a cache line took 80 ns between them instead of the usual 66 ns (in 3 earlier runs as well), taken \
                    out: 0.91";
    assert!(observed.contains(expected), "{observed}");
}

/// Six runs that vary alike: Student's t has two degrees of freedom in one of them, and twelve in all.
#[test]
fn how_much_results_vary_comes_from_earlier_runs() {
    let mut context = context();
    let records = run(&context, 3, |_, block| 1.0 + f64::from(block) / 10.0, 1.0);
    let before = |runs: usize| vec![placed(&records); runs];
    let verdict = |earlier: EarlierRuns, context: &mut Context| {
        context.known = earlier;
        judge(&records, context)
    };
    let by_itself = verdict(EarlierRuns::default(), &mut context);
    let few = EarlierRuns::of(&before(4), &context.plan, None);
    assert!(few.spreads.is_empty());
    assert_eq!(verdict(few, &mut context), by_itself, "four runs are too few");

    let known = EarlierRuns::of(&before(5), &context.plan, None);
    let text = serde_json::to_string(&known.spreads).unwrap();
    assert_eq!(serde_json::from_str::<KnownSpreads>(&text).unwrap(), known.spreads);
    let knowing = verdict(known, &mut context);
    let of = |verdict: &Verdict| {
        let rating = verdict.rating.as_ref().unwrap();
        let size = verdict.per_size[2].idle.as_ref().unwrap();
        let slowdown = verdict.penalties.table[0].components[0].network.unwrap().slowdown;
        let row = verdict.rates[0].goodput_bits_per_second.unwrap();
        [rating.btu_bits_per_second, size.btu_bits_per_second, row, slowdown]
    };
    let narrower = student_quantile(LEVEL, 12.0).unwrap() / student_quantile(LEVEL, 2.0).unwrap();
    for (one, all) in of(&by_itself).into_iter().zip(of(&knowing)).take(3) {
        assert!(close(one.value, all.value));
        let [one, all] = [one, all].map(|estimate| estimate.interval.unwrap().map(f64::ln).width());
        assert!(close(all, one * narrower), "{all} of {one}");
    }
    // A slowdown of two rows has twice as many degrees of freedom.
    let [one, all] = [&by_itself, &knowing].map(|of_verdict| of(of_verdict)[3].interval.unwrap());
    assert!(all.width() < 0.8 * one.width());
    let rating = knowing.rating.clone().unwrap();
    assert_eq!((rating.interval_form, rating.earlier_runs), (Some(Form::BetweenBlocks), 5));
    assert_eq!(rating_of(&placed(&records), &context).0, knowing.rating);
}

/// By hand: far cells over the mean of near ones (1, 1/0.9 twice, as logarithms) is the cost times
/// 0.9^(2/3), and near cells make a rate of 8 Mb/s / 0.9^(2/3), halved under `cpu`.
#[test]
fn what_far_processors_cost_is_taken_out_of_rates() {
    let context = context();
    let records = far_at_first(&context);
    let verdict = judge(&records, &context);
    let near = 8e6 / 0.9f64.powf(2.0 / 3.0);
    let alone = verdict.idle.as_ref().unwrap().btu_bits_per_second;
    assert!(close(alone.value, near), "{alone:?}");
    let rating = verdict.rating.clone().unwrap();
    assert!(close(rating.btu_bits_per_second.value, near / 2f64.powf(1.0 / 3.0)));
    for row in &verdict.rates {
        let expected = if row.load == Load::Cpu { near / 2.0 } else { near };
        assert!(close(row.goodput_bits_per_second.unwrap().value, expected), "{row:?}");
        assert!(
            row.range_bits_per_second.unwrap()[0] < 0.81 * expected,
            "the range is as measured"
        );
    }
    let slowdown = verdict.penalties.by_load.iter().find(|one| one.load == Load::Cpu).unwrap();
    assert!(close(slowdown.network.unwrap().value, 2.0));
    let costs = verdict.warnings.iter().find_map(|warning| match &warning.cause {
        Cause::ProcessorsApart(apart) => Some(&apart.costs),
        _ => None,
    });
    let costs = costs.unwrap();
    assert_eq!(costs.len(), 5);
    let large = costs.iter().find(|cost| cost.message == Bytes::new(65_536)).unwrap();
    assert!(close(large.ratio.value, 0.5 * 0.9f64.powf(2.0 / 3.0)), "{large:?}");
    assert_eq!(rating_of(&placed(&records), &context).0, verdict.rating);
}

/// By hand: in odd blocks arithmetic takes 1.4 times as long, and everything 1/0.9 times; cells of the large size are
/// far in the last block, and take twice as long. Without either, all rates are 8 Mb/s, halved under `cpu`.
#[test]
fn what_slow_processors_cost_is_taken_out_of_rates() {
    let context = context();
    let is_far = |row: Row, block: u32| matches!(row, Row::Network { message, .. } if message == Bytes::new(65_536) && block == 3);
    let seconds = |row: Row, block: u32| {
        let cpu = if matches!(row, Row::Network { load: Load::Cpu, .. }) { 2.0 } else { 1.0 };
        let far = if is_far(row, block) { 2.0 } else { 1.0 };
        cpu * far * if block % 2 == 1 { 1.0 / 0.9 } else { 1.0 }
    };
    let mut records = run(&context, 4, seconds, 1.0);
    for record in &mut records {
        let (far, slow) = (is_far(record.row, record.block), record.block % 2 == 1);
        record.machine.core_to_core_ns = Some(if far { 300 } else { 60 });
        record.machine.arithmetic_ns = Some(if slow { 56_000 } else { 40_000 });
    }
    let verdict = judge(&records, &context);
    let alone = verdict.idle.as_ref().unwrap().btu_bits_per_second;
    assert!(close(alone.value, 8e6), "{alone:?}");
    for row in &verdict.rates {
        let expected = if row.load == Load::Cpu { 4e6 } else { 8e6 };
        assert!(close(row.goodput_bits_per_second.unwrap().value, expected), "{row:?}");
    }
    let slowdown = verdict.penalties.by_load.iter().find(|one| one.load == Load::Cpu).unwrap();
    assert!(close(slowdown.network.unwrap().value, 2.0));
    let slowed = verdict.warnings.iter().find_map(|warning| match &warning.cause {
        Cause::ProcessorsSlowed(slowed) => Some(slowed),
        _ => None,
    });
    let slowed = slowed.unwrap();
    assert_eq!((slowed.quick_ns, slowed.most_ns), (40_000, 56_000));
    let cost = slowed.cost.unwrap();
    assert!(close(cost.arithmetic_ratio, 1.4f64.sqrt()), "{cost:?}");
    assert!(close(cost.ratio.value, 0.9f64.sqrt()), "{cost:?}");
    let costs = verdict.warnings.iter().find_map(|warning| match &warning.cause {
        Cause::ProcessorsApart(apart) => Some(&apart.costs),
        _ => None,
    });
    let [large] = costs.unwrap()[..] else { panic!("{costs:?}") };
    assert!(close(large.ratio.value, 0.5), "{large:?}");
    assert_eq!(rating_of(&placed(&records), &context).0, verdict.rating);
}

/// Where all cells are far, or hardly any, nothing tells the cost.
#[test]
fn rates_are_as_measured_where_the_cost_is_not_known() {
    let context = context();
    let with = |latency: Option<u64>| {
        let mut records = far_at_first(&context);
        for record in &mut records {
            record.machine.core_to_core_ns = latency;
        }
        judge(&records, &context)
    };
    assert_eq!(with(Some(300)), with(None));
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
    assert!(!rating.missing.is_empty() && rating.interval_form.is_some());
    assert_eq!((verdict.title, &verdict.obstacles[..]), (Title::Part, &[Obstacle::Incomplete][..]));
    let mut readings = placed(&records);
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
        goodput_bits_per_second: 4e6,
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
fn a_verdict_survives_storage_and_has_no_gaps_in_json() {
    let context = context();
    let verdict = judge(&run(&context, 3, doubled, 3.0), &context);
    let text = serde_json::to_string_pretty(&verdict).unwrap();
    let again: Verdict = serde_json::from_str(&text).unwrap();
    assert_eq!(again.rating, verdict.rating);
    assert_eq!(again.warnings, verdict.warnings);
    assert_eq!(again.rates.len(), verdict.rates.len());
    for name in
        ["btu_bits_per_second", "clipped_seconds", "cpu_seconds_per_gigabyte", "message_bytes"]
    {
        assert!(text.contains(name), "{name}");
    }
}
