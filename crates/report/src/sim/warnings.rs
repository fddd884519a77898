//! Warnings about the figures, each with its observation and its advice.

use btu_medium::sim::SimulationWarning as Cause;

use crate::head::TextOptions;
use crate::html::PageWarning;
use crate::number::{count, percent, three_digits};
use crate::paint::Paint;
use crate::sheet::wrap;
use crate::stored_page::page_warning;

/// One paragraph for each warning.
pub(crate) fn paragraphs(causes: &[Cause], options: &TextOptions) -> Vec<String> {
    let text = |PageWarning { title, observed, advice }: PageWarning| {
        let advice = if advice.is_empty() { String::new() } else { format!(" {advice}.") };
        format!("! {title}: {observed}.{advice}")
    };
    let paragraphs =
        warnings(causes).into_iter().flat_map(|warning| wrap(&text(warning), options.columns(), 2));
    paragraphs.map(|line: String| Paint(options.colour).warning(&line)).collect()
}

/// The warnings as every report has them.
pub(crate) fn warnings(causes: &[Cause]) -> Vec<PageWarning> {
    causes.iter().map(of).collect()
}

fn of(cause: &Cause) -> PageWarning {
    match cause {
        Cause::Saturated { flow, offered, delivered } => page_warning(
            "overloaded",
            &format!(
                "{flow}: {} frames a second are offered, {} arrive; queues are full or filling, so the delay depends on the \
                 queues' limits and on --duration",
                three_digits(*offered),
                three_digits(*delivered)
            ),
            "Offer less, or read goodput and losses only",
        ),
        Cause::AlwaysMore { flow } => page_warning(
            "always one more",
            &format!(
                "{flow} always has one more to send; its delay is for two frames in each sender's queue, not for a load that \
                 a user would offer"
            ),
            "",
        ),
        Cause::Silent { flow } => page_warning(
            "nothing arrived",
            &format!("of {flow}"),
            "Simulate for longer with --duration, or look for what loses it among the losses",
        ),
        Cause::Few { flow, frames } => page_warning(
            "few frames",
            &format!(
                "of {flow} only {} arrived, too few for a 99th percentile",
                count(usize::try_from(*frames).unwrap_or(usize::MAX), "frame")
            ),
            "Simulate for longer with --duration",
        ),
        Cause::LowConfidence { flow, figure, half_width } => page_warning(
            "low confidence",
            &format!("the interval of {flow}'s {figure} is ±{} % wide", percent(*half_width)),
            "Try more --replications or a longer --duration",
        ),
        Cause::Disagreement { flow, replications } => {
            let which: Vec<String> =
                replications.iter().map(|number| (number + 1).to_string()).collect();
            page_warning(
                "replications disagree",
                &format!(
                    "number {} of {flow} has quite another mean delay than the others: the network may have two ways to be",
                    which.join(", ")
                ),
                "Try a longer --duration",
            )
        }
    }
}
