//! `btu compare` over made-up runs with known answers.

use btu_contract::network::{Network, Path};
use btu_control::environment::{Environment, collect};
use btu_store::State;
use btu_units::{BitRate, Bytes, Span};
use serde_json::Value;

use crate::shelf::{Shelf, plan};

/// Blocks that lie 0.2 % apart.
const STEADY: [f64; 3] = [9.0, 9.018, 9.009];

fn finding(document: &Value) -> &str {
    document["comparison"]["others"][0]["overall"]["finding"].as_str().expect("a finding")
}

/// Stores three runs around each of these rates in turns, some tenths of a per cent apart; each is a side.
fn sides(shelf: &mut Shelf, plan: &btu_studies::rate::Plan, factors: &[f64]) -> Vec<String> {
    let mut sides = vec![Vec::new(); factors.len()];
    for rate in STEADY {
        for (side, factor) in sides.iter_mut().zip(factors) {
            side.push(shelf.run(plan, &[rate * factor; 3]).to_string());
        }
    }
    sides.iter().map(|runs| runs.join(",")).collect()
}

/// The same, one side after the other.
fn sittings(shelf: &mut Shelf, plan: &btu_studies::rate::Plan, factors: &[f64]) -> Vec<String> {
    factors.iter().flat_map(|factor| sides(shelf, plan, &[*factor])).collect()
}

#[test]
fn the_four_answers() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    let mut sides = sides(&mut shelf, &plan, &[1.0, 1.001, 0.9, 1.1]);
    sides.extend(sittings(&mut shelf, &plan, &[0.9]));
    let answers = ["no-difference-seen", "slower", "faster", "cannot-tell"];
    for (other, expected) in sides[1..].iter().zip(answers) {
        let found = shelf.json(&["compare", &sides[0], other, "--matter", "2%"]);
        assert_eq!(finding(&found), expected, "{other}");
    }
    let [base, slower] = [&sides[0], &sides[2]];
    let (code, text, errors) = shelf.btu(&["compare", base, slower]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(text.starts_with("r3,r7,r11 compared with r1,r5,r9: slower, -10.0 %"), "{text}");
    assert!(text.contains("differences of 3 pairs in turns"), "{text}");
    assert!(text.contains("2 slower") && text.lines().count() <= 12, "{text}");
    assert!(text.contains(&format!("> btu compare {base} {slower} --all")), "{text}");
    let (_, all, _) = shelf.btu(&["compare", base, slower, "--all"]);
    assert!(all.starts_with("r3,r7,r11 compared with r1,r5,r9: slower, -10.0 %"), "{all}");
    let (_, markdown, _) = shelf.btu(&["compare", base, slower, "--format", "markdown"]);
    assert!(
        markdown.starts_with("# r3,r7,r11 compared with r1,r5,r9: slower")
            && markdown.contains("| --- |"),
        "{markdown}"
    );
}

#[test]
fn conditions_that_differ_are_next_to_each_other() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    for latency in [64, 70, 312] {
        shelf.apart(&plan, &STEADY, &[latency]);
    }
    shelf.run(&plan, &STEADY);
    let differences = |other: &str| {
        let found = shelf.json(&["compare", "r1", other]);
        found["comparison"]["others"][0]["environment_differences"].to_string()
    };
    let found = differences("r3");
    assert!(found.contains("latency, median: `64 ns` in r1, `312 ns` in r3"), "{found}");
    for like in ["r2", "r4"] {
        let found = differences(like);
        assert!(!found.contains("core-to-core"), "{like}: {found}");
    }
    assert!(found.contains("in turns"), "{found}");
    let (_, text, _) = shelf.btu(&["compare", "r1", "r3"]);
    assert!(text.contains("core-to-core latency"), "{text}");
}

/// In r2 the latency is long in every other block, which is three tenths slower: both commands print what was measured.
#[test]
fn what_was_measured_is_printed_whatever_the_latency() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    let long = |block: usize| if block % 2 == 1 { 6.3 } else { 9.0 };
    shelf.apart(&plan, &[9.0; 16], &[60]);
    shelf.apart(&plan, &std::array::from_fn::<f64, 16, _>(long), &[60, 300]);
    let found = shelf.json(&["compare", "r1", "r2"]);
    let compared = &found["comparison"]["others"][0]["overall"]["other_bits_per_second"];
    let shown = &shelf.json(&["show", "r2"])["result"]["idle"]["btu_bits_per_second"]["value"];
    let [compared, shown] = [compared, shown].map(|rate| rate.as_f64().unwrap());
    assert!((compared / shown - 1.0).abs() < 1e-9, "{compared} {shown}");
    // The cells of a block are up to 0.4 % above its rate.
    let measured = 1e6 * (9.0_f64 * 6.3).sqrt();
    assert!((1.0..=1.004).contains(&(shown / measured)), "{shown} {measured}");
}

#[test]
fn tags_are_sides_and_single_runs_have_no_verdict() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    let sides = sides(&mut shelf, &plan, &[1.0, 0.9]);
    for run in sides[0].split(',') {
        shelf.json(&["runs", "tag", run, "nightly"]);
    }
    let found = shelf.json(&["compare", "--baseline", "nightly", "latest"]);
    assert_eq!(found["comparison"]["base"]["name"], "tag:nightly");
    assert_eq!(found["comparison"]["others"][0]["side"]["name"], "r6");
    assert_eq!(finding(&found), "cannot-tell");
    let (_, text, _) = shelf.btu(&["compare", "r1", "r4"]);
    let ratio =
        "r4 compared with r1: -9.8 %; one session of each: drift between sessions is not in";
    assert!(text.starts_with(ratio), "{text}");
    assert!(text.contains("in turns"), "{text}");
}

/// All before and all after, whatever was measured: a ratio, no verdict, and no failure for scripts.
#[test]
fn one_sitting_against_another_has_no_verdict() {
    let mut shelf = Shelf::new();
    let sides = sittings(&mut shelf, &plan(Network::Veth), &[1.0, 0.5]);
    let asked = ["compare", &sides[0], &sides[1], "--fail-if-slower", "5%"];
    let (code, text, errors) = shelf.btu(&asked);
    assert!(code == Some(0) && errors.contains("cannot tell whether"), "{errors}");
    assert!(
        text.starts_with("r4,r5,r6 compared with r1,r2,r3: 2.00 times lower; one session"),
        "{text}"
    );
    let found = shelf.json(&["compare", &sides[0], &sides[1]]);
    let other = &found["comparison"]["others"][0];
    assert_eq!((finding(&found), &other["pairs"]), ("cannot-tell", &serde_json::json!(1)));
    assert_eq!(other["overall"]["ratio"]["interval"], Value::Null);
}

/// A busy machine under one run is a warning of every comparison with it, in every format.
#[test]
fn warnings_of_the_runs_are_warnings_of_the_comparison() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    let busy = Environment { busy: Some(0.9), ..collect() };
    shelf.run(&plan, &STEADY);
    shelf.ended(&plan, &STEADY, State::Complete, &[busy]);
    let found = shelf.json(&["compare", "r1", "r2"]);
    let warnings = found["comparison"]["warnings"].as_array().expect("warnings").clone();
    let of_busy = |one: &&Value| one["title"] == "busy machine" && one["run"] == "r2";
    let warning = warnings.iter().find(of_busy).unwrap_or_else(|| panic!("{found}"));
    assert!(warning["observed"].as_str().unwrap().contains("90 %"), "{warning}");
    for format in [&[][..], &["--all"], &["--format", "markdown"], &["--format", "html", "-o", "-"]]
    {
        let (_, text, _) = shelf.btu(&[&["compare", "r1", "r2"], format].concat());
        assert!(text.contains("busy machine"), "{format:?}: {text}");
    }
}

#[test]
fn scripts_learn_of_a_loss_by_the_exit_code() {
    let mut shelf = Shelf::new();
    let plan = plan(Network::Veth);
    let sides = sides(&mut shelf, &plan, &[1.0, 0.9, 0.99]);
    let gate = |base: &str, other: &str| {
        let (code, _, errors) = shelf.btu(&["compare", base, other, "--fail-if-slower", "5%"]);
        (code, errors)
    };
    let (code, errors) = gate(&sides[0], &sides[1]);
    assert_eq!(code, Some(4), "{errors}");
    assert!(errors.contains("is slower than r1,r4,r7"), "{errors}");
    assert_eq!(gate(&sides[0], &sides[2]), (Some(0), String::new()));
    let (code, errors) = gate("r1", "r2");
    assert!(code == Some(0) && errors.contains("cannot tell whether"), "{errors}");
}

#[test]
fn unlike_plans_are_refused_unless_meant() {
    let mut shelf = Shelf::new();
    let path = |rate| {
        Network::Path(Path { rate, delay: Span::ZERO, loss: 0.0, duplicate: 0.0, reorder: 0.0 })
    };
    let slow = plan(path(BitRate::from_bits_per_second(9_500_000)));
    let other = btu_studies::rate::Plan { volume: Some(Bytes::new(4_000_000)), ..slow.clone() };
    shelf.run(&plan(path(BitRate::from_megabits_per_second(10))), &STEADY);
    let slower = STEADY.map(|rate| rate * 0.95);
    shelf.run(&slow, &slower);
    shelf.run(&other, &slower);
    let (code, out, errors) = shelf.btu(&["compare", "r1", "r2"]);
    assert_eq!((code, out.as_str(), errors.lines().count()), (Some(2), "", 1), "{errors}");
    assert!(
        errors.contains("network from 10 Mb/s to 9.5 Mb/s") && errors.contains("--across network"),
        "{errors}"
    );
    let found = shelf.json(&["compare", "r1", "r2", "--across", "network"]);
    let ratio = found["comparison"]["others"][0]["overall"]["ratio"]["value"].as_f64();
    assert!(ratio.is_some_and(|ratio| (ratio - 0.95).abs() < 1e-6), "{found}");
    assert_eq!(found["comparison"]["others"][0]["plan_differences"][0]["aspect"], "network");
    let (code, _, errors) = shelf.btu(&["compare", "r1", "r3", "--across", "network"]);
    assert!(code == Some(2) && errors.contains("volume from calibrated to 4 MB"), "{errors}");
    let (code, _, errors) = shelf.btu(&["compare", "r1,r2", "r3", "--across", "network,volume"]);
    assert!(code == Some(2) && errors.contains("r2 does not repeat r1"), "{errors}");
    assert_eq!(shelf.btu(&["compare", "r1", "r3", "--force"]).0, Some(0));
}

/// Plans whose profiles have one name and other times: the settings are named with their units, and each
/// aspect once.
#[test]
fn differences_of_plans_are_sentences() {
    let mut shelf = Shelf::new();
    let usual = plan(Network::Veth);
    let mut longer = usual.clone();
    (longer.profile.budget, longer.profile.most_blocks) = (Span::from_seconds(60), 30);
    shelf.run(&usual, &STEADY);
    shelf.run(&longer, &STEADY);
    let (code, _, errors) = shelf.btu(&["compare", "r1", "r2"]);
    assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
    for words in [
        "profile budget from 140 s to 60 s; profile most blocks from 5 to 30",
        "add --across profile; --force",
    ] {
        assert!(errors.contains(words), "{errors}");
    }
    assert!(!errors.contains(['{', '"', '_']), "{errors}");
    let (code, text, _) = shelf.btu(&["compare", "r1", "r2", "--across", "profile"]);
    assert!(code == Some(0) && text.contains("profile budget from 140 s to 60 s"), "{text}");
}

/// A run of another command is called by that command.
#[test]
fn runs_of_two_commands_are_not_compared() {
    let mut shelf = Shelf::new();
    let machine = btu_control::environment::collect();
    shelf.run(&plan(Network::Veth), &STEADY);
    shelf.interrupted("speed", &serde_json::json!({}), "0", &machine);
    let (code, _, errors) = shelf.btu(&["compare", "r1", "r2"]);
    assert!(
        code == Some(2)
            && errors.contains("r2 is a run of `btu speed`, and the first one is of `btu rate`"),
        "{errors}"
    );
}

#[test]
fn what_makes_no_sense_is_said_in_one_line() {
    let mut shelf = Shelf::new();
    shelf.run(&plan(Network::Veth), &STEADY);
    for (arguments, code, word) in [
        (["compare", "r1"].as_slice(), 2, "one side alone"),
        (&["compare", "r1", "r1"], 2, "the same run was given twice"),
        (&["compare", "r1", "r9"], 2, "there is no run `r9`"),
        (&["compare", "tag:no", "r1"], 2, "no complete run has the tag `no`"),
        (&["compare", "r1", "latest", "--across", "colour"], 2, "plans have no `colour`"),
        (&["compare", "r1", "latest", "--matter", "200%"], 2, "not a share"),
    ] {
        let (found, out, errors) = shelf.btu(arguments);
        assert_eq!((found, out.as_str()), (Some(code), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{errors}");
    }
}
