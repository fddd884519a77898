//! The effects of factors: a ranking, a picture for each factor, and two factors together.

use btu_stats::{Estimate, Term};
use btu_studies::run::{Factor, FactorEffects, FactorPair, Fraction, RunPlan, ValueVerdict};

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
    if let Some(fraction) = &found.fraction {
        blocks.push(Block::Text(given_up(plan.rows.len(), fraction)));
        blocks.push(Block::Table(aliases(&plan.factors, &value.name, fraction)));
    }
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
pub(super) fn words(all: &[Factor], factors: &[usize]) -> String {
    let name = |factor: &usize| all.get(*factor).map_or("?", |factor| factor.short_name());
    factors.iter().map(name).collect::<Vec<_>>().join(" x ")
}

/// What a fraction means for the shares.
fn given_up(rows: usize, fraction: &Fraction) -> String {
    let meaning = match fraction.resolution {
        3 => "a factor's share includes interactions of two factors",
        4 => {
            "a factor's share includes no interaction of two factors, but an interaction's share includes others"
        }
        _ => "the share of a factor or of an interaction of two includes no other such effect",
    };
    format!(
        "The rows are {rows} of {} combinations, a fraction of resolution {}: {meaning}. A share covers all aliased effects \
         together.",
        fraction.combinations, fraction.resolution
    )
}

/// Aliases of an effect that are named; there may be dozens.
const NAMED: usize = 4;

/// For each reported effect those with the fewest factors that the rows cannot tell from it.
fn aliases(factors: &[Factor], value: &str, fraction: &Fraction) -> Table {
    let title = format!("Aliased effects on {value}");
    let mut table = Table::new(&title, &["effect", "cannot be told from"], 1);
    for alias in &fraction.aliases {
        let mut of: Vec<String> =
            alias.of.iter().take(NAMED).map(|other| words(factors, other)).collect();
        let others = alias.of.len().saturating_sub(NAMED);
        if others > 0 {
            of.push(format!("{others} more"));
        }
        table
            .rows
            .push(vec![Cell::text(words(factors, &alias.factors)), Cell::text(of.join(", "))]);
    }
    table
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
            Cell::text(words(&plan.factors, &term.factors)),
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

/// The share that chance alone would give. It may be far above 1: rows whose true means are equal have
/// means that by chance lie closer together than their scatter.
fn noise(found: &FactorEffects) -> Option<String> {
    let noise = found.effects.noise(found.blocks)?;
    // Sums of squares cancel to the last digits only.
    let rest = if found.effects.rest < 1e-9 { 0.0 } else { found.effects.rest };
    let rest = three_digits(rest * PERCENT);
    let scatter = if noise < 1.0 {
        format!(
            "Scatter alone would make some {} % of the variance, all rows together",
            three_digits(noise * PERCENT)
        )
    } else {
        "Scatter alone would make as much variance as there is, or more: these blocks show no effect of any factor"
            .to_owned()
    };
    Some(format!("{scatter}; interactions of three factors and more make {rest} %."))
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
fn names<'a>(plan: &'a RunPlan, pair: &FactorPair) -> [&'a str; 2] {
    pair.factors.map(|factor| plan.factors[factor].short_name())
}

/// The first factor's levels along the axis, a line for each of the second: parallel lines do not
/// interact.
fn interaction(plan: &RunPlan, value: &ValueVerdict, pair: &FactorPair) -> Figure {
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
fn heat_map(plan: &RunPlan, value: &ValueVerdict, pair: &FactorPair) -> Table {
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

#[cfg(test)]
mod tests {
    use btu_stats::Effects;
    use btu_studies::run::Alias;

    use super::*;

    #[test]
    fn a_fraction_names_its_resolution_and_aliases() {
        let factor = |name: &str| Factor { name: name.to_owned(), levels: Vec::new() };
        let factors = ["rate", "delay", "loss", "load"].map(factor);
        let alias = |factors: &[usize], of: &[&[usize]]| Alias {
            factors: factors.to_vec(),
            of: of.iter().map(|other| other.to_vec()).collect(),
        };
        let many: Vec<&[usize]> = vec![&[2, 3]; 6];
        let fraction = Fraction {
            combinations: 16,
            resolution: 4,
            aliases: vec![alias(&[0], &[&[1, 2, 3]]), alias(&[0, 1], &many)],
        };
        let text = given_up(8, &fraction);
        assert!(
            text.starts_with("The rows are 8 of 16 combinations, a fraction of resolution 4: a")
        );
        let table = aliases(&factors, "took", &fraction);
        let row = |row: usize| table.rows[row].iter().map(Cell::shown).collect::<Vec<_>>();
        assert_eq!(row(0), ["rate", "delay x loss x load"]);
        assert!(row(1)[1].ends_with("loss x load, 2 more"), "{:?}", row(1));
    }

    /// The variance of one value over that between two rows, by blocks.
    fn said(error_variance: f64) -> String {
        let effects = Effects {
            mean: Estimate { value: 1.0, interval: None },
            variance: 1.0,
            terms: Vec::new(),
            rest: 0.0,
            error_variance: Some(error_variance),
        };
        let levels = Vec::new();
        noise(&FactorEffects { effects, blocks: 2, levels, pair: None, fraction: None }).unwrap()
    }

    #[test]
    fn no_share_is_more_than_the_whole() {
        assert!(said(0.2).starts_with("Scatter alone would make some 10.0 % of"), "{}", said(0.2));
        let much = said(308.0);
        assert!(much.contains("show no effect of any factor") && !much.contains("15400"), "{much}");
    }
}
