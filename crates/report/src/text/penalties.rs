//! The time that each activity loses because the others run.

use btu_stats::Estimate;
use btu_studies::rate::{Penalty, Side};
use btu_suite::cell::{Component, Load};
use btu_units::Bytes;

use super::{RateText, size_head};
use crate::number::{NOTHING, or_dash, plus_minus, three_digits};
use crate::sheet::Sheet;

/// The host loads of the run.
fn loads(page: &RateText) -> Vec<Load> {
    page.verdict.penalties.by_load.iter().map(|of| of.load).collect()
}

/// By component: each network activity under each host activity, and the other way round.
pub(super) fn slowdowns(page: &RateText) -> Vec<String> {
    let loads = loads(page);
    if page.verdict.penalties.by_load.iter().all(|of| of.network.is_none() && of.host.is_none()) {
        return Vec::new();
    }
    let network = loads.iter().map(|load| format!("network\n+ {load}"));
    let host = loads.iter().map(|load| format!("{load}\n+ network"));
    let mut sheet =
        Sheet::new(std::iter::once(String::new()).chain(network).chain(host).collect(), 1);
    for component in components(page) {
        let of = |load: &Load| {
            page.verdict
                .penalties
                .by_component
                .iter()
                .find(|one| (one.component, one.load) == (component, *load))
        };
        let network = loads.iter().map(|load| slowdown(page, of(load).and_then(|one| one.network)));
        let host = loads.iter().map(|load| slowdown(page, of(load).and_then(|one| one.host)));
        sheet.row(std::iter::once(component.to_string()).chain(network).chain(host).collect());
    }
    let all = &page.verdict.penalties.by_load;
    let network = all.iter().map(|one| slowdown(page, one.network));
    let host = all.iter().map(|one| slowdown(page, one.host));
    sheet.row(std::iter::once(page.together().to_owned()).chain(network).chain(host).collect());
    if !page.options.is_wide() {
        let spread = |estimate: Option<Estimate>| plus_minus(estimate.as_ref());
        let spreads =
            all.iter().map(|one| spread(one.network)).chain(all.iter().map(|one| spread(one.host)));
        sheet.row(std::iter::once(String::new()).chain(spreads).collect());
    }
    let note = "time together over time alone: 1.00 loses nothing, 2.00 takes twice as long";
    page.section("Slowdown", note, sheet.lines())
}

fn components(page: &RateText) -> Vec<Component> {
    let mut components: Vec<Component> =
        page.verdict.penalties.by_component.iter().map(|one| one.component).collect();
    components.dedup();
    components
}

fn slowdown(page: &RateText, estimate: Option<Estimate>) -> String {
    let Some(estimate) = estimate else { return NOTHING.to_owned() };
    let value = three_digits(estimate.value);
    if page.options.is_wide() {
        format!("{value} {:>5}", plus_minus(Some(&estimate)))
    } else {
        value
    }
}

/// By message size: Table 2 of the paper.
pub(super) fn seconds(page: &RateText) -> Vec<String> {
    let penalties = &page.verdict.penalties;
    if penalties.table.iter().all(|penalty| penalty.network.is_none() && penalty.host.is_none()) {
        return Vec::new();
    }
    let unit = TimeUnit::for_table(page);
    let sizes = page.messages();
    let head =
        [String::new(), String::new()].into_iter().chain(sizes.iter().map(|&size| size_head(size)));
    let mut sheet = Sheet::new(head.collect(), 2);
    for load in loads(page) {
        let cells = sizes
            .iter()
            .map(|&size| cell(page, &unit, find(page, size, load).and_then(|one| one.network)));
        sheet.row(["network".to_owned(), format!("+ {load}")].into_iter().chain(cells).collect());
    }
    for load in loads(page) {
        let cells = sizes
            .iter()
            .map(|&size| cell(page, &unit, find(page, size, load).and_then(|one| one.host)));
        sheet.row([load.to_string(), "+ network".to_owned()].into_iter().chain(cells).collect());
    }
    totals(page, &unit, &mut sheet);
    let note = if page.options.is_wide() {
        "together minus alone, mean over components, only losses counted (net value in brackets)"
    } else {
        "together minus alone, mean over components, only losses counted"
    };
    page.section(&format!("Penalty, {}", unit.name), note, sheet.lines())
}

/// The sums of the columns.
fn totals(page: &RateText, unit: &TimeUnit, sheet: &mut Sheet) {
    let totals = &page.verdict.penalties.totals;
    let sums: Vec<Option<(f64, f64)>> = page
        .messages()
        .iter()
        .map(|&size| totals.iter().find(|total| total.message == size))
        .map(|total| total.map(|total| (total.clipped_seconds, total.signed_seconds)))
        .collect();
    let cells = sums.iter().map(|sum| both(page, unit, *sum));
    sheet.row(["total".to_owned(), String::new()].into_iter().chain(cells).collect());
    if !page.options.is_wide() {
        let signed = sums.iter().map(|sum| unit.text(sum.map(|(_, signed)| signed)));
        sheet.row([String::new(), "signed".to_owned()].into_iter().chain(signed).collect());
    }
}

fn find<'a>(page: &'a RateText, message: Bytes, load: Load) -> Option<&'a Penalty> {
    page.verdict
        .penalties
        .table
        .iter()
        .find(|penalty| (penalty.message, penalty.load) == (message, load))
}

fn cell(page: &RateText, unit: &TimeUnit, side: Option<Side>) -> String {
    both(page, unit, side.map(|side| (side.clipped_seconds, side.signed_seconds)))
}

/// The clipped penalty and, if there is room and it differs, the signed one in parentheses.
fn both(page: &RateText, unit: &TimeUnit, seconds: Option<(f64, f64)>) -> String {
    let clipped = unit.text(seconds.map(|(clipped, _)| clipped));
    if !page.options.is_wide() {
        return clipped;
    }
    let signed = unit.text(seconds.map(|(_, signed)| signed));
    let signed = if signed == clipped { String::new() } else { format!("({signed})") };
    format!("{clipped} {signed:>7}")
}

/// Seconds, or milliseconds if all values are short.
struct TimeUnit {
    name: &'static str,
    per_second: f64,
}

impl TimeUnit {
    fn for_table(page: &RateText) -> Self {
        let table = &page.verdict.penalties.table;
        let sides = table.iter().flat_map(|penalty| [penalty.network, penalty.host]).flatten();
        let longest = sides.map(|side| side.loaded_seconds).fold(0.0, f64::max);
        if longest < 1.0 {
            Self { name: "ms", per_second: 1e3 }
        } else {
            Self { name: "s", per_second: 1.0 }
        }
    }

    fn text(&self, seconds: Option<f64>) -> String {
        or_dash(seconds.map(|seconds| seconds * self.per_second))
    }
}
