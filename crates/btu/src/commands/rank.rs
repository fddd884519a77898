//! `btu rank`: the stored runs' machines in order.

use btu_contract::load::Load;
use btu_report::{RankPage, rank_text};
use btu_stats::geometric_mean;
use btu_store::{RunSummary, Store};
use btu_studies::papers::btu95;
use btu_studies::rank::{Candidate, LeftOut, rank};
use btu_studies::rate::{Reading, Row};

use btu_studies::rate::STUDY;

use crate::cli::{Common, Rank};
use crate::commands::machine::{self, Cards};
use crate::stored::{self, Rated, among_others, before};
use crate::terminal::{print, print_json, text_options};

/// Ranks the machines of the stored runs and prints the result.
pub(crate) fn run(asked: &Rank, common: &Common) -> anyhow::Result<()> {
    let store = stored::open_to_read(common)?;
    let page = page(&store, asked)?;
    if common.json {
        print_json(&page)
    } else {
        print(&rank_text(&page, asked.all, &text_options()))
    }
}

fn page(store: &Store, asked: &Rank) -> anyhow::Result<RankPage> {
    asked.tag.as_deref().map(|tag| stored::tagged(store, tag)).transpose()?;
    let notes = store.machine_notes()?;
    let (mut cards, mut candidates, mut nameless) = (Cards::new(), Vec::new(), Vec::new());
    // The newest run first: its kernel is the machine's.
    for run in store.runs()?.iter().rev().filter(|run| is_asked(run, asked)) {
        let rated = match among_others(Rated::read(store, run.id))? {
            Ok(rated) => rated,
            Err(reason) => {
                nameless.push(LeftOut { run: run.id.to_string(), reason });
                continue;
            }
        };
        if let Some(environment) = before(&rated.row) {
            let machine = machine::add(&mut cards, &environment, &notes);
            candidates.push(candidate(rated, machine));
        } else {
            let reason = "its machine was not looked at".to_owned();
            nameless.push(LeftOut { run: run.id.to_string(), reason });
        }
    }
    candidates.reverse();
    let mut ranking = rank(&candidates);
    ranking.left_out.extend(nameless);
    let ranked = |key: &_| {
        ranking.lists.iter().flat_map(|list| &list.places).any(|place| place.machine == *key)
    };
    cards.retain(|key, _| ranked(key));
    let machines_of_1995 = asked.with.map(|_| btu95::corrected()).unwrap_or_default();
    Ok(RankPage { ranking, machines: cards, machines_of_1995 })
}

fn is_asked(run: &RunSummary, asked: &Rank) -> bool {
    let tagged = asked.tag.as_ref().is_none_or(|tag| run.tags.contains(tag));
    let profile = asked.profile.is_none_or(|profile| run.profile == profile.name());
    run.study == STUDY && tagged && profile
}

fn candidate(rated: Rated, machine: btu_contract::machine::MachineKey) -> Candidate {
    Candidate {
        run: rated.row.summary.id.to_string(),
        machine,
        cpu_rounds_per_second: cpu_score(&rated.readings),
        plan: rated.plan,
        rating: rated.rating,
        obstacles: rated.obstacles,
    }
}

/// Rounds per second of the cpu activity alone.
fn cpu_score(readings: &[Reading]) -> Option<f64> {
    let alone =
        readings.iter().filter(|reading| matches!(reading.row, Row::Host { load: Load::Cpu }));
    let speeds: Vec<f64> = alone.map(|reading| reading.per_second).collect();
    geometric_mean(&speeds)
}
