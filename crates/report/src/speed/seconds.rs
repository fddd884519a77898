//! What was reported once a second: rates, resent segments, congestion windows and round trips, one
//! above the other on one time axis.

use btu_contract::sample::{FlowInterval, Interval};
use btu_studies::speed::{Direction, SpeedRow, SpeedVerdict};

use super::{MEGA, MILLI, both, name};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Section, Series, Table,
};

/// Bytes in a KiB.
const KIBI: f64 = 1024.0;

/// A quantity of a panel: its title, its unit, and its value in an interval of a flow.
type PanelQuantity = (&'static str, &'static str, fn(&FlowInterval) -> Option<f64>);

/// The quantities of flows, from above to below.
const QUANTITIES: [PanelQuantity; 4] = [
    ("Rate", "Mb/s", |flow| Some(flow.goodput_bits_per_second / MEGA)),
    ("Resent", "segments", |flow| flow.segments_sent_again.map(|again| again as f64)),
    ("Congestion window", "KiB", |flow| {
        flow.congestion_window_bytes.map(|bytes| bytes as f64 / KIBI)
    }),
    ("Round trip of TCP", "ms", |flow| flow.round_trip_seconds.map(|seconds| seconds * MILLI)),
];

/// The last panel: its title and its unit.
const OF_REQUESTS: (&str, &str) = ("Round trip of requests", "ms");

/// The figure, with its values as a table; `None` if nothing was reported while it was measured.
pub(super) fn section(verdict: &SpeedVerdict, hosts: &[String; 2]) -> Option<Section> {
    let rows: Vec<&SpeedRow> = verdict.rows.iter().filter(|row| !row.course.is_empty()).collect();
    if rows.is_empty() {
        return None;
    }
    let names = names(&rows, hosts);
    let mut panels: Vec<Panel> = QUANTITIES
        .iter()
        .map(|(title, unit, value)| panel((title, unit), flows(&rows, hosts, &names, *value)))
        .collect();
    panels.push(panel(OF_REQUESTS, requests(&rows, &names)));
    panels.retain(|panel| !panel.series.is_empty());
    let figure = Figure {
        name: "seconds".to_owned(),
        title: "Second by second".to_owned(),
        panels,
        layout: Layout::Below,
        table: table(&rows, hosts),
    };
    let of_requests = "the median of those whose answers came in that second";
    let note = format!(
        "rate by the receiver's count; resent segments and congestion window of the sender's kernel (TCP_INFO), of all \
         connections together; round trip of requests: {of_requests}; of several blocks the first"
    );
    Section::of("Second by second", &note, vec![Block::Figure(figure)])
}

fn panel((title, unit): (&str, &str), series: Vec<Series>) -> Panel {
    let (x, y) = (Axis::linear("seconds"), Axis::linear(unit));
    Panel { title: title.to_owned(), x, y, series }
}

/// The name of a flow: that of its phase, or which of its two.
fn way(row: &SpeedRow, flow: &FlowInterval, near: &str) -> String {
    let count = row.course.iter().map(|interval| interval.flows.len()).max().unwrap_or(0);
    if count < 2 {
        return name(row.cell.phase).to_owned();
    }
    both(if flow.from.as_str() == near { Direction::Up } else { Direction::Down })
}

/// Every name of a series in its order: a name has one colour in all panels.
fn names(rows: &[&SpeedRow], [near, _]: &[String; 2]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let flows = row.course.iter().flat_map(|interval| &interval.flows);
        let ways = flows.map(|flow| way(row, flow, near));
        for one in ways.chain([name(row.cell.phase).to_owned()]) {
            if !names.contains(&one) {
                names.push(one);
            }
        }
    }
    names
}

/// A line for each flow that has the quantity.
fn flows(
    rows: &[&SpeedRow],
    [near, _]: &[String; 2],
    names: &[String],
    value: fn(&FlowInterval) -> Option<f64>,
) -> Vec<Series> {
    let of_name = |(place, wanted): (usize, &String)| {
        let points = rows.iter().flat_map(|row| {
            let own = |flow: &&FlowInterval| way(row, flow, near) == *wanted;
            row.course.iter().filter_map(move |interval| {
                let flow = interval.flows.iter().find(own)?;
                Some(Point::new(interval.to_seconds, value(flow)?))
            })
        });
        series(wanted, place, points.collect())
    };
    names.iter().enumerate().filter_map(of_name).collect()
}

/// A line for each phase with requests.
fn requests(rows: &[&SpeedRow], names: &[String]) -> Vec<Series> {
    let of_row = |row: &&SpeedRow| {
        let wanted = name(row.cell.phase);
        let points = row.course.iter().filter_map(|interval| {
            Some(Point::new(interval.to_seconds, interval.request_seconds? * MILLI))
        });
        series(wanted, names.iter().position(|one| one == wanted)?, points.collect())
    };
    rows.iter().filter_map(of_row).collect()
}

fn series(name: &str, place: usize, points: Vec<Point>) -> Option<Series> {
    let (name, role) = (name.to_owned(), Role::Member(place));
    (!points.is_empty()).then_some(Series { name, role, mark: Drawn::LinePoints, points })
}

fn table(rows: &[&SpeedRow], [near, _]: &[String; 2]) -> Table {
    let head =
        ["phase", "until, s", "Mb/s", "resent", "window, KiB", "RTT of TCP, ms", "of requests, ms"];
    let has_datagrams = flows_of(rows).any(|flow| flow.missed.is_some());
    let head: Vec<&str> = head.into_iter().chain(has_datagrams.then_some("missed")).collect();
    let mut table = Table::new("Second by second", &head, 2);
    for row in rows {
        for interval in &row.course {
            if interval.flows.is_empty() {
                let name = name(row.cell.phase).to_owned();
                table.rows.push(line(name, interval, None, has_datagrams));
            }
            for flow in &interval.flows {
                let name = way(row, flow, near);
                table.rows.push(line(name, interval, Some(flow), has_datagrams));
            }
        }
    }
    table
}

fn flows_of<'a>(rows: &'a [&SpeedRow]) -> impl Iterator<Item = &'a FlowInterval> {
    rows.iter().flat_map(|row| &row.course).flat_map(|interval| &interval.flows)
}

fn line(
    name: String,
    interval: &Interval,
    flow: Option<&FlowInterval>,
    has_datagrams: bool,
) -> Vec<Cell> {
    let of = |value: fn(&FlowInterval) -> Option<f64>| Cell::number(flow.and_then(value));
    let [rate, _, window, round_trip] = QUANTITIES.map(|(_, _, value)| of(value));
    let again = flow.and_then(|flow| flow.segments_sent_again);
    let missed = flow.and_then(|flow| flow.missed).map_or(Cell::Nothing, missed);
    let cells = [
        Cell::text(name),
        Cell::text(format!("{}", interval.to_seconds)),
        rate,
        again.map_or(Cell::Nothing, Cell::count),
        window,
        round_trip,
        Cell::number(interval.request_seconds.map(|seconds| seconds * MILLI)),
    ];
    cells.into_iter().chain(has_datagrams.then_some(missed)).collect()
}

/// Below zero where late datagrams filled older gaps.
fn missed(count: i64) -> Cell {
    Cell::Number { value: count as f64, shown: count.to_string(), interval: None }
}
