//! Tests of the exact terminal text.

use btu_contract::machine::Traits;
use btu_stats::Interval;
use btu_studies::papers::btu95;
use btu_studies::rank::{Basis, LeftOut};

use super::*;

const WIDE: TextOptions = TextOptions { colour: false, width: 100 };

fn traits(processor: &str, cpus: usize) -> Traits {
    Traits {
        processor: Some(processor.to_owned()),
        cpus,
        memory_bytes: Some(8 << 30),
        virtual_machine: cpus == 2,
        product: None,
        host: None,
    }
}

fn card(
    name: &str,
    processor: &str,
    cpus: usize,
    price: Option<&str>,
) -> (MachineKey, MachineCard) {
    let traits = traits(processor, cpus);
    let card = MachineCard {
        name: name.to_owned(),
        processor: traits.processor.clone(),
        cpus,
        memory_bytes: traits.memory_bytes,
        virtual_machine: traits.virtual_machine,
        kernels: ["6.12.1", "6.1.0-28"][..if cpus == 2 { 1 } else { 2 }]
            .iter()
            .map(|&one| one.to_owned())
            .collect(),
        price: price.map(|price| price.parse().unwrap()),
    };
    (traits.key(), card)
}

fn place(
    (rank, tied): (usize, bool),
    machine: &MachineKey,
    runs: usize,
    gigabits: f64,
    half: Option<f64>,
) -> Place {
    let value = gigabits * 1e9;
    Place {
        rank,
        tied,
        machine: machine.clone(),
        runs: (1..=runs).map(|run| format!("r{run}")).collect(),
        btu_bits_per_second: Estimate {
            value,
            interval: half.map(|half| Interval::around(value, half * value)),
        },
        basis: if runs > 2 { Basis::BetweenRuns } else { Basis::WithinOneRun },
        low_confidence: half.is_none(),
        cpu_rounds_per_second: Some(1700.0 * gigabits),
    }
}

fn page(with_1995: bool) -> RankPage {
    let known = [
        card("attic", "Intel Xeon 2.80 GHz", 8, Some("1200 EUR")),
        card("cellar", "AMD EPYC", 2, Some("899.50 USD")),
        card("m0badcafe", "ARM Neoverse-N1", 4, None),
    ];
    let [a, b, c] = [&known[0].0, &known[1].0, &known[2].0];
    let whole = vec![
        place((1, true), a, 5, 3.1, Some(0.04)),
        place((1, true), b, 1, 3.0, Some(0.03)),
        place((3, false), c, 3, 1.2, Some(0.02)),
    ];
    let list = |title, profile: &str, network: &str, particulars: Vec<String>, places| List {
        title,
        plan_hash: "51dbfcffc39ee46b".to_owned(),
        profile: profile.to_owned(),
        network: network.to_owned(),
        particulars,
        places,
    };
    let quick = vec![place((1, false), b, 1, 0.0091, None)];
    let ranking = Ranking {
        lists: vec![
            list(Title::BtuRating, "standard", "veth", Vec::new(), whole),
            list(
                Title::BtuRating,
                "quick",
                "10 Mb/s",
                vec!["volume: 4 MB".to_owned()],
                quick.clone(),
            ),
            list(Title::Part, "quick", "veth", vec!["loads: idle cpu".to_owned()], quick),
        ],
        left_out: vec![LeftOut { run: "r9".to_owned(), reason: "it was not completed".to_owned() }],
    };
    let machines_of_1995 = if with_1995 { btu95::corrected() } else { Vec::new() };
    RankPage { ranking, machines: known.into_iter().collect(), machines_of_1995 }
}

#[test]
fn three_machines() {
    insta::assert_snapshot!(rank_text(&page(false), false, &WIDE));
}

#[test]
fn with_machines_of_1995() {
    let text = rank_text(&page(true), true, &WIDE);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("published as 2.40 and is 2.48"), "{text}");
    insta::assert_snapshot!(text);
}

/// Parts are behind `--all`, unless there is nothing else.
#[test]
fn the_whole_study_stands_alone() {
    let part = "a part of the rating, network veth";
    let first = rank_text(&page(false), false, &WIDE);
    assert!(!first.contains(part) && !first.contains("r9: it was"), "{first}");
    assert!(
        first.contains(
            "Not shown: 1 list of a part of the rating, and 1 run that cannot be ranked."
        ),
        "{first}"
    );
    let all = rank_text(&page(false), true, &WIDE);
    assert!(all.contains(part) && all.contains("r9: it was"), "{all}");
    let mut parts = page(false);
    parts.ranking.lists.retain(|list| list.title == Title::Part);
    assert!(rank_text(&parts, false, &WIDE).contains(part));
}

#[test]
fn lines_fit() {
    let mut empty = page(false);
    empty.ranking.lists.clear();
    for width in [50, 80, 100] {
        for page in [page(true), page(false), empty.clone()] {
            for line in rank_text(&page, true, &TextOptions { colour: false, width }).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn nothing_to_rank_names_what_is_left_out() {
    let mut empty = page(false);
    empty.ranking.lists.clear();
    let text = rank_text(&empty, false, &WIDE);
    assert!(
        text.starts_with("No run to be ranked.") && text.contains("r9: it was not completed"),
        "{text}"
    );
}
