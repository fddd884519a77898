//! The effects of factors: a ranking, a picture for each factor, and two factors together.

use btu_stats::{Estimate, Term};
use btu_suite::run::{FactorEffects, Pair, RunPlan, ValueVerdict};

use super::unit_of;
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Section, Series, Table,
};
use crate::number::three_digits;

/// The whole in per cent.
const PERCENT: f64 = 100.0;

/// The effects of the factors on a value.
pub(super) fn section(plan: &RunPlan, value: &ValueVerdict) -> Option<Section> {
    let found = value.effects.as_ref()?;
    let mut blocks = vec![Block::Table(ranking(plan, value, found))];
    blocks.extend(noise(found).map(Block::Text));
    blocks.extend(
        (0..plan.factors.len()).map(|factor| Block::Figure(picture(plan, value, found, factor))),
    );
    if let Some(pair) = &found.pair {
        blocks.push(Block::Figure(interaction(plan, value, pair)));
        blocks.push(Block::Table(heat_map(plan, value, pair)));
    }
    let note = format!(
        "shares of the variance of {}'s logarithm over {} complete blocks, with 95 % intervals; a factor's share is what it does by itself, an \
         interaction's what two do beyond that",
        value.name, found.blocks
    );
    Section::of(&format!("What decides {}", value.name), &note, blocks)
}

/// A factor, or an interaction, in words.
fn words(plan: &RunPlan, term: &Term) -> String {
    let name = |factor: &usize| plan.factors.get(*factor).map_or("?", |factor| factor.short_name());
    term.factors.iter().map(name).collect::<Vec<_>>().join(" x ")
}

/// Factors and interactions by their shares, the largest first.
fn ranking(plan: &RunPlan, value: &ValueVerdict, found: &FactorEffects) -> Table {
    let head = ["factor", "share, %", "from", "to", "times"];
    let mut table = Table::new(&format!("What decides {}", value.name), &head, 1);
    let mut terms: Vec<&Term> = found.effects.terms.iter().collect();
    terms.sort_by(|a, b| b.share.value.total_cmp(&a.share.value));
    for term in terms {
        let [from, to, times] =
            change(plan, found, term).unwrap_or([Cell::Nothing, Cell::Nothing, Cell::Nothing]);
        table.rows.push(vec![
            Cell::text(words(plan, term)),
            Cell::estimate(Some(&term.share), 1.0 / PERCENT),
            from,
            to,
            times,
        ]);
    }
    table
}

/// From a factor's baseline to the level that is farthest from it: how many times as much.
fn change(plan: &RunPlan, found: &FactorEffects, term: &Term) -> Option<[Cell; 3]> {
    let [factor] = term.factors[..] else { return None };
    let (levels, names) = (found.levels.get(factor)?, &plan.factors.get(factor)?.levels);
    let base = (*levels.first()?)?.value;
    let ratio = |level: &Option<Estimate>| level.map(|level| level.value / base);
    let far = |ratio: f64| ratio.ln().abs();
    let others =
        levels.iter().enumerate().skip(1).filter_map(|(place, level)| Some((place, ratio(level)?)));
    let (place, times) = others.max_by(|(_, a), (_, b)| far(*a).total_cmp(&far(*b)))?;
    Some([Cell::text(names.first()?), Cell::text(names.get(place)?), Cell::number(Some(times))])
}

/// The share that chance alone would give.
fn noise(found: &FactorEffects) -> Option<String> {
    let noise = found.effects.noise(found.blocks)?;
    // Sums of squares cancel to the last digits only.
    let rest = if found.effects.rest < 1e-9 { 0.0 } else { found.effects.rest };
    let rest = three_digits(rest * PERCENT);
    Some(format!(
        "Scatter alone would make some {} % of the variance, all rows together; interactions of three factors and more make {rest} %.",
        three_digits(noise * PERCENT)
    ))
}

/// The name of a figure in links: letters, digits and hyphens.
fn link(parts: &[&str]) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    parts
        .iter()
        .map(|part| part.chars().map(plain).collect::<String>())
        .collect::<Vec<_>>()
        .join("-")
}

fn points(levels: &[Option<Estimate>], size: f64) -> Vec<Point> {
    let point = |(level, place): (&Option<Estimate>, u32)| {
        let level = (*level)?;
        let interval = level.interval.map(|ends| (ends.low / size, ends.high / size));
        Some(Point { x: f64::from(place), y: level.value / size, interval })
    };
    levels.iter().zip(0u32..).filter_map(point).collect()
}

/// The means over a factor's levels.
fn picture(plan: &RunPlan, value: &ValueVerdict, found: &FactorEffects, factor: usize) -> Figure {
    let (unit, size) = unit_of(value);
    let (name, names) = (plan.factors[factor].short_name(), &plan.factors[factor].levels);
    let levels = found.levels.get(factor).map_or(&[][..], Vec::as_slice);
    let of = format!("{}, {unit}", value.name);
    let series = Series {
        name: value.name.clone(),
        role: Role::Member(factor),
        mark: Drawn::LinePoints,
        points: points(levels, size),
    };
    let panel = Panel {
        title: String::new(),
        x: Axis::words(name, names.clone()),
        y: Axis::linear(&of),
        series: vec![series],
    };
    let title = format!("{} by {name}", value.name);
    let mut table = Table::new(&title, &[name, &of], 1);
    table.rows = names
        .iter()
        .zip(levels)
        .map(|(name, level)| vec![Cell::text(name), Cell::estimate(level.as_ref(), size)])
        .collect();
    Figure {
        name: link(&[&value.name, name]),
        title,
        panels: vec![panel],
        layout: Layout::SideBySide,
        table,
    }
}

/// The names of both factors of a pair.
fn names<'a>(plan: &'a RunPlan, pair: &Pair) -> [&'a str; 2] {
    pair.factors.map(|factor| plan.factors[factor].short_name())
}

/// The first factor's levels along the axis, a line for each of the second: parallel lines do not
/// interact.
fn interaction(plan: &RunPlan, value: &ValueVerdict, pair: &Pair) -> Figure {
    let (unit, size) = unit_of(value);
    let [one, other] = names(plan, pair);
    let [firsts, seconds] = pair.factors.map(|factor| &plan.factors[factor].levels);
    let of = format!("{}, {unit}", value.name);
    let line = |(place, name): (usize, &String)| {
        let levels: Vec<Option<Estimate>> =
            pair.means.iter().map(|line| line.get(place).copied().flatten()).collect();
        Series {
            name: format!("{other} {name}"),
            role: Role::Member(place),
            mark: Drawn::LinePoints,
            points: points(&levels, size),
        }
    };
    let series = seconds.iter().enumerate().map(line).collect();
    let panel = Panel {
        title: String::new(),
        x: Axis::words(one, firsts.clone()),
        y: Axis::logarithmic(&of),
        series,
    };
    let title = format!("{} by {one} and {other}: parallel lines do not interact", value.name);
    let mut table =
        Table::new(&format!("{} by {one} and {other}", value.name), &[one, other, &of], 2);
    for (first, line) in firsts.iter().zip(&pair.means) {
        for (second, mean) in seconds.iter().zip(line) {
            table.rows.push(vec![
                Cell::text(first),
                Cell::text(second),
                Cell::estimate(mean.as_ref(), size),
            ]);
        }
    }
    Figure {
        name: link(&[&value.name, one, other]),
        title,
        panels: vec![panel],
        layout: Layout::SideBySide,
        table,
    }
}

/// Like `interaction`, with backgrounds that show the size of a value.
fn heat_map(plan: &RunPlan, value: &ValueVerdict, pair: &Pair) -> Table {
    let (unit, size) = unit_of(value);
    let [one, other] = names(plan, pair);
    let [firsts, seconds] = pair.factors.map(|factor| &plan.factors[factor].levels);
    let corner = format!("{one}, {other}");
    let head: Vec<&str> =
        std::iter::once(corner.as_str()).chain(seconds.iter().map(String::as_str)).collect();
    let mut table = Table::new(&format!("Heat map of {}, {unit}", value.name), &head, 1);
    table.shaded = true;
    table.rows = firsts
        .iter()
        .zip(&pair.means)
        .map(|(first, line)| {
            let means = line.iter().map(|mean| Cell::number(mean.map(|mean| mean.value / size)));
            std::iter::once(Cell::text(first)).chain(means).collect()
        })
        .collect();
    table
}
