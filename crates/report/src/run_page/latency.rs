//! Request and response, and the paced stream: whole distributions, from the stored histograms.

use btu_contract::load::Load;
use btu_contract::record::Outcome;
use btu_stats::Histogram;
use btu_studies::rate::{Component, InteractiveRow, Row, UdpRow};

use super::{MEGABIT, RunReport, called, loads, role, row};
use crate::html::{Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Section, Series, Table};

/// Steps of a curve for each factor of ten: finer than the eye, and the file stays small.
const STEPS_PER_DECADE: f64 = 60.0;

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let interactive =
        (!report.verdict.interactive.is_empty()).then(|| Block::Figure(figure(report)));
    let udp = (!report.verdict.udp.is_empty()).then(|| Block::Table(udp(&report.verdict.udp)));
    let note = "One user who waits for each answer before the next request: how many answers took longer than a time. The \
                lower and the further left, the better. n is the number of answers that percentiles are of; one that n does not \
                allow is left out.";
    Section::of("Response times", note, interactive.into_iter().chain(udp).collect())
}

fn figure(report: &RunReport) -> Figure {
    let transports = [(Component::InteractiveTcp, "TCP"), (Component::InteractiveUdp, "UDP")];
    let measured =
        |component| report.verdict.interactive.iter().any(|row| row.component == component);
    let panels = transports.into_iter().filter(|(component, _)| measured(*component)).map(
        |(component, name)| Panel {
            title: name.to_owned(),
            x: Axis::logarithmic("round trip, us"),
            y: Axis::logarithmic("share of answers that took longer"),
            series: loads(report)
                .into_iter()
                .filter_map(|load| curve(report, component, load))
                .collect(),
        },
    );
    Figure {
        name: "response-times".to_owned(),
        title: "Request and response: distribution of round-trip times".to_owned(),
        panels: panels.collect(),
        layout: Layout::SideBySide,
        table: table(&report.verdict.interactive),
    }
}

fn curve(report: &RunReport, component: Component, load: Load) -> Option<Series> {
    let of_row = |row: Row| matches!(row, Row::Network { component: c, load: l, .. } if (c, l) == (component, load));
    let mut all = Histogram::new();
    for cell in report.cells.iter().filter(|cell| cell.is_valid() && of_row(cell.row)) {
        for outcome in cell
            .reports
            .iter()
            .filter_map(|placed| placed.result.as_ref().ok())
            .map(|one| &one.outcome)
        {
            if let Outcome::Requested(requested) = outcome {
                all.merge(&requested.round_trip);
            }
        }
    }
    let points = tail(&all);
    let name = if load == Load::Idle { "alone".to_owned() } else { format!("under {load}") };
    (!points.is_empty()).then(|| Series { name, role: role(load), mark: Drawn::Line, points })
}

/// (microseconds, share of values above), thinned to steps of a few per cent.
fn tail(histogram: &Histogram) -> Vec<Point> {
    let count = histogram.count() as f64;
    let mut seen = 0;
    let mut points: Vec<Point> = Vec::new();
    let mut step = f64::NEG_INFINITY;
    for (nanoseconds, values) in histogram.buckets() {
        seen += values;
        let us = nanoseconds as f64 / 1e3;
        let point = Point::new(us, 1.0 - seen as f64 / count);
        let this_step = (us.log10() * STEPS_PER_DECADE).floor();
        // The share above the last value is zero, which has no place on a logarithmic axis.
        if point.y <= 0.5 / count {
            break;
        }
        if this_step > step {
            points.push(point);
            step = this_step;
        } else if let Some(last) = points.last_mut() {
            *last = point;
        }
    }
    points
}

fn table(rows: &[InteractiveRow]) -> Table {
    let head = [
        "",
        "",
        "answers/s",
        "p50, us",
        "p90, us",
        "p99, us",
        "p99.9, us",
        "max, us",
        "n",
        "requests",
        "lost",
    ];
    let mut table = Table::new("Request and response, round trip", &head, 2);
    for one in rows {
        let us = |ns: Option<u64>| Cell::number(ns.map(|ns| ns as f64 / 1e3));
        let all = one.round_trip;
        let cells = [
            Cell::estimate(one.answers_per_second.as_ref(), 1.0),
            Cell::estimate(one.p50_ns.as_ref(), 1e3),
            us(all.and_then(|all| all.p90_ns)),
            us(all.and_then(|all| all.p99_ns)),
            us(all.and_then(|all| all.p999_ns)),
            us(all.map(|all| all.max_ns)),
            all.map_or(Cell::Nothing, |all| Cell::count(all.count)),
            Cell::count(one.requests),
            one.lost.map_or(Cell::Nothing, |lost| Cell::count(lost.events)),
        ];
        let transport = if one.component == Component::InteractiveTcp { "TCP" } else { "UDP" };
        table.rows.push(row(&[transport, &called(one.load)], cells));
    }
    table
}

fn udp(rows: &[UdpRow]) -> Table {
    let offered = rows.first().map_or_else(String::new, |row| format!(", {} offered", row.offered));
    let head = [
        "",
        "sent, Mb/s",
        "Mb/s",
        "lost, %",
        "socket drops",
        "duplicates",
        "reordered",
        "late leaving p99, us",
        "n",
    ];
    let mut table = Table::new(&format!("A paced UDP stream{offered}"), &head, 1);
    for one in rows {
        let lost = one.lost.map(|lost| {
            (lost.share * 100.0, (lost.interval.low * 100.0, lost.interval.high * 100.0))
        });
        let cells = [
            Cell::estimate(one.sent_bits_per_second.as_ref(), MEGABIT),
            Cell::estimate(one.goodput_bits_per_second.as_ref(), MEGABIT),
            lost.map_or(Cell::Nothing, |(value, interval)| Cell::Number {
                value,
                shown: format!("{value:.2}"),
                interval: Some(interval),
            }),
            Cell::count(one.buffer_drops),
            Cell::count(one.duplicates),
            Cell::count(one.reordered),
            Cell::number(one.send_lateness_p99_ns.map(|ns| ns as f64 / 1e3)),
            Cell::count(one.datagrams),
        ];
        table.rows.push(row(&[&called(one.load)], cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_the_share_above_each_value_and_ends_before_nothing_is_left() {
        let mut histogram = Histogram::new();
        for us in 1..=1000u64 {
            histogram.record(us * 1000);
        }
        let points = tail(&histogram);
        assert!(points.len() < 3 * 61, "{}", points.len());
        for pair in points.windows(2) {
            assert!(pair[0].x < pair[1].x && pair[0].y > pair[1].y);
        }
        // Histograms have three digits: of 1000 equidistant values a share is right to a few
        // thousandths.
        for point in &points {
            assert!((point.y - (1.0 - point.x / 1000.0)).abs() < 0.004, "{point:?}");
        }
        assert!(points.last().is_some_and(|last| last.y > 0.0));
        assert!(tail(&Histogram::new()).is_empty());
    }
}
