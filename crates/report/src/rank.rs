//! Machines by BTU: lists by plan, then their configurations, as in Tables 4 and 5 of the 1995
//! paper.

use std::collections::BTreeMap;

use btu_contract::machine::MachineKey;
use btu_contract::price::Price;
use btu_stats::Estimate;
use btu_studies::papers::btu95::{Corrected, Machine};
use btu_studies::rank::{List, Place, Ranking};
use btu_studies::rate::Title;
use btu_units::Bytes;
use serde::Serialize;

use crate::head::TextOptions;
use crate::number::{NOTHING, count, ends, or_dash, three_digits};
use crate::paint::Paint;
use crate::sheet::{Sheet, page, section, wrap};

/// The data of a machine in addition to its results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineCard {
    /// The name that the user gave the machine, else its key.
    pub name: String,
    /// The model name of the processor; absent when it is not known.
    pub processor: Option<String>,
    /// The number of processors that take part.
    pub cpus: usize,
    /// The total main memory, in bytes; absent when it is not known.
    pub memory_bytes: Option<u64>,
    /// Whether a hypervisor runs it.
    pub virtual_machine: bool,
    /// Kernels of its runs, the newest run's first.
    pub kernels: Vec<String>,
    /// The price of the machine; absent when the user gave none.
    pub price: Option<Price>,
}

/// All data that `btu rank` shows; `--json` prints it in serialised form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankPage {
    /// The ranking of the machines.
    #[serde(flatten)]
    pub ranking: Ranking,
    /// The machines by key.
    pub machines: BTreeMap<MachineKey, MachineCard>,
    /// Machines of 1995 for comparison; empty unless requested.
    pub machines_of_1995: Vec<Corrected>,
}

/// The whole rating, and with `all`, or if there is no such list, its parts; lines end with `\n`.
pub fn rank_text(rank: &RankPage, all: bool, options: &TextOptions) -> String {
    if rank.ranking.lists.is_empty() {
        let nothing = "No run to be ranked. `btu rate --profile standard` makes a run that can be.";
        let nothing = wrap(nothing, options.width, 0);
        return page(vec![nothing, left_out(rank, options)]);
    }
    let all = all || whole(rank).is_none();
    let shown = rank.ranking.lists.iter().filter(|list| all || list.title == Title::BtuRating);
    let lists = shown.map(|list| one_list(rank, list, options));
    let rest = [configurations(rank, options), notes(rank, options), more(rank, all, options)];
    page(lists.chain(rest).collect())
}

/// Runs that were left out, or how many, and parts that are not shown.
fn more(rank: &RankPage, all: bool, options: &TextOptions) -> Vec<String> {
    if all {
        return left_out(rank, options);
    }
    let parts = rank.ranking.lists.iter().filter(|list| list.title != Title::BtuRating).count();
    let counts = [
        (parts, "list of a part of the rating", "lists of parts of the rating"),
        (rank.ranking.left_out.len(), "run that cannot be ranked", "runs that cannot be ranked"),
    ];
    let counts = counts.into_iter().filter(|(number, ..)| *number > 0);
    let words: Vec<String> = counts
        .map(|(number, one, several)| {
            format!("{number} {}", if number == 1 { one } else { several })
        })
        .collect();
    if words.is_empty() {
        return Vec::new();
    }
    let text = format!("Not shown: {}. btu rank --all shows them.", words.join(", and "));
    wrap(&text, options.width, 0).iter().map(|line| Paint(options.colour).quiet(line)).collect()
}

fn one_list(rank: &RankPage, list: &List, options: &TextOptions) -> Vec<String> {
    let is_whole = list.title == Title::BtuRating;
    let btu = if is_whole { "BTU, Mb/s" } else { "part, Mb/s" };
    let head = ["rank", "machine", btu, "95 %", "runs", "cpu, rounds/s", "price", "per Mb/s"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), 2);
    for place in &list.places {
        sheet.row(place_cells(place, rank.machines.get(&place.machine)));
    }
    if is_whole {
        rank.machines_of_1995.iter().for_each(|machine| sheet.row(old_cells(machine)));
    }
    let first_look = if list.profile == "quick" { ", a first look only" } else { "" };
    let part = if is_whole { "" } else { ", a part of the rating" };
    let title = format!("{} profile{first_look}{part}, network {}", list.profile, list.network);
    let plan = format!("plan {}", list.plan_hash);
    let note = list.particulars.iter().cloned().chain([plan]).collect::<Vec<_>>().join(", ");
    section(&title, &note, sheet.without_empty_columns().fitting(options), options)
}

fn place_cells(place: &Place, card: Option<&MachineCard>) -> Vec<String> {
    let btu = &place.btu_bits_per_second;
    let price = card.and_then(|card| card.price.as_ref());
    vec![
        format!("{}{}", place.rank, if place.tied { "=" } else { "" }),
        card.map_or_else(|| place.machine.to_string(), |card| card.name.clone()),
        three_digits(btu.value / 1e6) + if place.low_confidence { "?" } else { "" },
        interval(btu),
        place.runs.len().to_string(),
        or_dash(place.cpu_rounds_per_second),
        price.map_or_else(|| NOTHING.to_owned(), ToString::to_string),
        or_dash(price.map(|price| price.per_megabit(btu.value))),
    ]
}

fn interval(btu: &Estimate) -> String {
    ends(btu, 1e6).unwrap_or_else(|| NOTHING.to_owned())
}

fn old_cells(machine: &Corrected) -> Vec<String> {
    let price = machine.configuration.price_usd;
    let dash = || NOTHING.to_owned();
    vec![
        "1995".to_owned(),
        machine.machine.name().to_owned(),
        three_digits(machine.bits_per_second / 1e6),
        dash(),
        dash(),
        dash(),
        format!("{price} USD"),
        three_digits(price / (machine.bits_per_second / 1e6)),
    ]
}

fn configurations(rank: &RankPage, options: &TextOptions) -> Vec<String> {
    let head = ["machine", "processor", "memory", "kernel", "interface"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), head.len());
    for card in rank.machines.values() {
        sheet.row(vec![
            card.name.clone(),
            processor(card),
            card.memory_bytes
                .map_or_else(|| NOTHING.to_owned(), |bytes| Bytes::new(bytes).to_string()),
            kernel(card),
            "virtual Ethernet".to_owned(),
        ]);
    }
    for machine in rank.machines_of_1995.iter().filter(|_| whole(rank).is_some()) {
        let about = &machine.configuration;
        let interface = about.network.trim_end_matches(" 10 Mb/s");
        let words = [machine.machine.name(), about.processor, NOTHING, about.system, interface];
        sheet.row(words.map(str::to_owned).to_vec());
    }
    section("Configurations", "", sheet.fitting(options), options)
}

pub(crate) fn processor(card: &MachineCard) -> String {
    let name = card.processor.as_deref().unwrap_or("unknown processor");
    let virtual_machine = if card.virtual_machine { ", virtual machine" } else { "" };
    format!("{} x {name}{virtual_machine}", card.cpus)
}

pub(crate) fn kernel(card: &MachineCard) -> String {
    match &card.kernels[..] {
        [] => NOTHING.to_owned(),
        [one] => format!("Linux {one}"),
        [newest, others @ ..] => format!("Linux {newest} and {}", count(others.len(), "other")),
    }
}

fn notes(rank: &RankPage, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let rule = "A machine's BTU is the geometric mean over all its complete runs of one plan; a machine's rank is one more than \
                the number of machines whose whole interval is above its own (= is shared). With fewer than three runs the interval does not see how runs differ; ? is low confidence.";
    let old = looking_back(rank);
    let text = [Some(rule.to_owned()), old].into_iter().flatten().collect::<Vec<_>>().join(" ");
    wrap(&text, options.width, 0).iter().map(|line| paint.quiet(line)).collect()
}

/// The first list of the whole rating.
fn whole(rank: &RankPage) -> Option<&List> {
    rank.ranking.lists.iter().find(|list| list.title == Title::BtuRating)
}

/// The distance from a SPARC 10, with a note about the figures of 1995.
fn looking_back(rank: &RankPage) -> Option<String> {
    let sparc = rank.machines_of_1995.iter().find(|machine| machine.machine == Machine::Sparc10)?;
    let Some(list) = whole(rank) else {
        return Some(
            "1995: those machines can be compared with runs of the whole rating only, and there is none here.".to_owned(),
        );
    };
    let fastest = list.places.first()?;
    Some(format!(
        "1995: corrected ratings (geometric means throughout, from the raw rows; the SPARC 10 was published as {:.2} and is \
         {:.2}), between machines on 10 Mb/s Ethernet, not repeated: they have no rank. The first machine above gives {} \
         times a SPARC 10.",
        sparc.published_bits_per_second / 1e6,
        sparc.bits_per_second / 1e6,
        three_digits(fastest.btu_bits_per_second.value / sparc.bits_per_second),
    ))
}

fn left_out(rank: &RankPage, options: &TextOptions) -> Vec<String> {
    let texts = rank.ranking.left_out.iter().map(|one| format!("{}: {}", one.run, one.reason));
    let lines: Vec<String> = texts.flat_map(|text| wrap(&text, options.width, 2)).collect();
    if lines.is_empty() { lines } else { section("Left out", "", lines, options) }
}

#[cfg(test)]
mod tests;
