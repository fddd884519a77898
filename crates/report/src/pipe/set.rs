//! Several signatures of one run: the cost of each layer, or the share that a busy machine keeps.

use std::fmt::Write;

use btu_contract::pipe::Purpose;
use btu_studies::pipe::{LoadedVerdict, SetVerdict};

use super::csv::{HEAD, size_line};
use super::picture::NamedSignature;
use crate::number::ends_of;

/// The name of a signature in its set: its layer, or its load.
pub(super) fn name_in_set(purpose: Purpose, one: &LoadedVerdict) -> String {
    match purpose {
        Purpose::Layers => one.verdict.kind.label().to_owned(),
        Purpose::Load => one.load.name().to_owned(),
    }
}

/// The title of such a set above its text and its picture.
pub const fn set_title(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Layers => "Layers of a stack",
        Purpose::Load => "Under load",
    }
}

/// What the figures of the costs are.
pub(super) fn explained(verdict: &SetVerdict) -> String {
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
