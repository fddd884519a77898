//! The first screen of a prediction.

use btu_model::Answer;
use btu_model::predict::{FlowPrediction, Prediction, PredictionWarning};

use super::figures::{answer, percent, time};
use super::flows::megabits;
use super::transfer;
use crate::html::Page;
use crate::stored_page::page_warning;
use crate::summary::{KeyFigure, Next, Summary};

/// The answer of a prediction; `all` is the command that shows every table, `file` what a user
/// types for the network.
pub fn model_page(prediction: &Prediction, all: &str, file: &str) -> Page {
    let name = &prediction.network;
    let (figures, setting, warnings) = match &prediction.transfer {
        Some(asked) => (
            transfer::figures(asked),
            transfer::setting(&asked.bulk),
            transfer::warnings(&asked.bulk),
        ),
        None => (
            prediction.flows.iter().map(figure).collect(),
            vec!["means by formula: single frames take less, or longer".to_owned()],
            warnings(&prediction.warnings),
        ),
    };
    let next = vec![
        Next::new(all, "every submodel"),
        Next::new(format!("btu sim {file}"), "the same simulated, with intervals"),
    ];
    Page {
        title: format!("btu model: {name}"),
        headline: format!("{name}: {}", headline(prediction)),
        warnings,
        summary: Summary { figures, limit: limit(prediction), setting, next, ..Summary::default() },
        ..Page::default()
    }
}

/// The transfer, else the longest mean delay of a flow.
fn headline(prediction: &Prediction) -> String {
    if let Some(asked) = &prediction.transfer {
        return transfer::headline(asked);
    }
    let longest = |delay: &Answer| delay.value.unwrap_or(f64::INFINITY);
    let flows = prediction.flows.iter();
    let slowest =
        flows.max_by(|a, b| longest(&a.delay_seconds).total_cmp(&longest(&b.delay_seconds)));
    let Some(flow) = slowest else {
        return "the network file draws no traffic, so there is nothing to predict".to_owned();
    };
    if flow.delay_seconds.is_saturated() {
        return format!("{} has no mean delay: the network is saturated", flow.name);
    }
    format!("mean delay of {} {}", flow.name, answer(flow.delay_seconds, time))
}

fn figure(flow: &FlowPrediction) -> KeyFigure {
    KeyFigure {
        name: flow.name.clone(),
        value: answer(flow.delay_seconds, time),
        interval: String::new(),
        note: match flow.carried_bits_per_second.value {
            Some(_) => format!(
                "mean delay, {} Mb/s carried{}",
                answer(flow.carried_bits_per_second, megabits),
                lost(flow)
            ),
            None => "more is offered than can be carried".to_owned(),
        },
    }
}

fn lost(flow: &FlowPrediction) -> String {
    let lost = 1.0 - flow.arriving_share;
    if lost < 5e-4 { String::new() } else { format!(", {} lost", percent(lost)) }
}

/// What limits the transfer, else the busiest medium.
fn limit(prediction: &Prediction) -> String {
    if let Some(asked) = &prediction.transfer {
        return transfer::limit(&asked.bulk);
    }
    let shares = prediction
        .segments
        .iter()
        .map(|segment| (&segment.name, segment.utilisation_data_and_collisions));
    let lines =
        prediction.segments.iter().flat_map(|segment| &segment.lines).chain(&prediction.links);
    let shares = shares.chain(lines.map(|line| (&line.name, line.utilisation)));
    let used = |share: &Answer| {
        share.value.unwrap_or(if share.is_saturated() { f64::INFINITY } else { 0.0 })
    };
    let busiest = shares.max_by(|a, b| used(&a.1).total_cmp(&used(&b.1)));
    let busiest = busiest.map(|(name, share)| used_share(name, share));
    busiest.unwrap_or_default()
}

/// How much of a medium is used; of a saturated one, how much is offered.
fn used_share(name: &str, share: Answer) -> String {
    match share.value {
        Some(value) if share.is_saturated() => {
            format!("{name}: {} of what it can carry is offered", percent(value))
        }
        None if share.is_saturated() => format!("{name}: more is offered than it can carry"),
        _ => format!("{name}, used {} of the time", answer(share, percent)),
    }
}

/// A text that holds for several places is shown once.
fn warnings(warnings: &[PredictionWarning]) -> Vec<crate::html::PageWarning> {
    let mut said: Vec<(&PredictionWarning, usize)> = Vec::new();
    for one in warnings {
        match said.iter_mut().find(|(first, _)| first.message == one.message) {
            Some((_, times)) => *times += 1,
            None => said.push((one, 1)),
        }
    }
    let place = |one: &PredictionWarning, times: usize| match times {
        1 => one.place.clone(),
        times => format!("{} and {} more", one.place, times - 1),
    };
    said.into_iter()
        .map(|(one, times)| page_warning(&place(one, times), &one.message, ""))
        .collect()
}
