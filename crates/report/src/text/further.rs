//! The rows outside the rating.

use btu_stats::Proportion;
use btu_studies::rate::{InteractiveRow, UdpRow};
use btu_suite::cell::Component;

use super::rates::called;
use super::{MEGABIT, RateText};
use crate::number::{NOTHING, or_dash, plus_minus};
use crate::sheet::Sheet;
use crate::unit::{Unit, time_unit};

/// A nanosecond in seconds.
const NANO: f64 = 1e-9;

/// The lines about request and response.
pub(super) fn interactive(page: &RateText) -> Vec<String> {
    let Some(first) = page.verdict.interactive.first() else { return Vec::new() };
    let head = ["", "", "answers/s", "p50", "", "p90", "p99", "p99.9", "max", "n", "lost"]
        .map(str::to_owned);
    let mut sheet = Sheet::new(head.to_vec(), 2);
    let medians = page.verdict.interactive.iter().filter_map(|row| row.round_trip);
    let least = medians.map(|one| one.p50_ns as f64 * NANO).fold(f64::INFINITY, f64::min);
    let unit = time_unit(if least.is_finite() { least } else { 0.0 });
    let mut before = None;
    for row in &page.verdict.interactive {
        let name = if before == Some(row.component) { "" } else { transport(row.component) };
        before = Some(row.component);
        sheet.row(interactive_row(name, row, unit));
    }
    let title =
        format!("Request and response, {} B, round trip in {}", first.message.count(), unit.name);
    page.section(&title, "one user who waits for each answer", sheet.lines())
}

fn transport(component: Component) -> &'static str {
    if component == Component::InteractiveTcp { "TCP" } else { "UDP" }
}

fn interactive_row(name: &str, row: &InteractiveRow, unit: Unit) -> Vec<String> {
    let time = |ns: Option<u64>| or_dash(ns.map(|ns| ns as f64 * NANO / unit.worth));
    let quantiles = row.round_trip;
    vec![
        name.to_owned(),
        called(row.load),
        or_dash(row.answers_per_second.map(|rate| rate.value)),
        time(quantiles.map(|one| one.p50_ns)),
        plus_minus(row.p50_ns.as_ref()),
        time(quantiles.and_then(|one| one.p90_ns)),
        time(quantiles.and_then(|one| one.p99_ns)),
        time(quantiles.and_then(|one| one.p999_ns)),
        time(quantiles.map(|one| one.max_ns)),
        quantiles.map_or(0, |one| one.count).to_string(),
        row.lost.map_or_else(|| NOTHING.to_owned(), |lost| lost.events.to_string()),
    ]
}

/// The lines about the paced stream.
pub(super) fn udp(page: &RateText) -> Vec<String> {
    let Some(first) = page.verdict.udp.first() else { return Vec::new() };
    let head = ["", "sent", "Mb/s", "", "lost %", "95 %", "drops", "copies", "reordered"];
    let mut sheet = Sheet::new(head.map(str::to_owned).to_vec(), 1);
    for row in &page.verdict.udp {
        sheet.row(udp_row(row));
    }
    let title = format!("UDP, {} B datagrams, {} offered", first.message.count(), first.offered);
    page.section(
        &title,
        "really sent, and received; drops: the socket buffer was full",
        sheet.lines(),
    )
}

fn udp_row(row: &UdpRow) -> Vec<String> {
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let interval = |lost: Proportion| {
        format!("{} .. {}", percent(lost.interval.low), percent(lost.interval.high))
    };
    vec![
        called(row.load),
        or_dash(row.sent_bits_per_second.map(|rate| rate.value / MEGABIT)),
        or_dash(row.goodput_bits_per_second.map(|rate| rate.value / MEGABIT)),
        plus_minus(row.goodput_bits_per_second.as_ref()),
        row.lost.map_or_else(|| NOTHING.to_owned(), |lost| percent(lost.share)),
        row.lost.map_or_else(|| NOTHING.to_owned(), interval),
        row.buffer_drops.to_string(),
        row.duplicates.to_string(),
        row.reordered.to_string(),
    ]
}
