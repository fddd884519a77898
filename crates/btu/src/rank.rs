//! `btu rank`: the stored runs' machines in order.

use btu_report::{RankPage, rank_text};
use btu_stats::geometric_mean;
use btu_store::{RunSummary, State, Store};
use btu_suite::cell::{Load, Row};
use btu_suite::compare::Reading;
use btu_suite::history::btu95;
use btu_suite::rank::{Candidate, LeftOut, rank};
use btu_suite::record::CellRecord;

use crate::cli::{Common, Rank};
use crate::machine::{self, Cards};
use crate::preflight;
use crate::rate::SUITE;
use crate::stored::Stored;
use crate::terminal::{print, print_json, text_options};

/// Prints the ranking.
pub(crate) fn run(asked: &Rank, common: &Common) -> anyhow::Result<()> {
    let store = preflight::store(common)?;
    let page = page(&store, asked)?;
    if common.json { print_json(&page) } else { print(&rank_text(&page, &text_options())) }
}

fn page(store: &Store, asked: &Rank) -> anyhow::Result<RankPage> {
    let notes = store.machine_notes()?;
    let (mut cards, mut candidates, mut nameless) = (Cards::new(), Vec::new(), Vec::new());
    // The newest run first: its kernel is the machine's.
    for run in store.runs()?.iter().rev().filter(|run| is_asked(run, asked)) {
        let stored = Stored::read(store, run.id)?;
        if let Some(environment) = stored.before() {
            let machine = machine::add(&mut cards, &environment, &notes);
            candidates.push(candidate(stored, machine));
        } else {
            let reason = "its machine was never looked at".to_owned();
            nameless.push(LeftOut { run: run.id.to_string(), reason });
        }
    }
    candidates.reverse();
    let mut ranking = rank(&candidates);
    ranking.left_out.extend(nameless);
    let ranked = |key: &_| ranking.lists.iter().flat_map(|list| &list.places).any(|place| place.machine == *key);
    cards.retain(|key, _| ranked(key));
    let machines_of_1995 = asked.with.map(|_| btu95::corrected()).unwrap_or_default();
    Ok(RankPage { ranking, machines: cards, machines_of_1995 })
}

fn is_asked(run: &RunSummary, asked: &Rank) -> bool {
    let tagged = asked.tag.as_ref().is_none_or(|tag| run.tags.contains(tag));
    let profile = asked.profile.is_none_or(|profile| run.profile == profile.name());
    run.suite == SUITE && tagged && profile
}

fn candidate(stored: Stored, machine: btu_suite::rank::MachineKey) -> Candidate {
    Candidate {
        run: stored.row.summary.id.to_string(),
        machine,
        complete: stored.row.summary.state == State::Complete,
        cpu_rounds_per_second: cpu_score(&stored.cells),
        plan: stored.plan,
        verdict: stored.verdict,
    }
}

/// Rounds per second of the cpu activity alone.
fn cpu_score(cells: &[CellRecord]) -> Option<f64> {
    let alone = cells.iter().filter(|cell| matches!(cell.row, Row::Host { load: Load::Cpu }));
    let speeds: Vec<f64> = alone.filter_map(Reading::of).map(|reading| reading.per_second).collect();
    geometric_mean(&speeds)
}
