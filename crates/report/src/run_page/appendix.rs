//! Every table of the paper's appendix, with this run's numbers.

use btu_contract::load::Load;
use btu_stats::Means;
use btu_studies::rate::{Component, ComponentPenalty, RateRow, Times};
use btu_units::Bytes;

use super::{MEGABIT, RunReport, called, components, loads, role, row, size_heads};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Scale, Section, Series, Table,
};

/// Goodput of every row, as a picture for the smallest and the largest message, and as a table.
pub(super) fn goodput(report: &RunReport) -> Option<Section> {
    if report.verdict.rates.iter().all(|rate| rate.goodput_bits_per_second.is_none()) {
        return None;
    }
    let panels = components(report).into_iter().map(|component| Panel {
        title: component.to_string(),
        x: Axis { label: "message, B".to_owned(), scale: Scale::At(ends(report)) },
        y: Axis::logarithmic("goodput, Mb/s"),
        series: loads(report).into_iter().map(|load| curve(report, component, load)).collect(),
    });
    // Two figures of up to three panels: six panels in a row would be too narrow to read.
    let panels: Vec<Panel> = panels.collect();
    let figures = panels.chunks(3).enumerate().map(|(place, panels)| {
        let names: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
        let wanted: Vec<Component> =
            components(report).into_iter().skip(place * 3).take(3).collect();
        Block::Figure(Figure {
            name: format!("goodput-{}", place + 1),
            title: format!("Goodput of {}", names.join(", ")),
            panels: panels.to_vec(),
            layout: Layout::SideBySide,
            table: rates(report, &wanted),
        })
    });
    let note = "At the receiver, by its clock: geometric mean over repetitions with its 95 % interval. ? not known as well as \
                the profile asks for, * holds outliers.";
    Section::of("Goodput", note, figures.collect())
}

/// The smallest and the largest message: between them five marks would lie on top of each other.
fn ends(report: &RunReport) -> Vec<f64> {
    let sizes = || report.plan.messages.iter().map(|size| size.count() as f64);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    if least < most { vec![least, most] } else { vec![most] }
}

fn curve(report: &RunReport, component: Component, load: Load) -> Series {
    let rows =
        report.verdict.rates.iter().filter(|rate| (rate.component, rate.load) == (component, load));
    let points = rows.filter_map(|rate| {
        let estimate = rate.goodput_bits_per_second?;
        let interval =
            estimate.interval.map(|interval| (interval.low / MEGABIT, interval.high / MEGABIT));
        Some(Point { x: rate.message.count() as f64, y: estimate.value / MEGABIT, interval })
    });
    let name = if load == Load::Idle { "alone".to_owned() } else { format!("under {load}") };
    Series { name, role: role(load), mark: Drawn::LinePoints, points: points.collect() }
}

fn rates(report: &RunReport, wanted: &[Component]) -> Table {
    let sizes = size_heads(report);
    let head: Vec<&str> = ["", ""].into_iter().chain(sizes.iter().map(String::as_str)).collect();
    // Each of the tables has a name of its own: in a CSV file and as a sheet they are next to each
    // other.
    let names: Vec<&str> = wanted.iter().map(|component| component.name()).collect();
    let mut table = Table::new(&format!("Goodput, Mb/s: {}", names.join(", ")), &head, 2);
    for &component in wanted {
        for load in loads(report) {
            let cells = report.plan.messages.iter().map(|&message| {
                let found =
                    report.verdict.rates.iter().find(|rate| is(rate, component, message, load));
                found.map_or(Cell::Nothing, marked)
            });
            table.rows.push(row(&[component.name(), &called(load)], cells));
        }
    }
    table
}

fn is(rate: &RateRow, component: Component, message: Bytes, load: Load) -> bool {
    (rate.component, rate.message, rate.load) == (component, message, load)
}

fn marked(rate: &RateRow) -> Cell {
    let mut cell = Cell::estimate(rate.goodput_bits_per_second.as_ref(), MEGABIT);
    if let Cell::Number { shown, .. } = &mut cell {
        shown.push_str(if rate.low_confidence && rate.repetitions > 0 { " ?" } else { "" });
        shown.push_str(if rate.outliers.is_empty() { "" } else { " *" });
    }
    cell
}

/// Tables A1 to A16: times, with the three means.
pub(super) fn section(report: &RunReport) -> Option<Section> {
    let penalties = &report.verdict.penalties.table;
    let host_loads: Vec<Load> = report.verdict.penalties.by_load.iter().map(|of| of.load).collect();
    let first = host_loads.first().copied();
    let alone = first.map(|load| {
        times(report, "Network activities alone, s (as A1 to A4)", load, base_of_network)
    });
    let hosts = (!penalties.is_empty()).then(|| hosts_alone(report, &host_loads));
    let with_load = host_loads.iter().flat_map(|&load| {
        let network = format!("Network activities under {load}, s (as A5 to A16)");
        let host = format!("{load} with each network activity, s (as A5 to A16)");
        [times(report, &network, load, loaded_network), times(report, &host, load, loaded_host)]
    });
    let tables =
        alone.into_iter().chain(hosts).chain(with_load).filter(|table| !table.rows.is_empty());
    let note = "Times for the work that the baseline did, in seconds, with arithmetic (AM), geometric (GM) and harmonic mean (HM) \
                over the components.";
    Section::of("Tables of the paper", note, tables.map(Block::Table).collect())
}

/// The kind of a component's time.
type Seconds = fn(&ComponentPenalty) -> Option<f64>;

fn base_of_network(one: &ComponentPenalty) -> Option<f64> {
    one.network.map(|times: Times| times.base_seconds)
}

fn loaded_network(one: &ComponentPenalty) -> Option<f64> {
    one.network.map(|times: Times| times.loaded_seconds)
}

fn loaded_host(one: &ComponentPenalty) -> Option<f64> {
    one.host.map(|times: Times| times.loaded_seconds)
}

fn times(report: &RunReport, caption: &str, load: Load, seconds: Seconds) -> Table {
    let sizes = size_heads(report);
    let head: Vec<&str> = std::iter::once("").chain(sizes.iter().map(String::as_str)).collect();
    let mut table = Table::new(caption, &head, 1);
    let column = |message: Bytes| -> Vec<Option<f64>> {
        let wanted = components(report);
        let of_cell = report
            .verdict
            .penalties
            .table
            .iter()
            .find(|one| (one.message, one.load) == (message, load));
        let of = |component| {
            of_cell?.components.iter().find(|one| one.component == component).and_then(seconds)
        };
        wanted.into_iter().map(of).collect()
    };
    let columns: Vec<Vec<Option<f64>>> =
        report.plan.messages.iter().map(|&message| column(message)).collect();
    if columns.iter().flatten().all(Option::is_none) {
        return table;
    }
    for (place, component) in components(report).into_iter().enumerate() {
        table.rows.push(row(
            &[component.name()],
            columns.iter().map(|column| Cell::number(column[place])),
        ));
    }
    let means: Vec<Option<Means>> = columns
        .iter()
        .map(|column| Means::of(&column.iter().flatten().copied().collect::<Vec<_>>()))
        .collect();
    let line = |name: &str, of: fn(&Means) -> f64| {
        row(&[name], means.iter().map(|one| Cell::number(one.as_ref().map(of))))
    };
    table.rows.push(line("AM", |means| means.arithmetic));
    table.rows.push(line("GM", |means| means.geometric));
    table.rows.push(line("HM", |means| means.harmonic));
    table
}

fn hosts_alone(report: &RunReport, host_loads: &[Load]) -> Table {
    let mut table = Table::new("Host activities alone, s (as A1 to A4)", &["", "s"], 1);
    for &load in host_loads {
        let of_load = report.verdict.penalties.table.iter().filter(|one| one.load == load);
        let seconds = of_load.filter_map(|one| one.host).map(|side| side.base_seconds).next();
        if seconds.is_some() {
            table.rows.push(row(&[load.name()], [Cell::number(seconds)]));
        }
    }
    table
}
