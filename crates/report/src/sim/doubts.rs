//! Reasons to doubt the figures, each with what was seen and what to try.

use btu_medium::sim::Doubt;

use crate::head::TextOptions;
use crate::number::{count, percent, three_digits};
use crate::paint::Paint;
use crate::sheet::wrap;

/// One paragraph for each doubt.
pub(crate) fn doubts(doubts: &[Doubt], options: &TextOptions) -> Vec<String> {
    let paragraphs = doubts.iter().flat_map(|doubt| wrap(&text(doubt), options.columns(), 2));
    paragraphs.map(|line| Paint(options.colour).doubt(&line)).collect()
}

fn text(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Saturated { flow, offered, delivered } => format!(
            "! {flow}: overloaded. {} frames a second are offered, {} arrive; queues are full or filling, so the delay \
             depends on the queues' limits and on --duration. Offer less, or read goodput and losses only.",
            three_digits(*offered),
            three_digits(*delivered)
        ),
        Doubt::AlwaysMore { flow } => format!(
            "! {flow}: always has one more to send. Its delay is that of two frames in each sender's queue, not of a load \
             that a user would offer."
        ),
        Doubt::Silent { flow } => {
            format!("! {flow}: nothing arrived. Simulate for longer with --duration, or look for what loses it below.")
        }
        Doubt::Few { flow, frames } => format!(
            "! {flow}: only {} arrived, too few for a 99th percentile. Simulate for longer with --duration.",
            count(usize::try_from(*frames).unwrap_or(usize::MAX), "frame")
        ),
        Doubt::LowConfidence { flow, figure, half_width } => format!(
            "! {flow}: low confidence. The interval of its {figure} is ±{} % wide. Try more --replications or a longer \
             --duration.",
            percent(*half_width)
        ),
        Doubt::Disagreement { flow, replications } => {
            let which: Vec<String> = replications.iter().map(|number| (number + 1).to_string()).collect();
            format!(
                "! {flow}: replications disagree. Number {} has quite another mean delay than the others: the network may \
                 have two ways to be. Try a longer --duration.",
                which.join(", ")
            )
        }
    }
}
