//! Comparisons with known answers.

mod known;
mod simulation;

use btu_stats::Level;
use rand::SeedableRng;
use rand_distr::Distribution;
use rand_pcg::Pcg64;

use btu_contract::load::Load;

use super::*;
use crate::rate::{Component, MESSAGE_SIZES, Reading};

/// So many rated rows, those under cpu load first.
fn rows(count: usize) -> Vec<Row> {
    let activities = Component::RATED
        .iter()
        .flat_map(|&component| MESSAGE_SIZES.map(|message| (component, message)));
    let all = Load::HOST.into_iter().flat_map(|load| {
        activities.clone().map(move |(component, message)| Row::Network {
            component,
            message,
            load,
        })
    });
    all.take(count).collect()
}

/// A run with cells of `log(row index, block)` in logarithms.
fn run(
    name: &str,
    rows: &[Row],
    blocks: u32,
    mut log: impl FnMut(usize, u32) -> f64,
) -> RunReadings {
    let mut readings = Vec::new();
    for block in 0..blocks {
        for (index, &row) in rows.iter().enumerate() {
            readings.push(Reading { row, block, per_second: log(index, block).exp() });
        }
    }
    RunReadings { name: name.to_owned(), place: 0, readings }
}

fn group(name: &str, runs: Vec<RunReadings>) -> Group {
    Group { name: name.to_owned(), network: "veth".to_owned(), runs }
}

/// Two sides whose runs were measured in this order: `b` is a run of the base, `o` one of the other side.
fn in_order(order: &str, mut base: Group, mut other: Group) -> [Group; 2] {
    let places = |side: char| order.char_indices().filter(move |(_, of)| *of == side);
    for (group, side) in [(&mut base, 'b'), (&mut other, 'o')] {
        assert_eq!(places(side).count(), group.runs.len(), "{order}");
        group.runs.iter_mut().zip(places(side)).for_each(|(run, (place, _))| run.place = place);
    }
    [base, other]
}

fn question<'a>(base: &'a Group, others: &'a [Group]) -> Question<'a> {
    Question { base, others, level: Level::P95, matter: Matter::DEFAULT }
}

/// The only comparison of two groups.
fn one(base: &Group, other: &Group) -> ComparedSide {
    compare(&question(base, std::slice::from_ref(other))).others.remove(0)
}

/// A standard normal number.
fn normal(random: &mut Pcg64) -> f64 {
    rand_distr::StandardNormal.sample(random)
}

fn seeded(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}
