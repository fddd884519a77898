//! The CPU cost of moving bytes on the machine.

use btu_studies::rate::CpuRow;

use super::{RunReport, called, row};
use crate::html::{
    Axis, Block, Cell, Drawn, Figure, Layout, Panel, Point, Scale, Section, Series, Table,
};

/// CPU seconds by load and message size.
pub(super) fn cpu(report: &RunReport) -> Option<Section> {
    let rows = &report.verdict.cpu;
    let note = "CPU time of the network activity on the test station for each 10^9 bytes; the shares are of all processors and \
                everything that ran on them.";
    let figure = || {
        let series = super::loads(report).into_iter().map(|load| Series {
            name: if load == btu_contract::load::Load::Idle {
                "alone".to_owned()
            } else {
                format!("under {load}")
            },
            role: super::role(load),
            mark: Drawn::LinePoints,
            points: rows.iter().filter(|row| row.load == load).filter_map(point).collect(),
        });
        let marks = report.plan.messages.iter().map(|size| size.count() as f64).collect();
        let panel = Panel {
            title: String::new(),
            x: Axis { label: "message size, B".to_owned(), scale: Scale::At(marks) },
            y: Axis::logarithmic("CPU time, s/GB"),
            series: series.collect(),
        };
        Block::Figure(Figure {
            name: "cpu".to_owned(),
            title: "CPU seconds per gigabyte".to_owned(),
            panels: vec![panel],
            layout: Layout::SideBySide,
            table: table(rows),
        })
    };
    Section::of("CPU", note, if rows.is_empty() { Vec::new() } else { vec![figure()] })
}

fn point(row: &CpuRow) -> Option<Point> {
    Some(Point::new(row.message.count() as f64, row.cpu_seconds_per_gigabyte?))
}

fn table(rows: &[CpuRow]) -> Table {
    let head = ["", "message, B", "s/GB", "busy, %", "software interrupts, %", "stolen, %"];
    let mut table = Table::new("CPU seconds per gigabyte, and shares of all processors", &head, 2);
    for one in rows {
        let shares = [one.machine_busy, one.machine_softirq, one.machine_steal];
        let cells = std::iter::once(Cell::number(one.cpu_seconds_per_gigabyte))
            .chain(shares.map(|share| Cell::number(Some(share * 100.0))));
        table.rows.push(row(&[&called(one.load), &one.message.count().to_string()], cells));
    }
    table
}
