//! Verdicts over records with known truth, and the order of cells.

use std::collections::BTreeMap;

use btu_network::Drawing;
use btu_stats::Histogram;
use btu_units::{Bytes, Span, Time};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::*;
use crate::Judged;
use crate::compare::Finding;
use btu_contract::experiment::{Field, Frame, Measured, Observation, Raised, Scripts};
use btu_contract::experiment::{Named, RunFacts};
use btu_contract::program::{Ended, Ending, Moments, Part, Printed, ProgramReport};
use btu_contract::record::{CpuTime, Outcome, PlacedReport, Report, Requested};

const FILE: &str = r#"
name = "product"
network = "veth"
[measure.work]
on = "test"
run = ["work", "{a}", "{b}", "{c}"]
values = { took = "elapsed", score = { pattern = "score ([0-9.]+)", unit = "points", better = "higher" } }
[factors]
a = [1, 2]
b = [1, 3]
c = ["x", "y"]
[order]
blocks = 4
"#;

fn plan() -> RunPlan {
    plan_of(FILE)
}

fn plan_of(text: &str) -> RunPlan {
    let find = |asked: &ExperimentNetwork| {
        let name = asked.name.clone().unwrap_or_default();
        let text = btu_network::library_text(&name).ok_or("there is no such network")?.to_owned();
        let drawing = Drawing::read(&text, &name).map_err(|error| error.to_string())?;
        let stations = vec!["test".try_into().expect("a name")];
        Ok(Found {
            raised: Raised { name, text, stations, congestion_control: None, ipv6: false },
            drawing,
        })
    };
    let file = read(text, "product.toml", &[], Ground::Networks { find: &find, instead: None })
        .expect("a file");
    let frame = Frame {
        version: RunPlan::VERSION,
        seed: 7,
        profile: "quick".to_owned(),
        blocks: file.order.blocks,
        budget: Span::from_seconds(60),
        deadline: Span::from_seconds(60),
        left_out: Vec::new(),
        network: Field::Drawing(file.networks[0].raised.clone()),
    };
    RunPlan::new(frame, file)
}

/// A program that took so many milliseconds, and scored a thousand over them.
fn seen(milliseconds: f64, code: i32) -> Observation {
    printed(format!("warming up\nscore {:.6}\n", 1e3 / milliseconds), milliseconds, code)
}

fn printed(text: String, milliseconds: f64, code: i32) -> Observation {
    let printed = Printed { all: text.len() as u64, text };
    let ended = Ended {
        ending: Ending::Exited(code),
        started: Time::from_nanoseconds(1_000),
        finished: Time::from_nanoseconds(1_000 + (milliseconds * 1e6) as u64),
        cpu: CpuTime::default(),
        peak_memory: Bytes::new(5_000_000),
        least_memory: Bytes::new(4_000_000),
        voluntary_switches: 3,
        involuntary_switches: 1,
        output: printed,
        errors: Printed::default(),
        left_running: 0,
        unacknowledged: Bytes::ZERO,
        connections_reset: 0,
        directory_full: false,
        moments: None,
    };
    let (name, station) = ("work".to_owned(), "test".try_into().expect("a name"));
    Observation {
        programs: vec![ProgramReport { name, station, part: Part::Measured, ended }],
        ..Observation::default()
    }
}

/// Every cell of a plan: `10 ms * a * b`, with one per cent from block to block and a tenth of that
/// from cell to cell.
fn records(plan: &RunPlan) -> Vec<Measured<RunCell>> {
    let mut all = Vec::new();
    for block in 0..plan.frame.blocks {
        for slot in plan.missing(block, &all) {
            let [a, b] = [[1.0, 2.0][slot.cell.levels[0]], [1.0, 3.0][slot.cell.levels[1]]];
            let scatter = f64::from(slot.position * 7 % 5) * 1e-3 - 2e-3;
            let took = 10.0 * a * b * (1.0 + f64::from(block) * 0.01 + scatter);
            all.push(plan.record(slot, seen(took, 0)));
        }
    }
    all
}

#[test]
fn a_product_has_two_effects_and_no_interaction() {
    let plan = plan();
    let verdict = plan.judge(&records(&plan), &RunFacts::default());
    assert_eq!(verdict.warnings, Vec::new());
    for value in &verdict.values {
        let found = value.effects.as_ref().expect("effects");
        let share = |factors: &[usize]| found.effects.term(factors).expect("a term").share;
        // ln 2 and ln 3: of the variance 0.285 and 0.715.
        let (two, three) = (2f64.ln().powi(2), 3f64.ln().powi(2));
        for (factor, expected) in [(0, two / (two + three)), (1, three / (two + three))] {
            let share = share(&[factor]);
            assert!((share.value - expected).abs() < 0.01, "{}: {share:?}", value.name);
            assert!(share.interval.expect("an interval").low > 0.2, "{}: {share:?}", value.name);
        }
        for none in [&[2][..], &[0, 1], &[0, 2], &[1, 2]] {
            let share = share(none);
            assert!(
                share.value < 1e-3 && share.interval.expect("an interval").low < 1e-12,
                "{none:?}: {share:?}"
            );
        }
        assert_eq!((found.blocks, found.pair.is_some()), (4, true));
    }
}

/// Half of four factors: the fourth is the product of the others, so that each factor is aliased
/// with the interaction of the three others, and each interaction of two with that of the other two.
#[test]
fn a_fraction_says_what_it_cannot_tell_apart() {
    let file = FILE
        .replace("c = [\"x\", \"y\"]", "c = [\"x\", \"y\"]\nd = [1, 2]")
        .replace("blocks = 4", "blocks = 4\nresolution = 4")
        .replace("\"{c}\"]", "\"{c}\", \"{d}\"]");
    let plan = plan_of(&file);
    let verdict = plan.judge(&records(&plan), &RunFacts::default());
    let effects = verdict.values[0].effects.as_ref().expect("effects");
    let fraction = effects.fraction.as_ref().expect("a fraction");
    assert_eq!((plan.rows.len(), fraction.combinations, fraction.resolution), (8, 16, 4));
    let of = |factors: &[usize]| {
        let alias = fraction.aliases.iter().find(|alias| alias.factors == factors);
        alias.map(|alias| alias.of.clone())
    };
    assert_eq!(of(&[0]), Some(vec![vec![1, 2, 3]]));
    assert_eq!(of(&[0, 1]), Some(vec![vec![2, 3]]));
    assert_eq!((of(&[2, 3]), fraction.aliases.len()), (None, 7));
    let full = self::plan();
    let verdict = full.judge(&records(&full), &RunFacts::default());
    assert_eq!(verdict.values[0].effects.as_ref().expect("effects").fraction, None);
}

/// Two rows that are alike, of which 16 numbers are asked: by themselves 56 % of such runs would have a difference.
#[test]
fn false_differences_in_any_of_many_values() {
    let names: Vec<String> = (0..16).map(|place| format!("v{place}x")).collect();
    let value = |name: &String| {
        let pattern = format!("{name} ([0-9.]+)");
        format!("{name} = {{ pattern = \"{pattern}\", unit = \"points\", better = \"lower\" }}")
    };
    let values: Vec<String> = names.iter().map(value).collect();
    let file = format!(
        "name = \"many\"\nnetwork = \"veth\"\n[measure.work]\non = \"test\"\nrun = [\"work\", \"{{a}}\"]\n\
         values = {{ {} }}\n[factors]\na = [1, 2]\n[order]\nblocks = 5\n",
        values.join(", ")
    );
    let plan = plan_of(&file);
    let mut random = Pcg64::seed_from_u64(0x0d30);
    let differs = || {
        let mut all = Vec::new();
        for block in 0..plan.frame.blocks {
            for slot in plan.missing(block, &all) {
                let mut noise = || -> f64 { StandardNormal.sample(&mut random) };
                let line = |name: &String| format!("{name} {:.6}\n", (0.1 * noise()).exp());
                all.push(plan.record(slot, printed(names.iter().map(line).collect(), 10.0, 0)));
            }
        }
        let verdict = plan.judge(&all, &RunFacts::default());
        let mut rows = verdict.values.iter().flat_map(|value| &value.rows);
        rows.any(|row| row.finding.is_some_and(Finding::is_difference))
    };
    let found = std::iter::repeat_with(differs).take(200).filter(|differs| *differs).count();
    // 5 % of them and four standard deviations of the binomial distribution.
    assert!(found <= 22, "{found} of 200");
}

#[test]
fn slowdowns_are_found_within_blocks_whichever_way_is_better() {
    let plan = plan();
    let verdict = plan.judge(&records(&plan), &RunFacts::default());
    for value in &verdict.values {
        let rows: BTreeMap<&[usize], &RowVerdict> =
            value.rows.iter().map(|row| (&*row.cell.levels, row)).collect();
        let slowdown = |levels: &[usize]| rows[levels].slowdown.expect("a slowdown");
        assert!((slowdown(&[1, 1, 0]).value - 6.0).abs() < 0.05, "{:?}", slowdown(&[1, 1, 0]));
        assert!(slowdown(&[1, 1, 0]).interval.expect("an interval").contains(6.0));
        assert_eq!(rows[&[1, 1, 1][..]].finding, Some(Finding::Slower), "{}", value.name);
        assert_eq!(rows[&[0, 0, 0][..]].finding, None);
        assert_eq!(
            rows[&[0, 0, 1][..]].finding,
            Some(Finding::NoDifferenceSeen),
            "{:?}",
            rows[&[0, 0, 1][..]]
        );
    }
}

#[test]
fn a_cell_without_a_value_says_why_it_does_not_count() {
    let plan = plan();
    let slot = plan.missing(0, &[]).remove(0);
    let failed = plan.record(slot.clone(), seen(1.0, 3));
    assert_eq!(
        failed.faults,
        ["work on test ended with exit code 3; it said last: score 1000.000000"]
    );
    let mut silent = seen(1.0, 0);
    silent.programs[0].ended.output = Printed::default();
    let missing = plan.record(slot, silent);
    assert_eq!(
        missing.faults,
        ["work.score: `score ([0-9.]+)` matches nothing that was printed; it printed nothing"]
    );
    let verdict = plan.judge(&[failed], &RunFacts::default());
    assert_eq!(verdict.uses.iter().map(|row| row.invalid).sum::<usize>(), 1);
}

/// The missing cells do not depend on the number of sessions before.
#[test]
fn an_interrupted_plan_goes_on_as_it_would_have() {
    let plan = plan();
    let all = records(&plan);
    for cut in 0..all.len() {
        let mut resumed = all[..cut].to_vec();
        for block in 0..plan.frame.blocks {
            for slot in plan.missing(block, &resumed) {
                let whole = all
                    .iter()
                    .find(|one| one.block == block && one.position == slot.position)
                    .expect("a cell");
                assert_eq!(whole.cell, slot.cell);
                resumed.push(plan.record(slot, whole.seen.clone()));
            }
        }
        assert_eq!(resumed, all);
    }
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let plan = plan();
    let text = serde_json::to_string(&plan).expect("JSON");
    assert_eq!(serde_json::from_str::<RunPlan>(&text).expect("a plan"), plan);
    let twice = text.replacen("\"levels\":[0,0,1]", "\"levels\":[0,0,0]", 1);
    assert!(serde_json::from_str::<RunPlan>(&twice).unwrap_err().to_string().contains("twice"));
}

/// What a time limit stopped is told; with less than three repetitions that warning is enough.
#[test]
fn repetitions_that_were_left_out_are_told() {
    let plan = plan();
    let all = records(&plan);
    let causes = |blocks: u32| -> Vec<&str> {
        let stored: Vec<_> = all.iter().filter(|one| one.block < blocks).cloned().collect();
        plan.judge(&stored, &RunFacts::default())
            .warnings
            .iter()
            .map(|warning| warning.cause)
            .collect()
    };
    assert_eq!(causes(4), Vec::<&str>::new());
    assert_eq!(causes(3), ["repetitions left out"]);
    assert_eq!(causes(2), ["few repetitions"]);
}

/// So many answers, the far end's account first.
fn asked(answers: u64) -> Observation {
    let mut round_trip = Histogram::new();
    (1..=answers).for_each(|answer| round_trip.record(answer * 1000));
    let requested = Requested {
        requests: answers,
        answers,
        lost: 0,
        lost_batches: Vec::new(),
        late: 0,
        wrong: 0,
        round_trip,
    };
    let placed = |(station, outcome): (&str, Outcome)| PlacedReport {
        station: station.try_into().expect("a name"),
        activity: "of a test".to_owned(),
        result: Ok(Report {
            started: Time::ZERO,
            finished: Time::ZERO + Span::from_seconds(2),
            cpu: CpuTime::default(),
            outcome,
        }),
    };
    let reports =
        [("active", Outcome::Responded { answers }), ("test", Outcome::Requested(requested))];
    Observation { reports: reports.map(placed).into(), ..Observation::default() }
}

#[test]
fn a_99th_percentile_of_few_answers_is_told() {
    let plan = plan_of(
        "name = \"asked\"\nnetwork = \"veth\"\n[measure.ask]\non = \"test\"\nto = \"active\"\n\
         activity = \"requests\"\nvalues = { typical = \"round-trip\", slow = \"round-trip-p99\" }\n[order]\nblocks = 3\n",
    );
    let judged = |answers: [u64; 3]| {
        let slots = (0..3).flat_map(|block| plan.missing(block, &[]));
        let records: Vec<_> =
            slots.zip(answers).map(|(slot, answers)| plan.record(slot, asked(answers))).collect();
        let verdict = plan.judge(&records, &RunFacts::default());
        let warnings: Vec<String> =
            verdict.warnings.iter().map(|warning| warning.observed.clone()).collect();
        (verdict.values[1].rows[0].least_samples, warnings)
    };
    assert_eq!(judged([100, 150, 200]), (Some(100), Vec::new()));
    let (least, warnings) = judged([100, 99, 200]);
    assert_eq!((least, warnings.len()), (Some(99), 1));
    assert!(warnings[0].contains("slow: a repetition had 99 answers"), "{warnings:?}");
}

/// A value is looked for once, when its cell is stored: readers take what was found, and look only
/// in cells of earlier versions.
#[test]
fn what_was_found_is_stored_with_the_cell() {
    let plan = plan();
    let all = records(&plan);
    assert!(
        all.iter().all(|one| one.seen.values.keys().eq(["work.score"])),
        "{:?}",
        all[0].seen.values
    );
    let judged = |change: fn(&mut Observation)| {
        let mut changed = all.clone();
        for one in &mut changed {
            change(&mut one.seen);
        }
        serde_json::to_string(&plan.judge(&changed, &RunFacts::default()))
            .expect("a verdict has a JSON form")
    };
    let as_it_is = judged(|_| {});
    assert_eq!(judged(|seen| seen.programs[0].ended.output = Printed::default()), as_it_is);
    assert_eq!(judged(|seen| seen.values.clear()), as_it_is);
    // What was not found is not stored, and the cell says so.
    let mut silent = seen(1.0, 0);
    silent.programs[0].ended.output = Printed::default();
    let missing = plan.record(plan.missing(0, &[]).remove(0), silent);
    assert!(missing.seen.values.is_empty() && missing.faults[0].contains("matches nothing"));
}

/// Moments find too many threads ready, since who looks has a processor: the kernel's counts decide, and moments divide the
/// rest.
#[test]
fn what_the_kernel_counts_goes_before_moments() {
    let time = |milliseconds: u64, cpu: u64, moments: Moments| {
        let mut seen = seen(milliseconds as f64, 0);
        let report = &mut seen.programs[0];
        report.ended.cpu = CpuTime::of(Span::ZERO, Span::from_milliseconds(cpu));
        report.ended.moments = Some(moments);
        ProgramTime::of(&[&*report])
    };
    let waits = |ready, sockets, sleeping, waited| Moments {
        ready,
        sockets,
        sleeping,
        waited: Span::from_milliseconds(waited),
        ..Moments::default()
    };
    let curl = time(2000, 60, waits(40, 45, 15, 40)).expect("a hundred moments");
    let expected = [(curl.on_processor, 0.03), (curl.waiting, 0.02), (curl.sockets, 0.7125)];
    assert!(expected.iter().all(|(found, known)| (found - known).abs() < 1e-9), "{curl:?}");
    let sum = curl.on_processor + curl.waiting + curl.sockets + curl.sleeping;
    assert!((sum - 1.0).abs() < 1e-12, "{curl:?}");
    // Two that compute on one processor: always one of them is ready, and both together wait for half of their time.
    let two = time(1000, 1000, waits(50, 0, 0, 1000)).expect("fifty moments");
    assert!((two.on_processor - 0.5).abs() < 1e-9 && (two.waiting - 0.5).abs() < 1e-9, "{two:?}");
    assert_eq!(time(900, 1, waits(9, 40, 0, 0)), None, "what it waited for is not known to 0.14");
    assert!(time(600, 600, waits(10, 0, 0, 600)).is_some(), "no moment has anything to divide");
    assert_eq!(time(600, 600, waits(9, 0, 0, 600)), None);
}
