//! Goodput over time, with the load drawn below: one cell of each component, from the receivers'
//! stored progress.

use btu_contract::load::Load;
use btu_contract::record::{Outcome, Report};
use btu_studies::rate::{CellRecord, Component, Row};
use btu_units::Bytes;

use super::{RunReport, components, loads, row};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Section, Series, Table,
};

/// Points of a curve at most.
const STEPS: u32 = 50;

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let message = report.plan.messages.iter().copied().max()?;
    let figures = loads(report).into_iter().filter_map(|load| figure(report, message, load));
    let note = format!(
        "Messages of {} B, the first valid repetition of each activity, from the start of its receivers; below, when the load \
         ran. Starts differ by less than what the warnings say.",
        message.count()
    );
    Section::of("Over time", &note, figures.map(Block::Figure).collect())
}

fn figure(report: &RunReport, message: Bytes, load: Load) -> Option<Figure> {
    let cells: Vec<(usize, Component, &CellRecord)> = components(report)
        .into_iter()
        .enumerate()
        .filter_map(|(place, component)| {
            Some((place, component, find(report, component, message, load)?))
        })
        .collect();
    let curves: Vec<Series> = cells
        .iter()
        .filter_map(|(place, component, cell)| curve(*place, *component, cell))
        .collect();
    if curves.is_empty() {
        return None;
    }
    let above = Panel {
        title: String::new(),
        x: Axis::linear("time since the start, ms"),
        y: Axis::linear("goodput, Mb/s"),
        series: curves,
    };
    let below = (load != Load::Idle).then(|| bars(report, &cells, load));
    let place =
        if load == Load::Idle { "without a load".to_owned() } else { format!("under {load}") };
    Some(Figure {
        name: format!("over-time-{load}"),
        title: format!("Goodput over time {place}"),
        panels: std::iter::once(above).chain(below).collect(),
        layout: Layout::Below,
        table: table(&cells, &place),
    })
}

fn find<'a>(
    report: &RunReport<'a>,
    component: Component,
    message: Bytes,
    load: Load,
) -> Option<&'a CellRecord> {
    let wanted = Row::Network { component, message, load };
    report.cells.iter().find(|cell| cell.row == wanted && cell.is_valid())
}

/// Goodput of all flows together between equal steps of time.
fn curve(place: usize, component: Component, cell: &CellRecord) -> Option<Series> {
    let flows: Vec<&[(u64, u64)]> = outcomes(cell)
        .filter_map(|(_, outcome)| match outcome {
            Outcome::Received(received) => Some(received.progress.as_slice()),
            _ => None,
        })
        .collect();
    let points = goodput(&flows);
    let role = Role::Member(1 + place);
    (points.len() > 1).then(|| Series {
        name: component.to_string(),
        role,
        mark: Drawn::Line,
        points,
    })
}

/// (milliseconds, Mb/s) in the middle of each step.
fn goodput(flows: &[&[(u64, u64)]]) -> Vec<Point> {
    let last = flows.iter().filter_map(|flow| flow.last()).map(|(at, _)| *at).max().unwrap_or(0);
    let recorded = flows.iter().map(|flow| flow.len()).max().unwrap_or(0);
    // No more steps than were recorded, else single records would look like bursts.
    let steps = STEPS.min(u32::try_from(recorded / 2).unwrap_or(STEPS));
    if last == 0 || steps == 0 {
        return Vec::new();
    }
    let step_ns = last as f64 / f64::from(steps);
    let bytes = |ns: f64| flows.iter().map(|flow| bytes_at(flow, ns)).sum::<f64>();
    let point = |step: u32| {
        let (from, to) = (f64::from(step) * step_ns, f64::from(step + 1) * step_ns);
        Point::new(f64::midpoint(from, to) / 1e6, (bytes(to) - bytes(from)) * 8e3 / step_ns)
    };
    (0..steps).map(point).collect()
}

/// Bytes until `ns`, straight between records.
fn bytes_at(flow: &[(u64, u64)], ns: f64) -> f64 {
    let after = flow.partition_point(|(at, _)| (*at as f64) < ns);
    let (from_ns, from_bytes) = if after == 0 { (0, 0) } else { flow[after - 1] };
    let Some(&(to_ns, to_bytes)) = flow.get(after) else { return from_bytes as f64 };
    let share =
        if to_ns > from_ns { (ns - from_ns as f64) / (to_ns - from_ns) as f64 } else { 1.0 };
    from_bytes as f64 + share * (to_bytes - from_bytes) as f64
}

/// When the load ran, a bar for each component.
fn bars(report: &RunReport, cells: &[(usize, Component, &CellRecord)], load: Load) -> Panel {
    let words = components(report).iter().map(ToString::to_string).collect();
    let series = cells.iter().filter_map(|(place, component, cell)| {
        let (from, to) = load_ran(cell)?;
        let points = vec![Point::new(from, *place as f64), Point::new(to, *place as f64)];
        let role = Role::Member(1 + place);
        Some(Series { name: component.to_string(), role, mark: Drawn::LinePoints, points })
    });
    Panel {
        title: format!("when {load} ran"),
        x: Axis::linear("time since the start, ms"),
        y: Axis::words("", words),
        series: series.collect(),
    }
}

/// Milliseconds from the first receiver's start to the load's start and end. Both clocks are of one
/// machine: the load runs on test, and without a receiver there the code assumes that it starts
/// with the network activity.
fn load_ran(cell: &CellRecord) -> Option<(f64, f64)> {
    let host = outcomes(cell).find(|(_, outcome)| matches!(outcome, Outcome::Host(_)))?.0;
    let receivers = outcomes(cell).filter(|(_, outcome)| matches!(outcome, Outcome::Received(_)));
    let first = receivers.map(|(report, _)| report.started).min().unwrap_or(host.started);
    let start = host.started.nanoseconds() as f64 - first.nanoseconds() as f64;
    // Other machines have other clocks: a start that is seconds away is none of this clock.
    let start = if start.abs() < 1e9 { start } else { 0.0 };
    Some((start / 1e6, (start + host.duration().nanoseconds() as f64) / 1e6))
}

fn outcomes(cell: &CellRecord) -> impl Iterator<Item = (&Report, &Outcome)> {
    cell.reports
        .iter()
        .filter_map(|placed| placed.result.as_ref().ok())
        .map(|report| (report, &report.outcome))
}

fn table(cells: &[(usize, Component, &CellRecord)], place: &str) -> Table {
    let head = ["", "network, ms", "load, ms", "together for so much of the load, %", "Mb/s"];
    let mut table = Table::new(&format!("The cells drawn: {place}"), &head, 1);
    for (_, component, cell) in cells {
        let network = cell.network.as_ref();
        let host = cell.host.as_ref();
        let values = [
            network.map(|network| network.duration.seconds() * 1e3),
            host.map(|host| host.duration.seconds() * 1e3),
            host.map(|host| host.overlap * 100.0),
            network.map(|network| network.goodput_bits_per_second / 1e6),
        ];
        table.rows.push(row(&[component.name()], values.map(Cell::number)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_is_flat_at_its_rate() {
        // 1000 bytes every 10 us are 800 Mb/s.
        let flow: Vec<(u64, u64)> = (1..=200).map(|step| (step * 10_000, step * 1000)).collect();
        let points = goodput(&[&flow]);
        assert_eq!(points.len(), STEPS as usize);
        assert!(points.iter().all(|point| (point.y - 800.0).abs() < 1e-6), "{points:?}");
        let both = goodput(&[&flow, &flow]);
        assert!((both[3].y - 1600.0).abs() < 1e-6, "flows add up");
    }

    #[test]
    fn nothing_recorded_draws_nothing() {
        assert!(goodput(&[]).is_empty());
        assert!(goodput(&[&[]]).is_empty());
        assert!(goodput(&[&[(0, 0)]]).is_empty());
        assert_eq!(goodput(&[&[(10, 5), (20, 10)]]).len(), 1);
    }

    #[test]
    fn all_bytes_are_in_the_curve() {
        let flow = [(1_000_000, 10), (1_500_000, 700), (9_000_000, 1000), (10_000_000, 5000)];
        let points = goodput(&[&flow]);
        let step_seconds = 0.010 / points.len() as f64;
        let bytes: f64 = points.iter().map(|point| point.y * 1e6 / 8.0 * step_seconds).sum();
        assert!((bytes - 5000.0).abs() < 1e-6, "{bytes}");
    }
}
