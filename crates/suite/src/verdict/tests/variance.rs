//! The spread of drawn runs with known components.

use btu_units::Span;
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use super::{VOLUME, context, network_cell};
use crate::cell::Row;
use crate::record::{CellRecord, Outcome};
use crate::verdict::{Context, Group, Variance, VarianceCause, judge};

/// Standard deviations of the draws: of blocks, of repetitions, and of one hundredth of a cell's
/// time.
#[derive(Clone, Copy)]
struct Drawn {
    blocks: f64,
    repetitions: f64,
    pieces: f64,
}

const PIECES: usize = 100;

fn normal(random: &mut Pcg64, deviation: f64) -> f64 {
    Normal::new(0.0, deviation).unwrap().sample(random)
}

/// The progress of a receiver with goodput that varies from one hundredth of its bytes to the next,
/// and its time.
fn progress(random: &mut Pcg64, seconds: f64, deviation: f64) -> Vec<(u64, u64)> {
    let (mut at, piece) = (0.0, VOLUME.count() / PIECES as u64);
    // The logarithm's deviation that gives a factor this relative deviation.
    let logarithm = (1.0 + deviation * deviation).ln().sqrt();
    (1..=PIECES as u64)
        .map(|done| {
            at += seconds / PIECES as f64 * normal(random, logarithm).exp();
            ((at * 1e9) as u64, done * piece)
        })
        .collect()
}

fn cell(random: &mut Pcg64, row: Row, block: u32, seconds: f64, pieces: f64) -> CellRecord {
    let points = progress(random, seconds, pieces);
    let end = points[PIECES - 1].0;
    let mut record = network_cell(row, block, VOLUME, end as f64 * 1e-9, None);
    for placed in &mut record.reports {
        if let Ok(report) = &mut placed.result
            && let Outcome::Received(received) = &mut report.outcome
        {
            received.progress.clone_from(&points);
            received.last_byte = Span::from_nanoseconds(end);
        }
    }
    record
}

/// A run of `blocks`, with the part of each cell that is its own.
fn run(context: &Context, random: &mut Pcg64, blocks: u32, drawn: Drawn) -> Vec<(CellRecord, f64)> {
    let mut records = Vec::new();
    let rows: Vec<Row> =
        context.plan.rows().into_iter().filter(|row| matches!(row, Row::Network { .. })).collect();
    for block in 0..blocks {
        let of_block = normal(random, drawn.blocks);
        for (&row, position) in rows.iter().zip(0..) {
            let own = normal(random, drawn.repetitions);
            let mut record = cell(random, row, block, (-of_block - own).exp(), drawn.pieces);
            record.position = position;
            records.push((record, own));
        }
    }
    records
}

fn explained(drawn: Drawn, blocks: u32, seed: u64) -> Variance {
    let (context, mut random) = (context(), Pcg64::seed_from_u64(seed));
    let records: Vec<CellRecord> =
        run(&context, &mut random, blocks, drawn).into_iter().map(|(one, _)| one).collect();
    judge(&records, &context).variance.unwrap()
}

/// 120 rows in 20 blocks. The part of the blocks has 19 degrees of freedom: a standard error of 1 /
/// sqrt(2 x 19) = 16 % of the deviation, and the tolerance is three of them, 0.49. The two others
/// have more than 2000: 1.6 %, and half of that again for the correlation of a cell's batches; the
/// tolerance is 10 %. A hundredth of the time that varies by 0.5 makes cells vary by 0.05.
#[test]
fn known_components_are_found() {
    let drawn = Drawn { blocks: 0.03, repetitions: 0.06, pieces: 0.5 };
    let found = explained(drawn, 20, 0x00d1);
    let near = |found: f64, expected: f64, tolerance: f64| {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
    };
    near(found.all.between_blocks.unwrap(), 0.03, 0.49);
    near(found.all.between_repetitions, 0.06, 0.10);
    near(found.all.within_cells.unwrap(), 0.05, 0.10);
    // A rating over 120 rows in 20 blocks: the blocks' common part remains, of the rest a
    // hundredth.
    near(found.rating.by_blocks, found.all.between_blocks.unwrap() / 20_f64.sqrt(), 1e-9);
    near(found.rating.by_repetitions, 0.06 / 2400_f64.sqrt(), 0.10);
    near(found.rating.by_cells, 0.05 / 2400_f64.sqrt(), 0.10);
    assert_eq!(found.rows.len(), 120);
    assert_eq!(found.groups.len(), 6 + 5 + 4);
}

/// The estimate of an absent component is zero within the errors of 120 rows in 20 blocks: in
/// variance 1 / sqrt(2400 / 2) = 2.9 % of the total, for blocks that over 120 rows.
#[test]
fn what_has_no_part_gets_none() {
    let quiet = Drawn { blocks: 0.0, repetitions: 0.0, pieces: 0.5 };
    let found = explained(quiet, 20, 0x00d2);
    assert!(
        found.all.between_blocks.unwrap() < 0.05 * (3.0 * 0.33 / 120.0_f64).sqrt(),
        "{:?}",
        found.all
    );
    assert!(found.all.between_repetitions < 0.05 * (3.0 * 0.029_f64).sqrt(), "{:?}", found.all);
    let steady = Drawn { blocks: 0.0, repetitions: 0.1, pieces: 1e-9 };
    let found = explained(steady, 5, 0x00d3);
    assert!(found.all.within_cells.unwrap() < 1e-3, "{:?}", found.all);
}

#[test]
fn a_component_that_varies_stands_out() {
    let (context, mut random) = (context(), Pcg64::seed_from_u64(0x00d4));
    let loud = context.rated().next().unwrap();
    let records: Vec<CellRecord> =
        run(&context, &mut random, 3, Drawn { blocks: 0.01, repetitions: 0.02, pieces: 0.1 })
            .into_iter()
            .map(|(mut record, own)| {
                if matches!(record.row, Row::Network { component, .. } if component == loud) {
                    record.network.as_mut().unwrap().goodput_bits_per_second *= (20.0 * own).exp();
                }
                record
            })
            .collect();
    let found = judge(&records, &context).variance.unwrap();
    let of = |group: Group| found.groups.iter().find(|one| one.group == group).unwrap().parts.total;
    let others = context.rated().skip(1).map(|one| of(Group::Component(one))).fold(0.0, f64::max);
    assert!(
        of(Group::Component(loud)) > 5.0 * others,
        "{} compared with {others}",
        of(Group::Component(loud))
    );
}

/// The hypervisor takes a share of each cell that makes up a half of the variance of its
/// repetitions; the rest has no cause.
#[test]
fn a_known_cause_is_named_with_its_share_and_no_other_one() {
    let (context, mut random) = (context(), Pcg64::seed_from_u64(0x00d5));
    let records: Vec<CellRecord> =
        run(&context, &mut random, 5, Drawn { blocks: 0.0, repetitions: 0.05, pieces: 1e-9 })
            .into_iter()
            .map(|(mut record, own)| {
                let stolen = 0.2 + own + normal(&mut random, 0.05);
                record.machine.steal_ns = (stolen.clamp(0.0, 1.0) * 1e9) as u64;
                record.machine.idle_ns = 1_000_000_000 - record.machine.steal_ns;
                (record.machine.user_ns, record.machine.system_ns, record.machine.softirq_ns) =
                    (0, 0, 0);
                record.start_skew_ns = (normal(&mut random, 1.0).abs() * 1e5) as u64;
                record
            })
            .collect();
    let causes = judge(&records, &context).variance.unwrap().causes;
    let steal = causes.iter().find(|one| one.cause == VarianceCause::Steal).unwrap();
    // 480 degrees of freedom: the share has a standard error of 2 x 0.7 x 0.5 / sqrt(480) = 0.032.
    assert!(
        (steal.share - 0.5).abs() < 4.0 * 0.032 && steal.is_told && steal.is_faster,
        "{steal:?}"
    );
    assert!(steal.interval.contains(0.5), "{steal:?}");
    // Idle time is the time that is not stolen, so both causes are equal.
    let independent = |one: &&crate::verdict::CauseShare| {
        !matches!(one.cause, VarianceCause::Steal | VarianceCause::IdleProcessors)
    };
    let others: Vec<_> = causes.iter().filter(independent).collect();
    assert!(others.iter().any(|one| one.cause == VarianceCause::StartSkew), "{others:?}");
    assert!(others.iter().all(|one| !one.is_told && one.share < 0.03), "{others:?}");
}

#[test]
fn what_was_not_repeated_has_no_spread() {
    let context = context();
    let mut random = Pcg64::seed_from_u64(0x00d6);
    let once = run(&context, &mut random, 1, Drawn { blocks: 0.1, repetitions: 0.1, pieces: 0.1 });
    let once: Vec<CellRecord> = once.into_iter().map(|(one, _)| one).collect();
    assert_eq!(judge(&once, &context).variance, None);
}
