//! A row compared with the baseline, in words.

use btu_stats::Estimate;
use btu_studies::compare::Finding;
use btu_studies::run::{Better, Factor, RowVerdict, RunPlan, ValueVerdict};

use crate::number::percent_at_most;
use crate::versus::{
    Directions, FASTER, HIGHER, Sides, largest_possible, times, undecided, verdict,
};

/// Factors whose levels are names that sentences can begin with.
const NAMES: [&str; 3] = ["variant", "network", "congestion_control"];

/// The sides of a comparison of two rows; with the value's name if there are several values.
pub(super) fn sides(plan: &RunPlan, value: &ValueVerdict, is_one_of_several: bool) -> Sides {
    let levels = |row: usize| value.rows.get(row).map_or(&[][..], |row| &row.cell.levels);
    let (base, other) = (levels(0), levels(1));
    // The factor in which they differ; all others have one level.
    let differing = (0..plan.factors.len()).find(|place| base.get(*place) != other.get(*place));
    let Some((place, factor)) = differing.and_then(|place| Some((place, plan.factors.get(place)?)))
    else {
        return Sides::named("the baseline", &value.name);
    };
    let level = |levels: &[usize]| {
        let level = levels.get(place).and_then(|level| factor.levels.get(*level));
        level.map_or("?", String::as_str).to_owned()
    };
    let [base, other] = [level(base), level(other)];
    if NAMES.contains(&factor.name.as_str()) && !is_one_of_several && is_speed(value) {
        return Sides::named(&base, &other);
    }
    let [base, other] = [base, other].map(|level| with(factor, &level));
    Sides {
        subject: format!("{} {other}", value.name),
        both: format!("{} {base} and {other}", value.name),
        object: base,
    }
}

/// A level as it follows the name of a value.
fn with(factor: &Factor, level: &str) -> String {
    match (factor.name.as_str(), level) {
        ("load", "none") => "alone".to_owned(),
        ("load", _) => format!("under {level}"),
        (name, _) if NAMES.contains(&name) => format!("with {level}"),
        _ => format!("with {}={level}", factor.short_name()),
    }
}

/// Whether a value is a time or a rate, whose difference is one of speed.
fn is_speed(value: &ValueVerdict) -> bool {
    match value.better {
        Better::Lower => value.unit == "s",
        Better::Higher => value.unit.ends_with("/s"),
    }
}

/// A row's ratio to the baseline, and the words for it.
fn ratio(value: &ValueVerdict, row: &RowVerdict) -> Option<(Estimate, Directions)> {
    if is_speed(value) {
        Some((row.speed()?, FASTER))
    } else {
        Some((row.ratio(value.better)?, HIGHER))
    }
}

/// What was found of a row, in a sentence.
pub(super) fn of_row(sides: &Sides, value: &ValueVerdict, row: &RowVerdict) -> String {
    let found = ratio(value, row).zip(row.finding);
    found.map_or_else(String::new, |((ratio, directions), finding)| {
        verdict(sides, &ratio, directions, finding)
    })
}

/// What was found of several rows: the largest difference that was found, else the largest that is
/// still possible.
pub(super) fn of_many(value: &ValueVerdict) -> String {
    let differ = value.rows.iter().filter(|row| row.finding.is_some_and(Finding::is_difference));
    let Some(row) = most_different(differ).or_else(|| most_different(value.rows.iter())) else {
        return String::new();
    };
    let Some((ratio, directions)) = ratio(value, row) else { return String::new() };
    let difference = format!("{} with {}", times(&ratio, directions), row.cell);
    let all = || value.rows.iter().filter_map(|row| Some((row.speed()?, row.finding?)));
    match largest_possible(all()) {
        _ if row.finding.is_some_and(Finding::is_difference) => difference,
        Some(most) => {
            let said = undecided(all().map(|(_, finding)| finding));
            format!("{said} with the others, at most {} %", percent_at_most(most))
        }
        None => format!("{difference}: cannot tell yet"),
    }
}

/// The row that differs most from the baseline, certain or not.
pub(super) fn most_different<'a>(
    rows: impl Iterator<Item = &'a RowVerdict>,
) -> Option<&'a RowVerdict> {
    let difference = |row: &RowVerdict| row.slowdown.map_or(0.0, |times| times.value.ln().abs());
    let compared = rows.filter(|row| row.slowdown.is_some());
    compared.max_by(|one, other| difference(one).total_cmp(&difference(other)))
}

/// A row's ratio to the baseline: `2.50 times faster`.
pub(crate) fn in_times(value: &ValueVerdict, row: &RowVerdict) -> Option<String> {
    let (ratio, directions) = ratio(value, row)?;
    Some(times(&Estimate { interval: None, ..ratio }, directions))
}

/// What was found of a row, for a column: `2.50 times faster`, `cannot tell`.
pub(super) fn in_words(value: &ValueVerdict, row: &RowVerdict) -> String {
    let Some(finding) = row.finding else { return String::new() };
    let times = in_times(value, row).filter(|_| finding.is_difference());
    times.unwrap_or_else(|| finding.name().to_owned())
}
