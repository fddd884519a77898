//! What `hyperfine --export-json` writes: the times of commands. It says neither when they were
//! measured nor by which version.

use std::collections::BTreeMap;

use btu_contract::foreign::{ForeignQuantity, ForeignRun, ForeignUnit, MeasuredBy};
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

impl Measured {
    /// The times of repetitions that ended with code 0, or without one in the file: how long a command takes to fail is
    /// not how long it takes.
    fn counting(&self) -> Vec<f64> {
        let codes = self.exit_codes.0.iter().copied().chain(std::iter::repeat(Some(0)));
        let times = self.times.0.iter().copied().zip(codes);
        times.filter(|(_, code)| *code == Some(0)).map(|(time, _)| time).collect()
    }
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
    if let Some((field, one)) = measured.iter().find_map(below_zero) {
        return Err(format!("its `{field}` of `{}` is below 0", shown(&one.command)));
    }
    if measured.is_empty() {
        return Err("its `results` are empty: measure again".to_owned());
    }
    let named: Vec<(String, Measured)> = names(&measured).into_iter().zip(measured).collect();
    let quantities: Vec<ForeignQuantity> =
        named.iter().filter_map(|(name, one)| quantity(one, name)).collect();
    let all_failed =
        "every repetition of every command failed: repair the command, and measure again";
    let seconds: f64 = named.iter().flat_map(|(_, one)| &one.times.0).sum();
    let run = ForeignRun {
        program: "hyperfine".to_owned(),
        measured_by: MeasuredBy::Program,
        subject: subject(&named),
        answer: answer(&quantities),
        faults: quantities.is_empty().then(|| all_failed.to_owned()).into_iter().collect(),
        warnings: named.iter().filter_map(|(name, one)| failed(one, name)).collect(),
        quantities,
        courses: Vec::new(),
        remarks: Vec::new(),
    };
    Ok(Imported { run, began: None, duration: Some(Span::from_seconds_f64(seconds)) })
}

/// The first field with a time that nothing can have taken.
fn below_zero(measured: &Measured) -> Option<(&'static str, &Measured)> {
    let fields = [
        ("mean", measured.mean),
        ("stddev", measured.stddev.unwrap_or_default()),
        ("user", measured.user),
        ("system", measured.system),
        ("times", measured.times.0.iter().copied().fold(0.0, f64::min)),
    ];
    fields.into_iter().find(|(_, time)| *time < 0.0).map(|(field, _)| (field, measured))
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

/// The times that count; `None` where every repetition failed. hyperfine's own figures are of all repetitions.
fn quantity(measured: &Measured, name: &str) -> Option<ForeignQuantity> {
    let values = measured.counting();
    let own = if values.len() == measured.times.0.len() { figures(measured) } else { Vec::new() };
    let parameters = measured.parameters.0.iter();
    let parameters = parameters.map(|(name, value)| shown(&format!("{name} = {value}")));
    (!values.is_empty()).then(|| ForeignQuantity {
        name: format!("time of `{name}`"),
        unit: ForeignUnit::Seconds,
        values,
        note: shown(&own.into_iter().chain(parameters).collect::<Vec<_>>().join(", ")),
    })
}

/// What hyperfine says of the times.
fn figures(measured: &Measured) -> Vec<String> {
    let write = |seconds: f64| ForeignUnit::Seconds.write(seconds);
    let deviation = measured.stddev.map_or_else(String::new, |one| format!(" ± {}", write(one)));
    vec![
        format!("mean {}{deviation}", write(measured.mean)),
        format!("user {}", write(measured.user)),
        format!("system {}", write(measured.system)),
    ]
}

fn subject(named: &[(String, Measured)]) -> String {
    match named {
        [(name, _)] => name.clone(),
        named => format!("{} commands", named.len()),
    }
}

/// One command's time, or the fastest of several.
fn answer(all: &[ForeignQuantity]) -> String {
    let times = all.iter().filter_map(|quantity| Some((&quantity.name, quantity.typical()?)));
    let Some((name, median)) = times.min_by(|(_, one), (_, other)| one.total_cmp(other)) else {
        return "no command ended without an error".to_owned();
    };
    let shortest = if all.len() > 1 { ", the shortest" } else { "" };
    format!("{name} {}{shortest}", ForeignUnit::Seconds.write(median))
}

/// Repetitions that ended with an error are in the file if the user asked for that (`--ignore-failure`).
fn failed(measured: &Measured, name: &str) -> Option<String> {
    let (all, count) = (measured.times.0.len(), measured.counting().len());
    (count < all).then(|| {
        format!("`{name}` failed in {} of {all} repetitions, which do not count", all - count)
    })
}
