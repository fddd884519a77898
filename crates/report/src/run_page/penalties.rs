//! The penalties of activities because others run: Table 2 and Figure 3b of the paper, and
//! slowdowns.

use btu_contract::load::Load;
use btu_stats::Estimate;
use btu_studies::rate::{ComponentSlowdown, Penalty, Side};

use super::{RunReport, components, role, row};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Role, Section, Series, Table,
};

/// Selects the activity that has the loss.
type Of = fn(&Penalty) -> Option<Side>;

/// A column of Table 2: its name, its colour, the activity that has the loss, and the load.
type PenaltyColumn = (String, Role, Of, Load);

pub(super) fn section(report: &RunReport) -> Option<Section> {
    let penalties = &report.verdict.penalties;
    let measured =
        penalties.table.iter().any(|penalty| penalty.network.is_some() || penalty.host.is_some());
    let blocks = if measured {
        vec![
            Block::Figure(seconds(report)),
            Block::Figure(slowdowns(report)),
            Block::Table(by_load(report)),
        ]
    } else {
        Vec::new()
    };
    let note = "Seconds are lost on the work that the baseline did, only losses counted (the paper's rule); a slowdown \
                is the time with the other divided by the time alone, and can be compared between machines.";
    Section::of("Penalties", note, blocks)
}

/// The paper's Figure 3b: stacked seconds for each message size, two parts for each load.
fn seconds(report: &RunReport) -> Figure {
    let unit = TimeUnit::of(&report.verdict.penalties.table);
    let loads = || report.verdict.penalties.by_load.iter().map(|of| of.load).enumerate();
    let network = loads().map(|(_, load)| -> PenaltyColumn {
        (format!("network under {load}"), role(load), |penalty| penalty.network, load)
    });
    let host = loads().map(|(place, load)| -> PenaltyColumn {
        (format!("{load} with network"), Role::Member(4 + place), |penalty| penalty.host, load)
    });
    let parts: Vec<PenaltyColumn> = network.chain(host).collect();
    let stacked = parts.iter().map(|(name, role, of, load)| {
        let heights = (0..report.plan.messages.len()).map(|at| bar(report, &unit, at, *load, *of));
        (name.clone(), *role, heights.collect())
    });
    let words = report.plan.messages.iter().map(|size| size.count().to_string()).collect();
    let label = format!("penalty, {}", unit.name);
    let panel = Panel::stacked("", ("message size, B", words), &label, stacked);
    Figure {
        name: "penalties".to_owned(),
        title: format!("Penalties by message size, {}", unit.name),
        panels: vec![panel],
        layout: Layout::SideBySide,
        table: table(report, &unit, &parts),
    }
}

/// The height of a part of the bar of a message size.
fn bar(report: &RunReport, unit: &TimeUnit, at: usize, load: Load, of: Of) -> Option<f64> {
    Some(of(find(report, at, load)?)?.clipped_seconds * unit.per_second)
}

fn find<'a>(report: &RunReport<'a>, at: usize, load: Load) -> Option<&'a Penalty> {
    let message = *report.plan.messages.get(at)?;
    report
        .verdict
        .penalties
        .table
        .iter()
        .find(|penalty| (penalty.message, penalty.load) == (message, load))
}

/// Table 2: a line for each message size, a column for each part, and their sum.
fn table(report: &RunReport, unit: &TimeUnit, parts: &[PenaltyColumn]) -> Table {
    let heads: Vec<&str> = parts.iter().map(|(name, ..)| name.as_str()).collect();
    let head = [&["message size, B"], heads.as_slice(), &["total", "total with gains"]].concat();
    let mut table = Table::new(&format!("Penalties, {} (as Table 2)", unit.name), &head, 1);
    for (at, message) in report.plan.messages.iter().enumerate() {
        let cells =
            parts.iter().map(|(_, _, of, load)| Cell::number(bar(report, unit, at, *load, *of)));
        let total = report.verdict.penalties.totals.iter().find(|total| total.message == *message);
        let totals =
            [total.map(|total| total.clipped_seconds), total.map(|total| total.signed_seconds)];
        let totals =
            totals.map(|seconds| Cell::number(seconds.map(|seconds| seconds * unit.per_second)));
        table.rows.push(row(&[&message.count().to_string()], cells.chain(totals)));
    }
    table
}

/// Selects the activity that has the slowdown.
type Slowed = fn(&ComponentSlowdown) -> Option<Estimate>;

/// By component, a panel for each side.
fn slowdowns(report: &RunReport) -> Figure {
    let sides: [(&str, Slowed); 2] = [
        ("the network activity under the load", |slowdown| slowdown.network),
        ("the load with the network activity", |slowdown| slowdown.host),
    ];
    let panels = sides.map(|(title, of)| Panel {
        title: title.to_owned(),
        x: Axis::words("", components(report).iter().map(ToString::to_string).collect()),
        y: Axis::logarithmic("slowdown"),
        series: report
            .verdict
            .penalties
            .by_load
            .iter()
            .map(|load| slowed(report, load.load, of))
            .collect(),
    });
    Figure {
        name: "slowdowns".to_owned(),
        title: "Slowdown by component: 2 means everything takes twice as long".to_owned(),
        panels: panels.to_vec(),
        layout: Layout::SideBySide,
        table: by_component(report),
    }
}

fn slowed(report: &RunReport, load: Load, of: Slowed) -> Series {
    let points = components(report).into_iter().enumerate().filter_map(|(at, component)| {
        let found = report
            .verdict
            .penalties
            .by_component
            .iter()
            .find(|one| (one.component, one.load) == (component, load));
        let Estimate { value, interval } = of(found?)?;
        Some(Point {
            x: at as f64,
            y: value,
            interval: interval.map(|interval| (interval.low, interval.high)),
        })
    });
    Series {
        name: load.to_string(),
        role: role(load),
        mark: Drawn::Points,
        points: points.collect(),
    }
}

fn by_component(report: &RunReport) -> Table {
    let mut table =
        Table::new("Slowdown by component", &["", "under", "network activity", "load"], 2);
    for one in &report.verdict.penalties.by_component {
        let cells = [one.network.as_ref(), one.host.as_ref()].map(|side| Cell::estimate(side, 1.0));
        table.rows.push(row(&[one.component.name(), one.load.name()], cells));
    }
    table
}

fn by_load(report: &RunReport) -> Table {
    let head = ["load", "network activities", "the load itself"];
    let mut table = Table::new("Slowdown by load, over all components and sizes", &head, 1);
    for one in &report.verdict.penalties.by_load {
        let cells = [one.network.as_ref(), one.host.as_ref()].map(|side| Cell::estimate(side, 1.0));
        table.rows.push(row(&[one.load.name()], cells));
    }
    table
}

/// Seconds, or milliseconds if all values are short.
struct TimeUnit {
    name: &'static str,
    per_second: f64,
}

impl TimeUnit {
    fn of(table: &[Penalty]) -> Self {
        let sides = table.iter().flat_map(|penalty| [penalty.network, penalty.host]).flatten();
        let longest = sides.map(|side| side.clipped_seconds).fold(0.0, f64::max);
        if longest < 1.0 {
            Self { name: "ms", per_second: 1e3 }
        } else {
            Self { name: "s", per_second: 1.0 }
        }
    }
}
