//! Machines with known ratings.

use btu_units::{BitRate, Bytes, Span};
use proptest::prelude::*;

use btu_contract::load::Load;
use btu_contract::machine::Traits;
use btu_contract::network::{Network, Path};

use super::*;
use crate::rate::{Profile, Rating};

fn machine(name: &str) -> MachineKey {
    Traits {
        processor: Some(name.to_owned()),
        cpus: 2,
        memory_bytes: None,
        virtual_machine: false,
        product: None,
        host: None,
    }
    .key()
}

fn plan() -> Plan {
    Plan::whole(7, Profile::standard(), Network::Veth)
}

/// A run with this rating in Mb/s and, relative to it, this half interval.
fn run(name: &str, on: &str, megabits: f64, half: Option<f64>) -> Candidate {
    let plan = plan();
    let value = megabits * 1e6;
    let rating = Some(Rating {
        btu_bits_per_second: Estimate {
            value,
            interval: half.map(|half| Interval::around(value, half * value)),
        },
        arithmetic_mean_bits_per_second: value,
        harmonic_mean_bits_per_second: value,
        cells_used: 90,
        cells_planned: 90,
        repetitions_used: 450,
        blocks_compared: 3,
        complete_blocks: 5,
        missing: Vec::new(),
        low_confidence: half.is_none(),
    });
    let cpu_rounds_per_second = Some(megabits * 10.0);
    Candidate {
        run: name.to_owned(),
        machine: machine(on),
        obstacles: Vec::new(),
        plan,
        rating,
        cpu_rounds_per_second,
    }
}

fn ranks(ranking: &Ranking) -> Vec<(usize, bool)> {
    ranking.lists[0].places.iter().map(|place| (place.rank, place.tied)).collect()
}

#[test]
fn clear_differences_give_clear_ranks() {
    let ranking = rank(&[
        run("r1", "slow", 10.0, Some(0.01)),
        run("r2", "fast", 30.0, Some(0.01)),
        run("r3", "mid", 20.0, Some(0.01)),
    ]);
    let order: Vec<&MachineKey> =
        ranking.lists[0].places.iter().map(|place| &place.machine).collect();
    assert_eq!(order, [&machine("fast"), &machine("mid"), &machine("slow")]);
    assert_eq!(ranks(&ranking), [(1, false), (2, false), (3, false)]);
}

/// 100 +- 5 and 96 +- 5 overlap, 88 +- 3 overlaps the second and not the first, which alone is clearly faster.
#[test]
fn a_rank_counts_the_machines_that_are_clearly_faster() {
    let ranking = rank(&[
        run("r1", "a", 100.0, Some(0.05)),
        run("r2", "b", 96.0, Some(0.05)),
        run("r3", "c", 88.0, Some(0.04)),
        run("r4", "d", 50.0, Some(0.01)),
    ]);
    assert_eq!(ranks(&ranking), [(1, true), (1, true), (2, false), (4, false)]);
}

/// One at the top of which nothing is known but that it may be anything.
#[test]
fn a_machine_of_which_little_is_known_gives_no_other_its_rank() {
    let known = [
        run("r1", "a", 100.0, Some(0.01)),
        run("r2", "b", 50.0, Some(0.01)),
        run("r3", "c", 10.0, Some(0.01)),
    ];
    assert_eq!(ranks(&rank(&known)), [(1, false), (2, false), (3, false)]);
    let mut all = known.to_vec();
    all.push(run("r4", "d", 1000.0, Some(0.999)));
    assert_eq!(ranks(&rank(&all)), [(1, true), (1, true), (2, false), (3, false)]);
}

#[test]
fn a_run_without_an_interval_is_not_ranked() {
    let ranking = rank(&[run("r1", "a", 100.0, None), run("r2", "b", 10.0, Some(0.01))]);
    assert_eq!(ranks(&ranking), [(1, false)]);
    assert_eq!(ranking.lists[0].places[0].machine, machine("b"));
    assert_eq!(ranking.left_out[0].run, "r1");
    assert!(ranking.left_out[0].reason.contains("no interval"), "{:?}", ranking.left_out);
}

proptest! {
    /// Whatever a further machine has: of two others that are clearly apart the faster one keeps the better rank.
    #[test]
    fn no_machine_changes_how_two_others_stand_to_each_other(
        others in proptest::collection::vec((1.0..100.0_f64, 0.0..1.0_f64), 2..8),
        further in (0.1..1000.0_f64, 0.0..1.0_f64),
    ) {
        let runs: Vec<RatedRun<usize>> = others.iter().chain([&further]).enumerate().map(|(machine, (value, half))| {
            let interval = Some(Interval::around(*value, half * value));
            RatedRun {
                machine,
                run: machine.to_string(),
                rating: Estimate { value: *value, interval },
                low_confidence: false,
                cpu_rounds_per_second: None,
            }
        }).collect();
        let places = places(runs);
        for faster in &places {
            for slower in &places {
                let end = |place: &Place<usize>| place.btu_bits_per_second.interval.unwrap();
                if end(faster).low > end(slower).high {
                    prop_assert!(faster.rank < slower.rank, "{faster:?} {slower:?}");
                }
            }
        }
    }
}

#[test]
fn all_runs_of_a_machine_count() {
    let runs = [run("r1", "a", 100.0, Some(0.01)), run("r2", "a", 121.0, Some(0.01))];
    let two = &rank(&runs).lists[0].places[0];
    assert!((two.btu_bits_per_second.value - 110e6).abs() < 1.0);
    assert_eq!(two.basis, Basis::HullOfTwoRuns);
    let hull = two.btu_bits_per_second.interval.unwrap();
    assert!((hull.low - 99e6).abs() < 1.0 && (hull.high - 122.21e6).abs() < 1.0, "{hull:?}");
    assert_eq!(two.runs, ["r1", "r2"]);
    assert!((two.cpu_rounds_per_second.unwrap() - 1100.0).abs() < 1e-6);
}

/// Logarithms of 100, 110, 121 have a deviation of ln 1.1; with two degrees of freedom t is 4.303.
#[test]
fn three_runs_show_how_runs_differ() {
    let runs = [100.0, 110.0, 121.0].map(|megabits| run("r", "a", megabits, Some(0.001)));
    let place = &rank(&runs).lists[0].places[0];
    assert_eq!(place.basis, Basis::BetweenRuns);
    let factor = (4.3027 * 1.1_f64.ln() / 3.0_f64.sqrt()).exp();
    let interval = place.btu_bits_per_second.interval.unwrap();
    assert!((interval.high / (110e6 * factor) - 1.0).abs() < 1e-4, "{interval:?}");
    assert!((interval.low / (110e6 / factor) - 1.0).abs() < 1e-4, "{interval:?}");
}

#[test]
fn unlike_plans_are_never_ranked_together() {
    let base = run("r1", "a", 10.0, Some(0.01));
    let path = Path {
        rate: BitRate::from_megabits_per_second(10),
        delay: Span::ZERO,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
    };
    let others = [
        Plan { profile: Profile::quick(), ..plan() },
        Plan { volume: Some(Bytes::new(4_000_000)), ..plan() },
        Plan { loads: vec![Load::Idle, Load::Cpu], ..plan() },
        Plan::whole(7, Profile::standard(), Network::Path(path)),
    ];
    let mut all: Vec<Candidate> = others
        .into_iter()
        .map(|plan| Candidate { plan, run: "r2".to_owned(), ..base.clone() })
        .collect();
    all.push(Candidate { plan: Plan { seed: 8, ..plan() }, machine: machine("b"), ..base.clone() });
    all.push(base);
    let ranking = rank(&all);
    assert_eq!(ranking.lists.len(), 5);
    // The list with two machines comes first: another seed is no other plan.
    assert_eq!(ranking.lists[0].places.len(), 2);
    assert!(ranking.lists[0].particulars.is_empty());
    let said: Vec<&String> = ranking.lists.iter().flat_map(|list| &list.particulars).collect();
    assert!(said.iter().any(|text| text.as_str() == "volume: 4 MB"), "{said:?}");
    assert!(said.iter().any(|text| text.as_str() == "loads: idle cpu"), "{said:?}");
}

#[test]
fn what_is_no_whole_run_is_left_out_and_named() {
    let whole = run("r1", "a", 10.0, Some(0.01));
    let mut without = Candidate { run: "r2".to_owned(), ..whole.clone() };
    without.rating = None;
    let mut partial = Candidate { run: "r3".to_owned(), ..whole.clone() };
    partial.rating.as_mut().unwrap().missing = plan().rows()[..3].to_vec();
    partial.obstacles = vec![Obstacle::Incomplete];
    let stopped =
        Candidate { run: "r4".to_owned(), obstacles: vec![Obstacle::Incomplete], ..whole.clone() };
    let moved = Candidate {
        run: "r5".to_owned(),
        obstacles: vec![Obstacle::ResumedElsewhere],
        ..whole.clone()
    };
    let ranking = rank(&[whole, without, partial, stopped, moved]);
    assert_eq!(ranking.lists[0].places[0].runs, ["r1"]);
    let named: Vec<&str> = ranking.left_out.iter().map(|one| one.run.as_str()).collect();
    assert_eq!(named, ["r2", "r3", "r4", "r5"]);
    assert!(ranking.left_out[1].reason.contains("3 of 90"), "{:?}", ranking.left_out);
}

/// A part of the rating has a marked list behind those of the whole rating, for any number of
/// machines.
#[test]
fn parts_of_the_study_stand_apart_and_behind() {
    let part = |name: &str, on: &str| {
        let plan = Plan { loads: vec![Load::Idle, Load::Cpu], ..plan() };
        Candidate { plan, obstacles: vec![Obstacle::Partial], ..run(name, on, 9.0, Some(0.01)) }
    };
    let ranking = rank(&[part("r1", "a"), part("r2", "b"), run("r3", "a", 10.0, Some(0.01))]);
    let titles: Vec<Title> = ranking.lists.iter().map(|list| list.title).collect();
    assert_eq!(titles, [Title::BtuRating, Title::Part]);
    assert_eq!(ranking.lists[1].places.len(), 2);
}

#[test]
fn nothing_gives_nothing() {
    assert_eq!(rank(&[]), Ranking { lists: Vec::new(), left_out: Vec::new() });
}
