//! Each warning appears for its own reason only.

use btu_contract::experiment::{HostClocks, LoadBefore};
use btu_contract::network::HostRole;
use btu_units::{Bytes, Span};

use super::super::*;
use super::*;
use btu_contract::network::Path;
use btu_contract::record::HostClock;

/// A run without any reason for a warning, changed by `spoil`, and the warnings over it.
fn after(spoil: impl FnOnce(&mut Vec<CellRecord>, &mut Context)) -> Vec<Cause> {
    let mut context = context();
    let mut records = run(&context, 3, |_, _| 1.0, 1.0);
    spoil(&mut records, &mut context);
    judge(&records, &context).warnings.into_iter().map(|warning| warning.cause).collect()
}

fn senders(record: &mut CellRecord) -> impl Iterator<Item = &mut TcpInfo> {
    record.reports.iter_mut().filter_map(|placed| match &mut placed.result.as_mut().ok()?.outcome {
        Outcome::Sent(sent) => Some(&mut sent.tcp),
        _ => None,
    })
}

#[test]
fn a_clean_run_has_no_warnings() {
    assert_eq!(after(|_, _| ()), []);
}

#[test]
fn cells_that_do_not_count() {
    let causes = after(|records, _| records[0].faults.push("the peer died".to_owned()));
    let [Cause::InvalidCells(found), Cause::LowConfidence(low)] = &causes[..] else {
        panic!("{causes:?}")
    };
    assert_eq!(low.rows, 1, "its row has two repetitions left, and no interval");
    assert_eq!((found.cells, found.of, found.fault.as_str()), (1, 369, "the peer died"));
    assert!(found.rows_lost.is_empty());
}

#[test]
fn rows_that_were_not_measured() {
    let causes = after(|records, _| {
        records.retain(|record| !matches!(record.row, Row::Host { load: Load::Disk }));
    });
    let [Cause::NotMeasured(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.rows, found.of), (1, 123));
}

/// The singular: not `1 of 120 are`.
#[test]
fn one_row_is_spoken_of_as_one() {
    let mut context = context();
    context.plan.components = vec![Component::Send];
    context.plan.messages = vec![Bytes::new(4096)];
    context.plan.loads = vec![Load::Idle];
    let records = run(&context, 1, |_, _| 1.0, 1.0);
    let seen = |records: &[CellRecord]| judge(records, &context).warnings[0].observed.clone();
    assert_eq!(
        seen(&records),
        "1 of 1 rate is not known to ±10 %: an interval takes three repetitions"
    );
    assert_eq!(seen(&[]), "1 of 1 planned row was not measured");
}

#[test]
fn steal() {
    let causes =
        after(|records, _| records.iter_mut().for_each(|record| record.machine.steal_ns = 100));
    let [Cause::Steal(found)] = &causes[..] else { panic!("{causes:?}") };
    assert!(close(found.share, 100.0 / 1100.0) && close(found.worst_share, 100.0 / 1100.0));
}

/// A hundredth of the cells is not worth a warning; readings within a factor of two are none.
#[test]
fn processors_that_were_moved_apart() {
    let with = |far: usize| {
        after(move |records, _| {
            for (number, record) in records.iter_mut().enumerate() {
                let near = if number % 2 == 0 { 50 } else { 99 };
                record.machine.core_to_core_ns = Some(if number < far { 312 } else { near });
            }
        })
    };
    assert!(with(3).is_empty());
    let causes = with(4);
    let [Cause::ProcessorsApart(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.cells, found.of, found.near_ns, found.most_ns), (4, 369, 50, 312));
}

#[test]
fn a_wall_clock_that_was_stepped() {
    let causes = after(|records, _| records[7].machine.stepped_ns = 60_000_000_000);
    let [Cause::ClockStepped(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.steps.cells, found.steps.worst_ns, found.of), (1, 60_000_000_000, 369));
}

#[test]
fn a_machine_that_was_busy_or_is_small() {
    let causes = after(|_, context| {
        context.run.load_before = LoadBefore::of(1.5, 2, [None, None]);
        context.run.cpus = 2;
    });
    let [Cause::LoadBefore(before), Cause::OverCommitted(small)] = &causes[..] else {
        panic!("{causes:?}")
    };
    assert!(close(before.load_average, 1.5));
    assert_eq!((small.workers, small.cpus, small.around_test), (3, 2, false));
}

/// The first screen has room for two: other programs come before the hypervisor.
#[test]
fn other_programs_are_told_before_the_hypervisor() {
    let causes = after(|records, context| {
        context.run.load_before = LoadBefore::of(0.5, 2, [Some(1.0), None]);
        context.run.cpus = 2;
        for record in records {
            record.machine.steal_ns = record.machine.user_ns;
        }
    });
    let [Cause::LoadBefore(_), Cause::Steal(_), ..] = &causes[..] else { panic!("{causes:?}") };
}

/// btu's own load in the minute before is no reason for a warning; the current load by other
/// programs is, whatever the load of that minute.
#[test]
fn b13_a_machine_is_busy_with_what_others_do_and_not_with_what_was() {
    let found = |busy| LoadBefore::of(1.9, 2, [busy, None]).is_some();
    assert!(!found(Some(0.02)), "an idle machine after a run");
    assert!(found(Some(0.5)), "one of two processors is taken");
    assert!(found(None), "runs that did not watch have the load average alone");
}

/// A compiler that began during the run, one that goes on, and one that ended.
#[test]
fn a_machine_that_was_busy_after_the_run() {
    let told = |before, after_it| {
        let mut context = context();
        context.run.load_before = LoadBefore::of(0.5, 2, [Some(before), Some(after_it)]);
        let records = run(&context, 3, |_, _| 1.0, 1.0);
        let mut warnings = judge(&records, &context).warnings.into_iter();
        let found = warnings.find(|warning| matches!(warning.cause, Cause::LoadBefore(_)));
        found.map(|warning| warning.observed)
    };
    let others = |rest: &str| Some(format!("others used {rest}"));
    assert_eq!(told(0.02, 0.02), None);
    assert_eq!(told(0.02, 0.9), others("90 % of 2 processors just after the run"));
    assert_eq!(told(0.5, 0.02), others("50 % of 2 processors just before the run"));
    let both = "50 % of 2 processors just before the run and 90 % just after it";
    assert_eq!(told(0.5, 0.9), others(both));
}

/// If the machine under test has its own processors, only the other workers compete.
#[test]
fn black_boxes_that_share_too_few_processors() {
    let divided = |station: HostRole| {
        let causes = after(|records, context| {
            context.plan.processors = "test=1-3,rest=0".parse().ok();
            let placed = records.iter_mut().flat_map(|record| &mut record.reports);
            placed.for_each(|placed| placed.station = station.into());
        });
        causes
            .into_iter()
            .find_map(|cause| if let Cause::OverCommitted(few) = cause { Some(few) } else { None })
    };
    assert_eq!(divided(HostRole::Test), None);
    let few = divided(HostRole::Active).unwrap();
    assert_eq!((few.workers, few.cpus, few.around_test), (3, 1, true));
}

#[test]
fn a_late_and_lossy_wire() {
    let causes = after(|records, _| {
        records[5].wire.lateness.record(400_000);
        records[5].wire.port_drops = 7;
    });
    let [Cause::WireLate(late), Cause::WireDrops(drops)] = &causes[..] else {
        panic!("{causes:?}")
    };
    assert!((late.max_ns as f64 / 400_000.0 - 1.0).abs() < 2e-3);
    assert_eq!((drops.frames, drops.cells), (7, 1));
}

#[test]
fn wide_intervals() {
    let row =
        Row::Network { component: Component::Recv, message: Bytes::new(100), load: Load::Disk };
    let causes = after(|records, _| {
        for (record, factor) in
            records.iter_mut().filter(|record| record.row == row).zip([0.5, 1.0, 2.0])
        {
            record.network.as_mut().unwrap().goodput_bits_per_second *= factor;
        }
    });
    let [Cause::LowConfidence(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.rows, found.of, found.worst.unwrap().row), (1, 120, row));
}

#[test]
fn activities_that_hardly_meet() {
    let causes = after(|records, _| {
        for host in records
            .iter_mut()
            .filter(|record| record.network.is_some())
            .filter_map(|record| record.host.as_mut())
        {
            host.overlap = 0.3;
        }
    });
    let [Cause::SmallOverlap(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.rows, found.of), (90, 90));
    assert!(close(found.least_share, 0.3));
}

#[test]
fn activities_too_short_or_not_started_together() {
    let context = context();
    let mut records = run(&context, 3, |_, _| 0.01, 0.01);
    records[0].start_skew_ns = 1_000_000;
    let warnings = judge(&records, &context).warnings;
    let causes: Vec<_> = warnings.iter().map(|warning| &warning.cause).collect();
    let [Cause::ShortCells(short), Cause::StartSkew(skew)] = causes[..] else {
        panic!("{causes:?}")
    };
    assert_eq!((short.rows, short.shortest_ns), (120, Span::from_milliseconds(10).nanoseconds()));
    assert_eq!((skew.cells, skew.worst_ns), (1, 1_000_000));
    assert!(warnings[0].advice.contains("--profile standard"), "{}", warnings[0].advice);
}

#[test]
fn clocks_that_disagree_and_drift() {
    let clock = |offset_ns, at_s: u64, wall_offset_ns| HostClock {
        offset_ns,
        round_trip_ns: 200_000,
        at_ns: at_s * 1_000_000_000,
        wall_offset_ns,
    };
    let clocks = |before, after| HostClocks {
        name: "beta".to_owned(),
        before: Some(before),
        after: Some(after),
    };
    // 50 parts per million in a hundred seconds is what crystals do.
    let fine = clocks(clock(1_000, 0, 999_000_000), clock(5_001_000, 100, 0));
    assert_eq!(after(|_, context| context.run.clocks = vec![fine.clone()]), []);
    let apart = clocks(clock(0, 0, -3_600_000_000_000), clock(0, 100, 0));
    let drifting = clocks(clock(0, 0, 0), clock(-51_000_000, 100, 0));
    let causes = after(|_, context| {
        context.run.clocks = vec![fine.clone(), apart.clone(), drifting.clone()];
    });
    let [Cause::ClocksApart(apart), Cause::ClockDrift(drift)] = &causes[..] else {
        panic!("{causes:?}")
    };
    assert_eq!((apart.hosts, apart.worst_ns), (1, -3_600_000_000_000));
    assert_eq!((drift.moved_ns, drift.over_ns), (-51_000_000, 100_000_000_000));
}

fn retransmit(records: &mut [CellRecord]) {
    for tcp in records.iter_mut().flat_map(senders) {
        tcp.total_retransmits = 2;
        tcp.bytes_retransmitted = tcp.bytes_sent / 100;
    }
}

#[test]
fn retransmissions_where_nothing_is_dropped() {
    let causes = after(|records, _| retransmit(records));
    let [Cause::Retransmits(found)] = &causes[..] else { panic!("{causes:?}") };
    // 2xSEND+DR drops on purpose: five components, 20 rows each, three blocks.
    assert_eq!((found.cells, found.segments), (300, 600));
    assert!(close(found.share, 0.01));
}

#[test]
fn retransmissions_on_a_lossy_path_are_as_asked() {
    let lossy = Path {
        rate: btu_units::BitRate::from_megabits_per_second(10),
        delay: Span::ZERO,
        loss: 0.05,
        duplicate: 0.0,
        reorder: 0.0,
    };
    assert_eq!(
        after(|records, context| {
            context.plan.network = Network::Path(lossy);
            retransmit(records);
        }),
        []
    );
}

fn hold_up(records: &mut [CellRecord]) {
    for tcp in records.iter_mut().flat_map(senders) {
        tcp.receiver_limited_us = tcp.busy_us * 8 / 10;
    }
}

#[test]
fn senders_that_wait_for_the_window() {
    let causes = after(|records, _| hold_up(records));
    let [Cause::WindowLimited(found)] = &causes[..] else { panic!("{causes:?}") };
    assert_eq!((found.cells, found.of), (90, 90));
    assert!(close(found.share, 0.8));
}

#[test]
fn a_small_window_that_was_asked_for_is_no_surprise() {
    let causes = after(|records, context| {
        context.plan.window = Some(Bytes::new(4000));
        hold_up(records);
    });
    assert_eq!(causes, []);
}

#[test]
fn outliers_are_flagged_and_kept() {
    let context = context();
    let row =
        Row::Network { component: Component::Send, message: Bytes::new(100), load: Load::Idle };
    let seconds = |other, block| {
        if other == row && block == 4 { 2.0 } else { 1.0 + f64::from(block) / 1000.0 }
    };
    let verdict = judge(&run(&context, 6, seconds, 1.0), &context);
    let outlier = verdict.rates.iter().find(|rate| !rate.outliers.is_empty()).unwrap();
    assert_eq!((outlier.component, outlier.repetitions), (Component::Send, 6));
    assert_eq!(outlier.outliers.iter().map(|one| one.block).collect::<Vec<_>>(), [4]);
    let found = verdict.warnings.iter().find_map(|warning| match &warning.cause {
        Cause::Outliers(found) => Some((found.repetitions, found.rows)),
        _ => None,
    });
    assert_eq!(found, Some((1, 1)));
}

#[test]
fn every_warning_says_what_was_seen_and_what_to_try() {
    let mut context = context();
    context.run.load_before = LoadBefore::of(3.0, 1, [None, None]);
    context.run.cpus = 1;
    let mut records = run(&context, 1, |_, _| 0.01, 0.1);
    records[0].faults.push("the peer died".to_owned());
    records.pop();
    retransmit(&mut records);
    for warning in judge(&records, &context).warnings {
        assert!(warning.observed.len() > 20 && warning.advice.len() > 20, "{warning:?}");
        assert!(!warning.observed.ends_with('.') && !warning.advice.ends_with('.'), "{warning:?}");
    }
}
