//! The first screen of a rating: what each load leaves, and whether the network or the machine
//! limits that.

use btu_contract::load::Load;
use btu_stats::{Estimate, arithmetic_mean};
use btu_studies::rate::{Cause, ExpectedRow, LoadSlowdown};

use super::{RunReport, added_time, called, verified};
use crate::number::{count, ends, percent, three_digits};
use crate::summary::{KeyFigure, Next, Summary};
use crate::unit::{rate_with_ends, time, time_unit};
use crate::versus::first_of;

/// A nanosecond in seconds.
const NANO: f64 = 1e-9;

/// From this share of what the network file carries on, the network is what limits.
const NEARLY_ALL: f64 = 0.9;

pub(super) fn summary(report: &RunReport) -> Summary {
    let figures = match report.verdict.rating {
        Some(_) => of_loads(report)
            .into_iter()
            .chain(verified::figures(report.verdict))
            .chain(of_machine(report))
            .collect(),
        None => unrated(report).collect(),
    };
    let mut summary =
        Summary { addition: alone(report), ..report.stored.summary(figures, limit(report)) };
    let id = &report.stored.run.id;
    let is_unfinished = report
        .verdict
        .warnings
        .iter()
        .any(|warning| matches!(warning.cause, Cause::NotMeasured(_)));
    if is_unfinished {
        summary
            .next
            .insert(1, Next::new(format!("btu rate --resume {id}"), "measure what is missing"));
    }
    summary
}

/// The rating without load.
fn alone(report: &RunReport) -> String {
    let idle = report.verdict.idle.as_ref().map(|idle| &idle.btu_bits_per_second);
    let is_loaded = report.verdict.per_load.iter().any(|of| of.load != Load::Idle);
    idle.filter(|_| is_loaded).map_or_else(String::new, |rating| {
        let (rate, ends) = rate_with_ends(rating);
        format!("; alone {rate}{}", ends.map_or_else(String::new, |ends| format!(" ({ends})")))
    })
}

/// The rating under each load, and the slowdown of network activities under it.
fn of_loads(report: &RunReport) -> Vec<KeyFigure> {
    let slowdown =
        |load: Load| report.verdict.penalties.by_load.iter().find(|of| of.load == load)?.network;
    let loaded = report.verdict.per_load.iter().filter(|of| of.load != Load::Idle);
    let of_load = loaded.filter_map(|of| {
        let rating = &of.rating.as_ref()?.btu_bits_per_second;
        let most = added_time::most(report.verdict, of.load);
        let most = most.map_or_else(String::new, |most| format!(", {most}"));
        let note = slowdown(of.load)
            .map(|slowdown| format!("{} times as long{most}", three_digits(slowdown.value)));
        Some(figure(&called(of.load), rating, note.unwrap_or_default()))
    });
    of_load.collect()
}

/// The spread of this machine from run to run, if earlier runs of the plan are stored.
fn of_machine(report: &RunReport) -> Option<KeyFigure> {
    let earlier = report.stored.earlier.as_ref()?;
    let note = format!("this machine's mean over {} of this plan", count(earlier.runs, "run"));
    Some(figure("all runs", &earlier.btu_bits_per_second, note))
}

/// What was measured without a rating: the network activities without load, and those outside the
/// rating.
fn unrated(report: &RunReport) -> impl Iterator<Item = KeyFigure> {
    let verdict = report.verdict;
    let idle = verdict.idle.iter().map(|rating| {
        figure("alone", &rating.btu_bits_per_second, "what is rated, without load".to_owned())
    });
    let answered = verdict.interactive.iter().filter_map(|row| {
        let median = row.p50_ns.as_ref()?.scaled(NANO);
        Some(KeyFigure {
            name: format!("{} {}", row.component, called(row.load)),
            value: time(median.value),
            interval: ends(&median, time_unit(median.value).worth).unwrap_or_default(),
            note: "median round trip".to_owned(),
        })
    });
    let arrived = verdict.udp.iter().filter_map(|row| {
        let lost = row.lost.as_ref().map(|lost| format!("{} % lost", percent(lost.share)));
        let name = format!("UDP {}", called(row.load));
        Some(figure(&name, row.goodput_bits_per_second.as_ref()?, lost.unwrap_or_default()))
    });
    idle.chain(answered).chain(arrived)
}

fn figure(name: &str, rating: &Estimate, note: String) -> KeyFigure {
    let (value, ends) = rate_with_ends(rating);
    KeyFigure { name: name.to_owned(), value, interval: ends.unwrap_or_default(), note }
}

fn limit(report: &RunReport) -> String {
    if let Some(share) =
        share_of_network(&report.verdict.expected).filter(|share| *share >= NEARLY_ALL)
    {
        return format!("the network: {} % of what its file carries", percent(share));
    }
    let busy: Vec<f64> = report.verdict.cpu.iter().map(|row| row.machine_busy).collect();
    arithmetic_mean(&busy).map_or_else(String::new, |busy| {
        format!("the machine, {} % busy{}", percent(busy), by_load(report))
    })
}

/// The load that slows network activities most, if they are slower under one beyond chance and its
/// interval lies apart from the others'.
fn by_load(report: &RunReport) -> String {
    let times = |of: &LoadSlowdown| Some((of.load.to_string(), of.network?));
    let loads = report.verdict.penalties.by_load.iter();
    let mut loads: Vec<(String, Estimate)> = loads.filter_map(times).collect();
    loads.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    let is_slower = |times: &Estimate| times.interval.is_some_and(|ends| ends.low > 1.0);
    if !loads.first().is_some_and(|(_, times)| is_slower(times)) {
        return String::new();
    }
    let said = first_of(&loads, |load, times| {
        format!("most by {load}, {} times the time", three_digits(times.value))
    });
    format!("; {said}")
}

/// The mean share of the closed form's goodput that was reached without load.
fn share_of_network(expected: &[ExpectedRow]) -> Option<f64> {
    let share =
        |row: &ExpectedRow| Some(row.measured_bits_per_second? / row.closed_form_bits_per_second?);
    arithmetic_mean(&expected.iter().filter_map(share).collect::<Vec<_>>())
}
