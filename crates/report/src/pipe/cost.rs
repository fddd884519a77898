//! The differences of signatures from the first of their set, as tables.

use btu_stats::Estimate;
use btu_studies::pipe::{PipeVerdict, SignatureCost};

use crate::head::TextOptions;
use crate::number::{NOTHING, three_digits};
use crate::sheet::{Sheet, section};
use crate::unit::{rate, time};

/// The number of sizes that fit on a screen.
const GLANCE: usize = 9;

/// One of the set: its name, and its differences from the first.
pub(super) struct NamedCost<'a> {
    pub(super) name: String,
    pub(super) cost: &'a SignatureCost,
}

/// Latency, maximum, and the cost of every message and every byte.
pub(super) fn summary(first: &str, base: (&str, &PipeVerdict), lines: &[NamedCost]) -> Vec<String> {
    let head = [first, "latency", "more", "%", "maximum", "%", "message", "byte"]
        .map(str::to_owned)
        .to_vec();
    let mut sheet = Sheet::new(head, 1);
    sheet.row(lowest(base.0, base.1));
    for line in lines {
        sheet.row(row(&line.name, line.cost));
    }
    sheet.without_empty_columns().lines()
}

/// The signature with which the others are compared.
fn lowest(name: &str, base: &PipeVerdict) -> Vec<String> {
    let nothing = || NOTHING.to_owned();
    let latency =
        base.latency.as_ref().map_or_else(nothing, |latency| time(latency.median_seconds.value));
    let maximum =
        base.maximum.as_ref().map_or_else(nothing, |peak| rate(peak.bits_per_second.value));
    vec![name.to_owned(), latency, nothing(), nothing(), maximum, nothing(), nothing(), nothing()]
}

fn row(name: &str, cost: &SignatureCost) -> Vec<String> {
    let or_dash = |estimate: Option<Estimate>, text: fn(f64) -> String| {
        estimate.map_or_else(|| NOTHING.to_owned(), |estimate| text(estimate.value))
    };
    vec![
        name.to_owned(),
        or_dash(cost.latency_seconds, time),
        told(cost.latency_more_seconds, 0.0, signed_time),
        told(cost.latency_ratio, 1.0, signed_percent),
        or_dash(cost.maximum_bits_per_second, rate),
        told(cost.maximum_ratio, 1.0, signed_percent),
        told(cost.per_message_seconds, 0.0, signed_time),
        told(cost.per_byte_seconds, 0.0, |seconds| format!("{} ns", signed(seconds * 1e9))),
    ]
}

/// The value, with a star if its interval excludes `nothing`.
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

/// A figure of a cost, its name, and the form of its ends.
type CostFigure = (&'static str, fn(&SignatureCost) -> Option<Estimate>, fn(f64) -> String);

/// The figures of all costs that have an interval, one line each.
pub(super) fn intervals(first: &str, lines: &[NamedCost], options: &TextOptions) -> Vec<String> {
    let figures: [CostFigure; 5] = [
        ("latency, more", |cost| cost.latency_more_seconds, signed_time),
        ("latency, %", |cost| cost.latency_ratio, signed_percent),
        ("maximum, %", |cost| cost.maximum_ratio, signed_percent),
        ("each message, more", |cost| cost.per_message_seconds, signed_time),
        (
            "each byte, more",
            |cost| cost.per_byte_seconds,
            |seconds| format!("{} ns", signed(seconds * 1e9)),
        ),
    ];
    let mut sheet =
        Sheet::new([first, "", "value", "95 % from", "to"].map(str::to_owned).to_vec(), 2);
    for line in lines {
        let of_line = figures.iter().filter_map(|(what, of, text)| {
            let estimate = of(line.cost)?;
            Some((what, estimate.value, estimate.interval?, text))
        });
        for (number, (what, value, ends, text)) in of_line.enumerate() {
            let name = if number == 0 { line.name.clone() } else { String::new() };
            sheet.row(vec![name, (*what).to_owned(), text(value), text(ends.low), text(ends.high)]);
        }
    }
    if sheet.is_empty() {
        return Vec::new();
    }
    section("With intervals", "", sheet.lines(), options)
}

/// Throughput as a share of the first one's, for some sizes from the smallest to the largest.
pub(super) fn by_size(base: &str, lines: &[NamedCost], options: &TextOptions) -> Vec<String> {
    let head =
        std::iter::once("bytes".to_owned()).chain(lines.iter().map(|line| line.name.clone()));
    let mut sheet = Sheet::new(head.collect(), 0);
    let Some(longest) = lines.iter().map(|line| &line.cost.sizes).max_by_key(|sizes| sizes.len())
    else {
        return Vec::new();
    };
    let step = (longest.len().saturating_sub(1)).div_ceil(GLANCE - 1).max(1);
    for (index, size) in longest.iter().enumerate() {
        if index % step != 0 && index + 1 != longest.len() {
            continue;
        }
        let of = |line: &NamedCost| {
            let found = line.cost.sizes.iter().find(|other| other.size == size.size);
            told(found.map(|found| found.throughput_ratio), 1.0, |ratio| {
                three_digits(ratio * 100.0)
            })
        };
        sheet.row(
            std::iter::once(size.size.count().to_string()).chain(lines.iter().map(of)).collect(),
        );
    }
    let note = format!("in % of {base}; * beyond what varies within a run, at 95 %");
    section("Throughput", &note, sheet.lines(), options)
}
