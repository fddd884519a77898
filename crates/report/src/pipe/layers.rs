//! What each layer of a stack costs, as a table.

use btu_stats::Estimate;
use btu_suite::pipe::{LayerCost, PipeVerdict, layer_costs};

use super::unit::{rate, time};
use crate::head::TextOptions;
use crate::number::{NOTHING, three_digits};
use crate::sheet::{Sheet, page, section, wrap};

/// A layer per line under the one that all are held against, which is the first of `stack`; empty without one.
pub fn layers_text(stack: &[PipeVerdict], options: &TextOptions) -> String {
    let Some(base) = stack.first() else { return String::new() };
    let costs = layer_costs(stack);
    let mut sheet = Sheet::new(head(), 1);
    sheet.row(lowest(base));
    for cost in &costs {
        sheet.row(row(cost));
    }
    let title = format!("The cost of each layer above {}", base.kind.label());
    let note = "one way over the same path; * told apart from nothing at 95 %";
    let explained = "Latency is that of the smallest messages; the last two columns are what large messages cost more: every \
                     message, and every byte of it.";
    page(vec![section(&title, note, sheet.lines(), options), wrap(explained, options.columns(), 0)])
}

fn head() -> Vec<String> {
    ["layer", "latency", "more", "%", "maximum", "%", "message", "byte"].map(str::to_owned).to_vec()
}

/// What the others are held against.
fn lowest(base: &PipeVerdict) -> Vec<String> {
    let nothing = || NOTHING.to_owned();
    let latency = base.latency.as_ref().map_or_else(nothing, |latency| time(latency.median_seconds.value));
    let maximum = base.maximum.as_ref().map_or_else(nothing, |peak| rate(peak.bits_per_second.value));
    vec![base.kind.label().to_owned(), latency, nothing(), nothing(), maximum, nothing(), nothing(), nothing()]
}

fn row(cost: &LayerCost) -> Vec<String> {
    let or_dash = |estimate: Option<Estimate>, text: fn(f64) -> String| {
        estimate.map_or_else(|| NOTHING.to_owned(), |estimate| text(estimate.value))
    };
    vec![
        cost.kind.label().to_owned(),
        or_dash(cost.latency_seconds, time),
        told(cost.latency_more_seconds, 0.0, signed_time),
        told(cost.latency_ratio, 1.0, signed_percent),
        or_dash(cost.maximum_bits_per_second, rate),
        told(cost.maximum_ratio, 1.0, signed_percent),
        told(cost.per_message_seconds, 0.0, signed_time),
        told(cost.per_byte_seconds, 0.0, |seconds| format!("{} ns", signed(seconds * 1e9))),
    ]
}

/// The value, with a star where its interval leaves `nothing` out.
fn told(estimate: Option<Estimate>, nothing: f64, text: fn(f64) -> String) -> String {
    let Some(estimate) = estimate else { return NOTHING.to_owned() };
    let apart = estimate.interval.is_some_and(|interval| !interval.contains(nothing));
    format!("{}{}", text(estimate.value), if apart { "*" } else { " " })
}

fn signed_time(seconds: f64) -> String {
    format!("{}{}", if seconds < 0.0 { "-" } else { "+" }, time(seconds.abs()))
}

fn signed_percent(ratio: f64) -> String {
    signed((ratio - 1.0) * 100.0)
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, three_digits(value.abs()))
}
