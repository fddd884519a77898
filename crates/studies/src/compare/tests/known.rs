//! Small cases computed by hand, and laws that hold for all.

use btu_stats::{Interval, student_quantile};
use btu_units::{BitRate, Bytes};
use proptest::prelude::*;

use btu_contract::network::{Network, Path};

use super::*;
use crate::rate::{Plan, Profile};

/// A run with one row and these values of its blocks.
fn single(name: &str, values: &[f64]) -> RunReadings {
    run(name, &rows(1), values.len() as u32, |_, block| values[block as usize].ln())
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-9
}

/// A side of runs with these means in logarithms.
fn side(name: &str, means: &[f64]) -> Group {
    group(name, means.iter().map(|mean| run(name, &rows(2), 4, |_, _| *mean)).collect())
}

/// The overall ratio of two sides that were measured in this order.
fn overall(order: &str, base: &[f64], other: &[f64]) -> (ComparedSide, Overall) {
    let [base, other] = in_order(order, side("a", base), side("b", other));
    let found = one(&base, &other);
    let overall = found.overall.clone().unwrap();
    (found, overall)
}

#[test]
fn neighbours_in_time_are_compared_in_pairs() {
    // The differences are 4, 5 and 3: mean 4, variance 1, error sqrt(1/3), 2 degrees. From a pair to the next one they
    // are 2 and 7, so without a trend the mean is (4 + 4.5) / 2.
    let (side, found) = overall("bobobo", &[1.0, 3.0, 1.0], &[5.0, 8.0, 4.0]);
    assert_eq!((found.over, found.rows), (Over::Part, 2));
    assert_eq!((side.pairs, side.unpaired, side.has_interval()), (3, 0, true));
    assert!(close(found.ratio.value, 4f64.exp()));
    let half = student_quantile(Level::P95, 2.0).unwrap() / 3f64.sqrt();
    let Interval { low, high } = found.ratio.interval.unwrap();
    assert!(close(low, (4.0 - half).exp()) && close(high, (4.25 + half).exp()));
    assert!(close(found.base_bits_per_second.unwrap(), (5.0f64 / 3.0).exp()));
    assert_eq!(found.finding, Finding::Faster);
}

/// A machine that gets faster by 1 from run to run: in pairs each other run is faster by 1.
#[test]
fn a_steady_trend_is_no_difference() {
    for (order, base, other) in [
        ("bobobo", [1.0, 3.01, 5.0], [2.0, 4.0, 6.0]),
        ("obobob", [2.0, 4.01, 6.0], [1.0, 3.0, 5.0]),
    ] {
        let (_, found) = overall(order, &base, &other);
        assert_eq!(found.finding, Finding::CannotTell, "{found:?}");
        assert!(
            found.ratio.interval.unwrap().contains(1.0) && found.p.unwrap() > 0.05,
            "{found:?}"
        );
    }
}

/// A session is a series of runs of one side; a session is compared with the next one.
#[test]
fn sessions_are_the_unit_where_there_are_several() {
    let (found, _) = overall("bbboobbboobo", &[1.0; 7], &[2.0; 5]);
    assert_eq!((found.pairs, found.unpaired), (3, 0));
    let (found, _) = overall("obbobob", &[1.0; 4], &[2.0; 3]);
    assert_eq!((found.pairs, found.unpaired), (3, 0));
    // The last run has no neighbour, and takes no part.
    let (found, over) = overall("bobobob", &[1.0, 1.0, 1.0, 99.0], &[2.0, 2.1, 1.9]);
    assert_eq!((found.pairs, found.unpaired), (3, 1));
    assert!(close(over.ratio.value, 1f64.exp()), "{over:?}");
}

#[test]
fn one_sitting_against_another_has_a_ratio_and_no_verdict() {
    let few = |order, base: &[f64], other: &[f64]| {
        let (side, found) = overall(order, base, other);
        assert_eq!(
            (found.finding, found.ratio.interval, found.p),
            (Finding::CannotTell, None, None)
        );
        assert_eq!(side.cells[0].finding, Finding::CannotTell);
        assert!(!side.has_interval() && close(found.ratio.value, 8f64.exp()), "{found:?}");
        side.pairs
    };
    assert_eq!(few("bo", &[1.0], &[9.0]), 1);
    assert_eq!(few("bbbooo", &[1.0, 1.01, 0.99], &[9.0, 9.01, 8.99]), 1);
    assert_eq!(few("bbbbo", &[1.0, 1.01, 1.0, 0.99], &[9.0]), 1);
    assert_eq!(few("bboboo", &[1.0, 1.01, 0.99], &[9.0, 9.01, 8.99]), 2);
}

#[test]
fn nothing_in_common_nothing_reported() {
    let nothing = one(&Group::default(), &group("b", Vec::new()));
    assert_eq!((nothing.overall, nothing.cells), (None, Vec::new()));
}

#[test]
fn the_rule_of_the_four_findings() {
    let found = |centre: f64, spread: f64| {
        let other = [-1.0, 0.0, 1.0].map(|step| centre + spread * step);
        overall("bobobo", &[0.0, 1e-4, 0.0], &other).1.finding
    };
    assert_eq!(found(0.05, 1e-4), Finding::Faster);
    assert_eq!(found(-0.05, 1e-4), Finding::Slower);
    assert_eq!(found(0.0, 1e-4), Finding::NoDifferenceSeen);
    // Beyond chance, but too small to matter.
    assert_eq!(found(0.005, 1e-4), Finding::NoDifferenceSeen);
    // The interval allows five per cent and zero.
    assert_eq!(found(0.0, 0.02), Finding::CannotTell);
    assert_eq!(found(0.02, 0.02), Finding::CannotTell);
}

#[test]
fn the_gate_fails_only_what_is_slower_beyond_chance() {
    let gate = |ratio: f64, spread: f64| {
        let other = [-1.0, 0.0, 1.0].map(|step| ratio.ln() + spread * step);
        Gate::of(&overall("bobobo", &[0.0; 3], &other).1, 0.05, Level::P95)
    };
    assert_eq!(
        [gate(0.94, 1e-4), gate(0.96, 1e-4), gate(1.5, 1e-4)],
        [Gate::Fail, Gate::Pass, Gate::Pass]
    );
    assert_eq!([gate(0.90, 0.2), gate(1.0, 0.2)], [Gate::Unsure, Gate::Unsure]);
    let (_, sitting) = overall("bbbooo", &[0.0; 3], &[-1.0; 3]);
    assert_eq!(Gate::of(&sitting, 0.05, Level::P95), Gate::Unsure);
}

#[test]
fn only_what_both_have_is_compared() {
    let all = rows(3);
    let base = group("a", vec![run("r1", &all[..2], 3, |_, _| 1.0)]);
    let other = group("b", vec![run("r2", &all[1..], 3, |_, _| 1.0)]);
    let found = one(&base, &other);
    assert_eq!(found.cells.iter().map(|cell| cell.row).collect::<Vec<_>>(), all[1..2]);
    assert_eq!(found.left_out, [all[0], all[2]]);
}

#[test]
fn the_rating_goes_before_idle_rows_and_they_before_others() {
    let idle =
        Row::Network { component: Component::Send, message: Bytes::new(100), load: Load::Idle };
    let host = Row::Host { load: Load::Cpu };
    let over = |rows: &[Row]| {
        let side = |name: &str| group(name, vec![run(name, rows, 3, |_, _| 1.0)]);
        let overall = one(&side("a"), &side("b")).overall.unwrap();
        (overall.over, overall.rows, overall.base_bits_per_second.is_some())
    };
    assert_eq!(over(&[rows(1)[0], idle, host]), (Over::Part, 1, true));
    assert_eq!(over(&[idle, host]), (Over::Idle, 1, true));
    assert_eq!(over(&[host]), (Over::Further, 1, false));
}

#[test]
fn many_comparisons_make_each_less_sure() {
    let runs = |values: [f64; 3]| values.map(|value| single("r", &[value])).to_vec();
    let [base, other] = in_order(
        "bobobo",
        group("a", runs([1.0, 1.01, 1.02])),
        group("b", runs([1.1, 1.11, 1.13])),
    );
    let alone = one(&base, &other).overall.unwrap();
    let many = compare(&question(&base, &vec![other; 3]));
    let overall = many.others[0].overall.as_ref().unwrap();
    assert_eq!((overall.p, alone.adjusted_p), (alone.p, alone.p));
    assert!(close(overall.adjusted_p.unwrap(), 3.0 * alone.p.unwrap()));
    assert!(close(many.others[2].cells[0].adjusted_p.unwrap(), 3.0 * alone.p.unwrap()));
}

#[test]
fn the_guard_names_what_differs() {
    let path = |rate| {
        Network::Path(Path {
            rate,
            delay: btu_units::Span::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
        })
    };
    let plan = |network| Plan::whole(1, Profile::quick(), network);
    let base = plan(path(BitRate::from_megabits_per_second(10)));
    assert_eq!(plan_differences(&base, &Plan { seed: 9, ..base.clone() }), []);
    let slower = plan(path(BitRate::from_bits_per_second(9_500_000)));
    let found = plan_differences(&base, &slower);
    assert_eq!(
        found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["network from 10 Mb/s to 9.5 Mb/s"]
    );
    let paced =
        Row::Network { component: Component::Udp, message: Bytes::new(1024), load: Load::Idle };
    assert!(!asks_the_same(&base, &slower, paced) && asks_the_same(&base, &base, paced));
    assert!(asks_the_same(&base, &slower, rows(1)[0]));
    // Rounded words hide one bit per second; the figures do not.
    let nearly = plan(path(BitRate::from_bits_per_second(10_000_001)));
    assert!(plan_differences(&base, &nearly)[0].to_string().contains("10000001"));
    let mut odd = Plan {
        volume: Some(Bytes::new(4_000_000)),
        window: Some(Bytes::new(4096)),
        ..base.clone()
    };
    odd.components.truncate(1);
    odd.loads.truncate(2);
    odd.messages.clear();
    odd.profile = Profile::full();
    odd.disk_file = Bytes::new(1 << 20);
    let aspects: Vec<&str> =
        plan_differences(&base, &odd).iter().map(|found| found.aspect.name()).collect();
    assert_eq!(
        aspects,
        ["components", "messages", "loads", "volume", "window", "profile", "files"]
    );
}

/// The finding with base and other exchanged.
const fn reversed(finding: Finding) -> Finding {
    match finding {
        Finding::Faster => Finding::Slower,
        Finding::Slower => Finding::Faster,
        same => same,
    }
}

/// Three to five rows, runs of several blocks with holes, around any centre.
fn any_group(side: usize) -> impl Strategy<Value = Group> {
    let reading = (0usize..5, 0u32..5, 1e-3f64..1e12);
    let run = prop::collection::vec(reading, 1..40).prop_map(|all| {
        let readings = all.into_iter().map(|(row, block, per_second)| Reading {
            row: rows(5)[row],
            block,
            per_second,
        });
        // One reading per row and block, as in a store.
        let mut readings: Vec<Reading> = readings.collect();
        readings.sort_by_key(|reading| (reading.row, reading.block));
        readings.dedup_by_key(|reading| (reading.row, reading.block));
        RunReadings { name: "r".to_owned(), place: 0, readings }
    });
    // No two runs begin at the same time.
    let placed = (run, 0usize..9)
        .prop_map(move |(run, place)| RunReadings { place: 2 * place + side, ..run });
    prop::collection::vec(placed, 1..6).prop_map(|runs| group("g", runs))
}

fn reciprocal(forth: &Estimate, back: &Estimate) -> bool {
    let ends = match (forth.interval, back.interval) {
        (Some(forth), Some(back))
            if forth.low > 0.0 && forth.high.is_finite() && back.high.is_finite() =>
        {
            close(forth.low * back.high, 1.0) && close(forth.high * back.low, 1.0)
        }
        // An interval over the whole range of numbers.
        (Some(_), Some(_)) | (None, None) => true,
        _ => false,
    };
    ends && close(forth.value * back.value, 1.0)
}

proptest! {
    #[test]
    fn a_comparison_turned_round_is_the_reciprocal(a in any_group(0), b in any_group(1)) {
        let (forth, back) = (one(&a, &b), one(&b, &a));
        prop_assert_eq!((&forth.left_out, forth.pairs), (&back.left_out, back.pairs));
        prop_assert_eq!(forth.overall.is_some(), back.overall.is_some());
        for (forth, back) in forth.overall.iter().zip(&back.overall) {
            prop_assert!(reciprocal(&forth.ratio, &back.ratio), "{forth:?} {back:?}");
            prop_assert_eq!(reversed(forth.finding), back.finding);
        }
        prop_assert_eq!(forth.cells.len(), back.cells.len());
        for (forth, back) in forth.cells.iter().zip(&back.cells) {
            prop_assert!(reciprocal(&forth.ratio, &back.ratio), "{forth:?} {back:?}");
            prop_assert_eq!(reversed(forth.finding), back.finding);
        }
    }

    #[test]
    fn the_order_of_cells_does_not_matter(a in any_group(0), b in any_group(1), seed: u64) {
        let mut shuffled = [a.clone(), b.clone()];
        let mut random = seeded(seed);
        for run in shuffled.iter_mut().flat_map(|group| &mut group.runs) {
            rand::seq::SliceRandom::shuffle(run.readings.as_mut_slice(), &mut random);
        }
        prop_assert_eq!(one(&a, &b), one(&shuffled[0], &shuffled[1]));
    }

    #[test]
    fn a_run_compared_with_itself_is_neither_faster_nor_slower(a in any_group(0)) {
        let found = one(&a, &a);
        let findings = found.overall.iter().map(|overall| overall.finding);
        for finding in findings.chain(found.cells.iter().map(|cell| cell.finding)) {
            prop_assert!(!matches!(finding, Finding::Faster | Finding::Slower));
        }
    }
}
