//! The first screen of a simulation.

use btu_medium::sim::{FlowOutcome, MediumOutcome, Outcome};
use btu_stats::Estimate;

use super::tables::lost;
use super::warnings::warnings;
use crate::html::Page;
use crate::number::{ends, percent};
use crate::summary::{KeyFigure, Next, Summary};
use crate::unit::{self, time};

/// From this share of time on, a medium is the limit.
const BUSY: f64 = 0.9;

/// The answer of a simulation; `all` is the command that shows every table, `network` the one that
/// shows the network.
pub fn sim_page(outcome: &Outcome, all: &str, network: Next) -> Page {
    let how = super::how(&outcome.settings);
    let covers =
        format!("intervals ({} %) are of chance in this network file", percent(outcome.confidence));
    let next = vec![Next::new(all, "every table"), network];
    let mut flows: Vec<&FlowOutcome> = outcome.flows.iter().collect();
    flows.sort_by(|a, b| {
        b.goodput_bits_per_second.value.total_cmp(&a.goodput_bits_per_second.value)
    });
    Page {
        title: format!("btu sim: {}", outcome.network),
        headline: headline(outcome, &flows),
        warnings: warnings(&outcome.warnings),
        summary: Summary {
            figures: flows.iter().map(|flow| figure(flow)).collect(),
            limit: limit(outcome),
            setting: vec![how, covers],
            next,
            ..Summary::default()
        },
        ..Page::default()
    }
}

/// The delivered and the offered load, and the delay of the slowest flow.
fn headline(outcome: &Outcome, flows: &[&FlowOutcome]) -> String {
    if flows.is_empty() {
        return format!(
            "{}: the network file draws no traffic, so there is nothing to see",
            outcome.network
        );
    }
    let sum =
        |of: fn(&FlowOutcome) -> f64| unit::rate(flows.iter().map(|flow| of(flow)).sum::<f64>());
    let arrives = sum(|flow| flow.goodput_bits_per_second.value);
    let offered = sum(|flow| flow.offered_bits_per_second.value);
    let delays = flows.iter().filter_map(|flow| Some((flow, flow.delay.as_ref()?.mean)));
    let slowest = delays.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let delay = slowest.map_or_else(String::new, |(flow, mean)| {
        let of = if flows.len() > 1 { format!(" of {}", flow.name) } else { String::new() };
        format!(", mean delay{of} {}", with_interval(&mean))
    });
    format!("{}: {arrives} arrive of {offered} offered{delay}", outcome.network)
}

/// `1.07 ms (1.05 .. 1.09)`.
fn with_interval(seconds: &Estimate) -> String {
    let unit = crate::unit::time_unit(seconds.value);
    ends(seconds, unit.worth)
        .map_or_else(|| time(seconds.value), |ends| format!("{} ({ends})", time(seconds.value)))
}

fn figure(flow: &FlowOutcome) -> KeyFigure {
    let delay = flow.delay.as_ref();
    let delay = delay
        .map(|delay| format!("delay {}, p99 {}", time(delay.mean.value), time(delay.p99.value)));
    let lost = Some(lost(flow)).filter(|share| share != "0").map(|share| format!("{share} % lost"));
    let (value, ends) = unit::rate_with_ends(&flow.goodput_bits_per_second);
    KeyFigure {
        name: flow.name.clone(),
        value,
        interval: ends.unwrap_or_default(),
        note: delay.into_iter().chain(lost).collect::<Vec<_>>().join(", "),
    }
}

fn limit(outcome: &Outcome) -> String {
    let busiest = outcome.media.iter().max_by(|a, b| a.busy.value.total_cmp(&b.busy.value));
    busiest.filter(|medium| medium.busy.value > 0.0).map_or_else(String::new, |medium| {
        let MediumOutcome { name, busy, .. } = medium;
        let busy = percent(busy.value);
        if medium.busy.value >= BUSY {
            format!("{name}, busy {busy} % of the time")
        } else {
            format!("what is offered; the busiest medium, {name}, is busy {busy} % of the time")
        }
    })
}
