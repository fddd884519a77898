//! A factorial experiment: which factor matters most.

use btu_stats::Estimate;
use btu_studies::app::{AppVerdict, FactorRow, FactorShares};

use crate::html::{Block, Cell, Section, Table};
use crate::number::percent;
use crate::versus::first_of;

/// The factor from a share to per cent.
const HUNDREDTH: f64 = 0.01;

/// Pairs that are listed: those that may matter.
const MOST_PAIRS: usize = 6;

/// The factor that makes most of the variance, and its share, if intervals tell which it is.
pub(super) fn headline(shares: &FactorShares) -> Option<String> {
    let [first, second, ..] = &shares.factors[..] else { return None };
    let ordered: Vec<(String, Estimate)> =
        shares.factors.iter().map(|row| (row.factor.to_string(), row.share)).collect();
    let claim = first_of(&ordered, |factor, _| format!("{factor} matters most"));
    Some(format!(
        "{claim}: {} {} % of the variance of ln(rate), {} {} %",
        first.factor,
        percent(first.share.value),
        second.factor,
        percent(second.share.value)
    ))
}

/// The factors and what pairs of them do, most important first.
pub(super) fn sections(verdict: &AppVerdict) -> [Option<Section>; 2] {
    let Some(shares) = &verdict.factors else { return [None, None] };
    [factors(shares), pairs(shares)]
}

fn factors(shares: &FactorShares) -> Option<Section> {
    let head = [
        "factor",
        "from",
        "to",
        "share of variance, %",
        "rate at the second over the first",
        "elasticity",
        "sensitivity",
    ];
    let mut table = Table::new("Factors, most important first", &head, 3);
    table.rows.extend(shares.factors.iter().map(cells));
    let noise = shares.noise.map_or_else(
        || "one block only, so there are no intervals".to_owned(),
        |noise| format!("the scatter of repetitions alone would make {} %", percent(noise)),
    );
    let text = format!(
        "{} runs in each of {} blocks. Interactions of more than two factors explain {} % of the variance of ln(rate); {noise}.",
        shares.runs,
        shares.blocks,
        percent(shares.rest)
    );
    let note = "share of the variance of ln(items per second) over these levels (95 % interval, bootstrap over blocks)";
    Section::of("Which factor matters most", note, vec![Block::Table(table), Block::Text(text)])
}

fn cells(row: &FactorRow) -> Vec<Cell> {
    let [low, high] = &row.levels;
    let scaled = |estimate: &Option<Estimate>| Cell::estimate(estimate.as_ref(), 1.0);
    vec![
        Cell::text(row.factor),
        Cell::text(low),
        Cell::text(high),
        Cell::estimate(Some(&row.share), HUNDREDTH),
        Cell::estimate(Some(&row.rate_ratio), 1.0),
        scaled(&row.elasticity),
        scaled(&row.sensitivity),
    ]
}

fn pairs(shares: &FactorShares) -> Option<Section> {
    let mut table =
        Table::new("Pairs, most important first", &["factors", "share of variance, %"], 1);
    for pair in shares.pairs.iter().take(MOST_PAIRS) {
        let [first, second] = pair.factors;
        let names = Cell::text(format!("{first} and {second}"));
        table.rows.push(vec![names, Cell::estimate(Some(&pair.share), HUNDREDTH)]);
    }
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    let note =
        "what two do together beyond what each does: the one matters more or less with the other";
    Section::of("Factors that need each other", note, blocks)
}
