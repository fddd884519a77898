//! What `hyperfine --export-json` writes: the times of commands. It says neither when they were
//! measured nor by which version.

use std::collections::BTreeMap;

use btu_suite::foreign::{ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
use btu_units::Span;
use serde::Deserialize;

use super::Imported;
use super::parse::{BoundedList, BoundedMap, document, shown};

#[derive(Deserialize)]
struct HyperfineDocument {
    results: BoundedList<Measured>,
}

/// A command and its runs.
#[derive(Deserialize)]
struct Measured {
    command: String,
    /// Seconds, as all times here.
    mean: f64,
    stddev: Option<f64>,
    user: f64,
    system: f64,
    times: BoundedList<f64>,
    #[serde(default)]
    exit_codes: BoundedList<Option<i64>>,
    #[serde(default)]
    parameters: BoundedMap<String>,
}

/// Reads hyperfine's results.
///
/// # Errors
/// A sentence that names the field that is wrong or missing.
pub fn read(text: &str) -> Result<Imported, String> {
    let BoundedList(measured) = document::<HyperfineDocument>(text)?.results;
    if let Some(empty) = measured.iter().find(|one| one.times.0.is_empty()) {
        return Err(format!("its `times` of `{}` are empty", shown(&empty.command)));
    }
    let names = names(&measured);
    let quantities: Vec<ForeignQuantity> =
        measured.iter().zip(&names).map(|(one, name)| quantity(one, name)).collect();
    let first = quantities.first().ok_or("its `results` are empty: measure again")?;
    let seconds: f64 = measured.iter().flat_map(|one| &one.times.0).sum();
    let run = ForeignRun {
        program: "hyperfine".to_owned(),
        measured_by: MeasuredBy::Program,
        subject: subject(&names),
        answer: answer(first, &quantities),
        remarks: measured.iter().zip(&names).filter_map(|(one, name)| failed(one, name)).collect(),
        quantities,
        courses: Vec::new(),
        faults: Vec::new(),
    };
    Ok(Imported { run, began: None, duration: Some(Span::from_seconds_f64(seconds)) })
}

/// The commands; one that occurs again is numbered, because results are known by their names.
fn names(measured: &[Measured]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |one: &Measured| {
        let name = shown(&one.command);
        let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name} ({count})") }
    };
    measured.iter().map(name).collect()
}

fn quantity(measured: &Measured, name: &str) -> ForeignQuantity {
    let deviation = measured.stddev.map(|one| format!(" ± {}", ForeignUnit::Seconds.write(one)));
    let own = [
        format!(
            "mean {}{}",
            ForeignUnit::Seconds.write(measured.mean),
            deviation.unwrap_or_default()
        ),
        format!("user {}", ForeignUnit::Seconds.write(measured.user)),
        format!("system {}", ForeignUnit::Seconds.write(measured.system)),
    ];
    let parameters = measured.parameters.0.iter();
    let parameters = parameters.map(|(name, value)| shown(&format!("{name} = {value}")));
    ForeignQuantity {
        name: format!("time of `{name}`"),
        unit: ForeignUnit::Seconds,
        values: measured.times.0.clone(),
        note: shown(&own.into_iter().chain(parameters).collect::<Vec<_>>().join(", ")),
    }
}

fn subject(names: &[String]) -> String {
    match names {
        [name] => name.clone(),
        names => format!("{} commands", names.len()),
    }
}

/// One command's time, or the fastest of several.
fn answer(first: &ForeignQuantity, all: &[ForeignQuantity]) -> String {
    let median = |quantity: &ForeignQuantity| quantity.typical().unwrap_or(f64::INFINITY);
    let fastest = all.iter().min_by(|a, b| median(a).total_cmp(&median(b))).unwrap_or(first);
    let shortest = if all.len() > 1 { ", the shortest" } else { "" };
    format!("{} {}{shortest}", fastest.name, ForeignUnit::Seconds.write(median(fastest)))
}

/// Runs that ended with an error count, because the user asked for that (`--ignore-failure`).
fn failed(measured: &Measured, name: &str) -> Option<String> {
    let codes = &measured.exit_codes.0;
    let failed = codes.iter().filter(|code| **code != Some(0)).count();
    let all = codes.len();
    (failed > 0).then(|| format!("`{name}` failed in {failed} of {all} repetitions, which count."))
}
