//! Flent's data files (version 4 of its format, and earlier ones as far as they have the same
//! fields): series over time on a common grid.

mod document;
mod series;

use btu_contract::foreign::{ForeignRun, MeasuredBy};
use btu_units::Span;

use self::document::{FlentDocument, Metadata};
use self::series::{Series, series};
use super::parse::{document, shown};
use super::{Began, Imported};

/// Reads a data file of Flent.
///
/// # Errors
/// A sentence that names the field that is wrong or missing.
pub fn read(text: &str) -> Result<Imported, String> {
    let document: FlentDocument = document(text)?;
    check(&document)?;
    let metadata = &document.metadata;
    let mut series: Vec<Series<'_>> = document
        .results
        .0
        .iter()
        .filter_map(|(name, values)| series(&document, name, values))
        .collect();
    series.sort_by_key(|one| one.place);
    let run = ForeignRun {
        program: program(metadata),
        measured_by: MeasuredBy::Program,
        subject: subject(metadata),
        answer: answer(&series),
        quantities: series.iter().map(Series::quantity).collect(),
        courses: series.iter().map(|one| one.course(&document.x_values.0)).collect(),
        remarks: remarks(&document, &series),
        warnings: Vec::new(),
        faults: faults(metadata, &series),
    };
    let began = metadata.time.clone().map(|text| Began::Written { text, first: first(&document) });
    Ok(Imported { run, began, duration: metadata.total_length.map(Span::from_seconds_f64) })
}

/// Each series lies on the common grid.
fn check(document: &FlentDocument) -> Result<(), String> {
    let grid = document.x_values.0.len();
    if !document.x_values.0.is_sorted() {
        return Err("its `x_values` do not ascend".to_owned());
    }
    let odd = document.results.0.iter().find(|(_, values)| values.0.len() != grid);
    odd.map_or(Ok(()), |(name, values)| {
        let name = shown(name);
        let found = values.0.len();
        Err(format!("its `results` of `{name}` have {found} values for {grid} of its `x_values`"))
    })
}

/// When the first value was printed, in seconds since 1970.
fn first(document: &FlentDocument) -> Option<f64> {
    let raw = document.raw_values.0.values().flat_map(|raw| &raw.0);
    raw.filter_map(|one| one.t.as_ref()?.number()).reduce(f64::min)
}

fn program(metadata: &Metadata) -> String {
    shown(&format!("Flent {}", metadata.flent_version.as_deref().unwrap_or_default()))
}

/// `tcp_upload to server`.
fn subject(metadata: &Metadata) -> String {
    let host = metadata.host.as_ref().map(|host| format!(" to {host}"));
    shown(&format!("{}{}", metadata.name, host.unwrap_or_default()))
}

/// The first few results.
fn answer(series: &[Series<'_>]) -> String {
    let known = series.iter().filter(|one| one.place < 3);
    let known = known.map(|one| {
        let other =
            one.other_mean().map(|mean| format!(" (mean over time {})", one.unit.write(mean)));
        let mean = one.unit.write(one.mean());
        format!("{} {mean}{}", one.name, other.unwrap_or_default())
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { format!("{} series", series.len()) } else { known.join(", ") }
}

fn remarks(document: &FlentDocument, series: &[Series<'_>]) -> Vec<String> {
    let metadata = &document.metadata;
    let given = |what: &str, text: &Option<String>| {
        let text = text.as_ref().filter(|text| !text.trim().is_empty())?;
        Some(format!("{what}: {}.", shown(text)))
    };
    let left: Vec<String> = document
        .results
        .0
        .keys()
        .filter(|name| series.iter().all(|one| one.flent != name.as_str()))
        .map(|name| shown(name))
        .collect();
    let left = (!left.is_empty()).then(|| {
        format!("Left out, without values or in another unit: {}.", shown(&left.join(", ")))
    });
    // With values the zone is known by their times.
    let is_local = metadata.time.as_ref().is_some_and(|time| !time.ends_with('Z'));
    let zone = (is_local && first(document).is_none())
        .then(|| "Its time zone is unknown; times are shown in UTC.".to_owned());
    let words = [given("Title", &metadata.title), given("Note", &metadata.note), left, zone];
    words.into_iter().flatten().collect()
}

/// Flent goes on when one of its programs fails, and writes how many did.
fn faults(metadata: &Metadata, series: &[Series<'_>]) -> Vec<String> {
    let failed = metadata.failed_runners.filter(|count| *count > 0.0);
    let failed = failed.map(|count| format!("{count} of the programs that Flent started failed"));
    let empty = series.is_empty().then(|| "none of its series has a value".to_owned());
    failed.into_iter().chain(empty).collect()
}
