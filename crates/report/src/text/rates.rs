//! The table of rates.

use btu_stats::Estimate;
use btu_studies::rate::{RateRow, Rating};
use btu_suite::cell::{Component, Load};
use btu_units::Bytes;

use super::{MEGABIT, RateText, size_head};
use crate::number::{or_dash, percent, plus_minus};
use crate::sheet::Sheet;

/// Component and load down, message size across.
pub(super) fn lines(page: &RateText) -> Vec<String> {
    if page.verdict.rates.iter().all(|rate| rate.goodput_bits_per_second.is_none()) {
        return Vec::new();
    }
    let sizes = page.messages();
    let marks = if page.options.is_wide() { WIDE_MARKS } else { MARKS };
    let sizes_head = sizes.iter().map(|&size| format!("{}{}", size_head(size), " ".repeat(marks)));
    let head = [String::new(), String::new()].into_iter().chain(sizes_head);
    let mut sheet = Sheet::new(head.collect(), 2);
    for (component, load) in lines_of(page) {
        let name = if load == first_load(page) { component.to_string() } else { String::new() };
        let cells = sizes.iter().map(|&size| cell(page, find(page, component, size, load)));
        sheet.row([name, called(load)].into_iter().chain(cells).collect());
    }
    for (name, rating) in [("alone", idle as Choice), ("loaded", loaded as Choice)] {
        let label = if name == "alone" { page.together() } else { "" };
        let cells = (0..sizes.len()).map(|index| rated(page, rating(page, index)));
        sheet.row([label.to_owned(), name.to_owned()].into_iter().chain(cells).collect());
    }
    page.section("Goodput, Mb/s", &legend(page), sheet.lines())
}

/// Blanks behind a head, so that it is above the values and not above their marks or intervals.
const MARKS: usize = 2;
const WIDE_MARKS: usize = 6;

/// The meanings of the marks that occur.
fn legend(page: &RateText) -> String {
    let rates = &page.verdict.rates;
    let spread = page.options.is_wide().then(|| "± half the 95 % interval".to_owned());
    let low = rates.iter().any(|rate| rate.low_confidence && rate.repetitions > 0);
    let low = low.then(|| format!("? not known to ±{} %", percent(page.verdict.wanted_half_width)));
    let outliers =
        rates.iter().any(|rate| !rate.outliers.is_empty()).then(|| "* holds outliers".to_owned());
    [spread, low, outliers].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Components and loads in the order of the table.
fn lines_of(page: &RateText) -> Vec<(Component, Load)> {
    let mut lines: Vec<(Component, Load)> =
        page.verdict.rates.iter().map(|rate| (rate.component, rate.load)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn first_load(page: &RateText) -> Load {
    page.verdict.rates.iter().map(|rate| rate.load).min().unwrap_or(Load::Idle)
}

/// The name of the load under which a network activity runs.
pub(crate) fn called(load: Load) -> String {
    if load == Load::Idle { "alone".to_owned() } else { format!("+ {load}") }
}

fn find<'a>(
    page: &'a RateText,
    component: Component,
    message: Bytes,
    load: Load,
) -> Option<&'a RateRow> {
    page.verdict
        .rates
        .iter()
        .find(|rate| (rate.component, rate.message, rate.load) == (component, message, load))
}

fn cell(page: &RateText, rate: Option<&RateRow>) -> String {
    let goodput = rate.and_then(|rate| rate.goodput_bits_per_second);
    let low = rate.is_some_and(|rate| rate.low_confidence && rate.repetitions > 0);
    marked(page, goodput, low, rate.is_some_and(|rate| !rate.outliers.is_empty()))
}

/// Picks a rating of the message size with that index.
type Choice = for<'a> fn(&'a RateText, usize) -> Option<&'a Rating>;

fn idle<'a>(page: &'a RateText, size: usize) -> Option<&'a Rating> {
    page.verdict.per_size.get(size)?.idle.as_ref()
}

fn loaded<'a>(page: &'a RateText, size: usize) -> Option<&'a Rating> {
    page.verdict.per_size.get(size)?.rating.as_ref()
}

fn rated(page: &RateText, rating: Option<&Rating>) -> String {
    marked(
        page,
        rating.map(|rating| rating.btu_bits_per_second),
        rating.is_some_and(|rating| rating.low_confidence),
        false,
    )
}

/// The value in Mb/s, its interval if there is room, and its marks; the part behind the value has a
/// fixed width.
fn marked(page: &RateText, estimate: Option<Estimate>, low: bool, outliers: bool) -> String {
    let value = or_dash(estimate.map(|estimate| estimate.value / MEGABIT));
    let (low, outliers) = (if low { '?' } else { ' ' }, if outliers { '*' } else { ' ' });
    if page.options.is_wide() {
        format!("{value} {:>5}{low}{outliers}", plus_minus(estimate.as_ref()))
    } else {
        format!("{value}{low}{outliers}")
    }
}
