//! What earlier runs tell of a machine: the latency of near processors and the cost of far and slow ones, because a
//! hypervisor may keep the processors apart for a whole run, which that run alone cannot tell; and how much results vary.

use btu_control::environment::Environment;
use btu_store::{RunRow, Store};
use btu_suite::pipe::{Job, PipePlan, Purpose, SetPlan};
use btu_suite::plan::Plan;
use btu_suite::record::Apart;
use btu_suite::verdict::EarlierRuns;
use btu_suite::{pipe, plan};
use btu_units::Span;
use serde::de::DeserializeOwned;

use crate::earlier;
use crate::stored::before;

/// The number of newest runs that are read.
const MOST: usize = 20;

/// The number of newest ratings that tell costs and spreads: the error of their mean is a third of one run's.
const MOST_RATINGS: usize = 10;

/// The near latency between the processors of `pair`, in earlier ratings and signatures of this
/// machine; `None` where none is stored, or there is no pair.
pub(crate) fn known(
    store: &Store,
    here: &Environment,
    pair: Option<[u32; 2]>,
) -> anyhow::Result<Option<Span>> {
    let Some(pair) = pair.map(sorted) else { return Ok(None) };
    let runs = earlier::runs(store, here, has_readings)?;
    let between = runs.filter(|row| of_run(row).map(sorted) == Some(pair));
    let readings = between.filter_map(|row| store.core_to_core(row.summary.id).ok());
    Ok(Apart::near_in(readings.take(MOST)))
}

/// What earlier ratings of the plan tell of it, measured on this machine by the same programs.
pub(crate) fn for_rating(
    store: &Store,
    here: &Environment,
    plan: &Plan,
) -> anyhow::Result<EarlierRuns> {
    let Some(pair) = of_rating(plan) else { return Ok(EarlierRuns::default()) };
    let near = known(store, here, Some(pair))?;
    let ratings = earlier::ratings(store, here, plan)?;
    let ratings = ratings.filter(|row| earlier::is_alike(row, here)).take(MOST_RATINGS);
    let ratings: Vec<RunRow> = ratings.collect();
    let usual = ratings.iter().find_map(|row| before(row)?.known_costs.usual);
    let readings = ratings.iter().filter_map(|row| store.readings_for_rating(row.summary.id).ok());
    let readings: Vec<_> = readings.collect();
    Ok(EarlierRuns::of(&readings, plan, near).compared_with(usual))
}

/// The first processors of the two sides of a rating, if they are divided.
fn of_rating(plan: &Plan) -> Option<[u32; 2]> {
    plan.processors.as_ref()?.pair()
}

fn has_readings(suite: &str) -> bool {
    suite == plan::SUITE || suite == pipe::SUITE || Purpose::of_suite(suite).is_some()
}

/// The processors that a stored run has read.
fn of_run(row: &RunRow) -> Option<[u32; 2]> {
    match row.summary.suite.as_str() {
        plan::SUITE => of_rating(&stored(row)?),
        pipe::SUITE => Job::One(Box::new(stored::<PipePlan>(row)?)).pair(),
        _ => Job::Set(stored::<SetPlan>(row)?).pair(),
    }
}

fn stored<T: DeserializeOwned>(row: &RunRow) -> Option<T> {
    serde_json::from_value(row.plan.clone()).ok()
}

/// A cache line takes as long there and back from either side.
fn sorted([one, other]: [u32; 2]) -> [u32; 2] {
    [one.min(other), one.max(other)]
}

#[cfg(test)]
mod tests {
    use btu_store::{NewCell, State};
    use btu_suite::pipe::{
        Accounts, Conditions, End, Kind, Place, Point, Processors, Trial, facts,
    };
    use btu_suite::record::{CellRecord, MachineCpu};
    use btu_suite::verdict::{KnownCosts, UsualReadings};
    use btu_units::Bytes;

    use super::*;
    use crate::earlier::tests::{cell, divided, here, store_plan, store_run};
    use crate::rate::SUITE;

    /// So many cells of this latency.
    fn cells((latency, count): (u64, u32)) -> Vec<CellRecord> {
        let machine = MachineCpu { core_to_core_ns: Some(latency), ..MachineCpu::default() };
        (0..count).map(|block| CellRecord { block, machine, ..cell() }).collect()
    }

    #[test]
    fn only_the_same_processors_of_the_same_machine_tell() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let plan = divided(Some("test=1,rest=0"));
        let mut elsewhere = here();
        elsewhere.host = Some("another".to_owned());
        let mut other_model = here();
        other_model.processor.model = Some("Xeon".to_owned());
        let mut nameless = here();
        nameless.host = None;
        for (suite, plan, machine, seen) in [
            (SUITE, &plan, &elsewhere, (51, 20)),
            (SUITE, &plan, &other_model, (52, 20)),
            (SUITE, &plan, &nameless, (53, 20)),
            (SUITE, &divided(Some("test=2,rest=0")), &here(), (54, 20)),
            (SUITE, &divided(None), &here(), (55, 20)),
            ("speed", &plan, &here(), (56, 20)),
            (SUITE, &plan, &here(), (57, 9)),
        ] {
            drop(store_run(&mut store, suite, plan, machine, &cells(seen)));
        }
        let known = |store: &Store| known(store, &here(), of_rating(&plan)).unwrap();
        assert_eq!(known(&store), None);
        for (latency, expected) in [(300, 300), (61, 61), (290, 61)] {
            drop(store_run(&mut store, SUITE, &plan, &here(), &cells((latency, 10))));
            assert_eq!(known(&store), Some(Span::from_nanoseconds(expected)));
        }
        assert_eq!(super::known(&store, &nameless, of_rating(&plan)).unwrap(), None);
        assert_eq!(super::known(&store, &here(), of_rating(&divided(None))).unwrap(), None);
    }

    /// Cells of one row that lose this share where they are far: three of each kind, in turns.
    fn alternating(lost: f64) -> Vec<CellRecord> {
        let mut cells = cells((60, 10));
        for cell in &mut cells {
            let is_far = cell.block % 2 == 1;
            cell.machine.core_to_core_ns = Some(if is_far { 300 } else { 60 });
            cell.machine.arithmetic_ns = Some(40_000);
            let network = cell.network.as_mut().unwrap();
            // Not all alike: no spread would tell no error.
            network.goodput_bits_per_second *= 1.0 + f64::from(cell.block / 2) / 10.0;
            network.goodput_bits_per_second *= if is_far { 1.0 - lost } else { 1.0 };
        }
        cells
    }

    #[test]
    fn three_complete_ratings_of_the_plan_tell_what_far_processors_cost() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let plan = divided(Some("test=1,rest=0"));
        let known = |store: &Store| for_rating(store, &here(), &plan).unwrap();
        let mut finish = |plan: &Plan, machine: &Environment, lost: f64, state: State| {
            let lock = store_run(&mut store, SUITE, plan, machine, &alternating(lost));
            store.finish(&lock, state, "2026-11-21T04:34:08Z").unwrap();
        };
        let mut upgraded = here();
        upgraded.kernel.release = Some("99.9".to_owned());
        let other = Plan { messages: vec![Bytes::new(100)], ..plan.clone() };
        finish(&plan, &upgraded, 0.9, State::Complete);
        finish(&other, &here(), 0.9, State::Complete);
        finish(&plan, &here(), 0.9, State::Interrupted);
        for _ in 0..2 {
            finish(&Plan { seed: 8, ..plan.clone() }, &here(), 0.5, State::Complete);
        }
        assert!(known(&store).costs.is_empty(), "two runs are too few");
        let lock = store_run(&mut store, SUITE, &plan, &here(), &alternating(0.5));
        store.finish(&lock, State::Complete, "2026-11-21T04:34:08Z").unwrap();
        let found = known(&store);
        assert_eq!(found.near, Some(Span::from_nanoseconds(60)));
        let [cost] = found.costs.far[..] else { panic!("{found:?}") };
        assert_eq!((cost.message, cost.runs), (Bytes::new(65_536), 3));
        assert!((cost.goodput.logarithm() - 0.5f64.ln()).abs() < 1e-9, "{cost:?}");
        assert_eq!(found.costs.usual.unwrap().arithmetic_ns, 40_000);
        // A run that went by other readings hands them on.
        let usual = Some(UsualReadings { core_to_core_ns: 55, arithmetic_ns: 39_000 });
        let known_costs = KnownCosts { usual, ..KnownCosts::default() };
        let machine = Environment { known_costs, ..here() };
        let lock = store_run(&mut store, SUITE, &plan, &machine, &alternating(0.5));
        store.finish(&lock, State::Complete, "2026-11-21T04:34:08Z").unwrap();
        assert_eq!(known(&store).costs.usual, usual);
        let shared = divided(None);
        assert_eq!(for_rating(&store, &here(), &shared).unwrap(), EarlierRuns::default());
    }

    /// So many sizes of this latency, in a signature between these processors.
    fn store_signature(store: &mut Store, [near, far]: [u32; 2], (latency, count): (u64, u64)) {
        let processors = Some(Processors { near, far });
        let plan = PipePlan { processors, ..PipePlan::new(7, Kind::Tcp, Place::Here) };
        let stored = serde_json::to_value(&plan).unwrap();
        let lock = store_plan(store, pipe::SUITE, &stored, &plan.hash(), &here());
        for size in 1..=count {
            let machine = MachineCpu { core_to_core_ns: Some(latency), ..MachineCpu::default() };
            let conditions = Conditions::of(machine);
            let trial = Trial {
                repetitions: 1,
                elapsed: Span::from_milliseconds(1),
                clock: End::Near,
                lost: 0,
                repeated: 0,
            };
            let accounts = Accounts { sent: 2, received: 2, ..Accounts::default() };
            let point = Point {
                trials: vec![trial],
                accounts,
                conditions: Some(conditions),
                ..Point::empty(Bytes::new(size))
            };
            let document = serde_json::to_string(&point).unwrap();
            let facts = facts(&plan, &point);
            let cell = NewCell::of((0, size as u32), &facts, document);
            store.save_record(&lock, &cell).unwrap();
        }
    }

    #[test]
    fn signatures_between_the_same_processors_tell_too() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path().join("runs.sqlite")).unwrap();
        let known = |store: &Store| known(store, &here(), Some([1, 0])).unwrap();
        store_signature(&mut store, [0, 2], (55, 20));
        store_signature(&mut store, [0, 1], (56, 9));
        assert_eq!(known(&store), None);
        store_signature(&mut store, [0, 1], (58, 20));
        assert_eq!(known(&store), Some(Span::from_nanoseconds(58)));
    }
}
