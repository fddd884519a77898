//! Several signatures of one run: the cost of each layer, or the share that a busy machine keeps.

use std::fmt::Write;

use btu_studies::pipe::{LoadedVerdict, SetVerdict};
use btu_suite::pipe::Purpose;

use super::cost::{NamedCost, by_size, intervals, summary};
use super::csv::{HEAD, ends_of, size_line};
use super::picture::{Graph, NamedSignature};
use super::{plot, warnings};
use crate::head::{RunHead, TextOptions};
use crate::number::count;
use crate::paint::Paint;
use crate::sheet::{page, section, wrap};

/// The name of a signature in its set: its layer, or its load.
pub(super) fn name_in_set(purpose: Purpose, one: &LoadedVerdict) -> String {
    match purpose {
        Purpose::Layers => one.verdict.kind.label().to_owned(),
        Purpose::Load => one.load.name().to_owned(),
    }
}

/// The whole result; every figure with its interval if `all`, or where there is room. Lines end
/// with `\n`.
pub fn set_text(verdict: &SetVerdict, run: &RunHead, all: bool, options: &TextOptions) -> String {
    let Some(base) = verdict.signatures.first() else { return String::new() };
    let first = if verdict.purpose == Purpose::Layers { "layer" } else { "load" };
    let name = name_in_set(verdict.purpose, base);
    let lines = lines(verdict);
    let table = summary(first, (&name, &base.verdict), &lines);
    let note = "one way over the same path; * significant at 95 %";
    let title = match verdict.purpose {
        Purpose::Layers => format!("The cost of each layer above {name}"),
        Purpose::Load => "What the load costs".to_owned(),
    };
    let with_intervals = all || options.is_wide();
    page(vec![
        head(verdict, run, options),
        section(&title, note, table, options),
        if with_intervals { intervals(first, &lines, options) } else { Vec::new() },
        by_size(&name, &lines, options),
        signatures(verdict, options),
        wrap(&explained(verdict), options.columns(), 0),
        warnings(verdict, run, options),
    ])
}

fn lines(verdict: &SetVerdict) -> Vec<NamedCost<'_>> {
    let layers = verdict
        .layers
        .iter()
        .map(|layer| NamedCost { name: layer.kind.label().to_owned(), cost: &layer.cost });
    let loads = verdict
        .loads
        .iter()
        .map(|load| NamedCost { name: load.load.name().to_owned(), cost: &load.cost });
    layers.chain(loads).collect()
}

/// The title of such a set above its text and its picture.
pub const fn set_title(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Layers => "Layers of a stack",
        Purpose::Load => "Under load",
    }
}

/// The subject, the place and the time of the measurement.
fn head(verdict: &SetVerdict, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let pattern = verdict.signatures.first().map_or("", |one| one.verdict.pattern.name());
    let title = format!(
        "{} {}",
        paint.title(&format!("{},", set_title(verdict.purpose))),
        paint.strong(pattern)
    );
    let most = verdict.signatures.iter().map(|one| one.verdict.sizes.len()).max().unwrap_or(0);
    let what = format!(
        "{} in turns, {}",
        count(verdict.signatures.len(), "signature"),
        count(most, "size")
    );
    run.below(title, &what, options)
}

fn signatures(verdict: &SetVerdict, options: &TextOptions) -> Vec<String> {
    if verdict.signatures.iter().all(|one| one.verdict.sizes.len() < 3) {
        return Vec::new();
    }
    let names = names(verdict);
    let lines =
        plot::pipe_plot(Graph::Throughput, &named(verdict, &names), false, plot::ROWS, options);
    section("Throughput", "against the size of a message", lines, options)
}

fn explained(verdict: &SetVerdict) -> String {
    let loads = match verdict.purpose {
        Purpose::Layers => "",
        Purpose::Load => " The load works on the side that sends first.",
    };
    format!(
        "Latency is that of the smallest messages; the % of the maximum is by the sizes that both have; the last two columns \
         are what large messages cost more: every message, and every byte of it. All were measured size by size in turns, \
         so that what else went on met all of them.{loads}"
    )
}

fn warnings(verdict: &SetVerdict, run: &RunHead, options: &TextOptions) -> Vec<String> {
    let named = names(verdict).into_iter().zip(verdict.signatures.iter().map(|one| &one.verdict));
    warnings::of_several(&named.collect::<Vec<_>>(), run, options)
}

/// Names for the legend, in the order of the signatures.
pub fn names(verdict: &SetVerdict) -> Vec<String> {
    verdict.signatures.iter().map(|one| name_in_set(verdict.purpose, one)).collect()
}

/// The signatures with their names.
pub fn named<'a>(verdict: &'a SetVerdict, names: &'a [String]) -> Vec<NamedSignature<'a>> {
    let pairs = verdict.signatures.iter().zip(names);
    pairs.map(|(one, name)| NamedSignature { name, verdict: &one.verdict }).collect()
}

/// One line for every size of every signature, and its throughput over the first one's.
pub fn set_csv(verdict: &SetVerdict) -> String {
    let mut out = format!(
        "transport,load,{HEAD},throughput_ratio,throughput_ratio_low,throughput_ratio_high\n"
    );
    let costs = verdict
        .layers
        .iter()
        .map(|layer| &layer.cost)
        .chain(verdict.loads.iter().map(|load| &load.cost));
    let costs: Vec<_> = std::iter::once(None).chain(costs.map(Some)).collect();
    for (one, cost) in verdict.signatures.iter().zip(costs) {
        for size in &one.verdict.sizes {
            let ratio =
                cost.and_then(|cost| cost.sizes.iter().find(|other| other.size == size.size));
            let ratio =
                ratio.map_or_else(|| ",,".to_owned(), |ratio| ends_of(&ratio.throughput_ratio));
            let _ = writeln!(out, "{},{},{},{ratio}", one.verdict.kind, one.load, size_line(size));
        }
    }
    out
}
