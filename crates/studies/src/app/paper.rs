//! The study's tables: which cell repeats which number, and what was measured instead.

use btu_stats::Estimate;
use serde::Serialize;

use super::{AppCell, AppPlan, AppRow, Carrier, Protocol, Speed, Speeds, Workload};
use crate::papers::{PrintedCell, PrintedRow, PrintedTable, lantz85};
use btu_contract::network::HostName;

/// A row of the study's tables that can be repeated, by table and name.
type RepeatableRow = (&'static str, &'static str, Workload, Protocol);

/// All such rows. "Incremental" of Tables 3-1 and 4-3 waits for no answer, as its rates show: each
/// is what Table 5-1 calls pipelined. Rows with other machines than a VAX-750 or 780 are left out,
/// as are Tables 6-1 and 6-2: the priority of a network server, and the inter-kernel protocol.
const LINES: [RepeatableRow; 24] = [
    ("3-1", "10,display", Workload::Vectors, Protocol::Redraw),
    ("3-1", "10,750,construction", Workload::Vectors, Protocol::Construction),
    ("3-1", "10,750,batch", Workload::Vectors, Protocol::Batched),
    ("3-1", "10,750,incremental", Workload::Vectors, Protocol::Pipelined),
    ("3-2", "10,780,text", Workload::Text, Protocol::Pipelined),
    ("4-1", "10,780,batch", Workload::Vectors, Protocol::Batched),
    ("4-1", "8,780,batch", Workload::Vectors, Protocol::Batched),
    ("4-1", "10,780,text", Workload::Text, Protocol::Pipelined),
    ("4-1", "8,780,text", Workload::Text, Protocol::Pipelined),
    ("4-2", "10,780,construction", Workload::Vectors, Protocol::Construction),
    ("4-2", "10,750,construction", Workload::Vectors, Protocol::Construction),
    ("4-2", "10,780,text", Workload::Text, Protocol::Pipelined),
    ("4-2", "10,750,text", Workload::Text, Protocol::Pipelined),
    ("4-3", "10,780,batch", Workload::Vectors, Protocol::Batched),
    ("4-3", "10,780,incremental", Workload::Vectors, Protocol::Pipelined),
    ("5-1", "10,750,incremental", Workload::Rectangles, Protocol::StopAndWait),
    ("5-1", "10,750,pipelined incremental", Workload::Rectangles, Protocol::Pipelined),
    ("5-1", "10,750,batch unstructured", Workload::Rectangles, Protocol::Batched),
    ("5-1", "10,750,batch structured", Workload::StructuredRectangles, Protocol::Batched),
    ("8-1", "10,750,construction", Workload::Vectors, Protocol::Construction),
    ("8-1", "10,750,batch", Workload::Vectors, Protocol::Batched),
    ("8-2", "10,750,construction", Workload::Rectangles, Protocol::Construction),
    ("8-2", "10,750,batch", Workload::Rectangles, Protocol::Batched),
    ("8-2", "10,750,structure", Workload::StructuredRectangles, Protocol::Batched),
];

/// The protocols of these rows.
pub(super) const PROTOCOLS: [Protocol; 5] = [
    Protocol::StopAndWait,
    Protocol::Pipelined,
    Protocol::Construction,
    Protocol::Batched,
    Protocol::Redraw,
];

/// A table of the study with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperTable {
    /// Its number in the paper.
    pub number: &'static str,
    /// Its rows that can be repeated.
    pub lines: Vec<PaperLine>,
}

/// A row of such a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperLine {
    /// As printed: workstation in MHz, type of VAX, and which rate.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// Its values, by column.
    pub cells: Vec<PaperCell>,
}

/// A number of the study, and the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperCell {
    /// The head of the column.
    pub column: &'static str,
    /// The printed rate, in the unit of its row.
    pub printed: f64,
    /// The measured rate (95 % interval); `None` without a measurement.
    pub measured: Option<Estimate>,
}

/// What carries requests in a column, and to which station of the library's `stanford-1985`; `None`
/// for columns with a protocol that btu does not have.
fn place(column: &str) -> Option<(Carrier, String)> {
    let at = |carrier, station: &str| Some((carrier, station.to_owned()));
    match column {
        "Local" => at(Carrier::InProcess, "workstation-10"),
        "E-IP" | "E10-IP" | "10M" => at(Carrier::Tcp, "workstation-10"),
        "E3-IP" => at(Carrier::Tcp, "workstation-3"),
        "A-IP" => at(Carrier::Tcp, "workstation-arpanet"),
        rate if rate.parse::<u32>().is_ok() => at(Carrier::Tcp, &format!("terminal-{rate}")),
        _ => None,
    }
}

/// The processors of a row: the display's of 10 or 8 MHz, the application's a VAX-780, or the 750
/// that the study takes for half as fast.
fn speeds(line: &str) -> Speeds {
    let display = if line.starts_with("8,") { Speed::FOUR_FIFTHS } else { Speed::FULL };
    let application = if line.contains(",780,") { Speed::FULL } else { Speed::HALF };
    Speeds { application, display }
}

/// The cell that repeats a number, if one does.
fn cell(&(_, line, workload, protocol): &RepeatableRow, column: &str) -> Option<AppCell> {
    let (carrier, station) = place(column)?;
    let display = HostName::try_from(station.as_str()).ok();
    Some(AppCell { display, speeds: speeds(line), ..AppCell::new(workload, protocol, carrier) })
}

/// The printed values of a row, by column.
fn printed<'a>(tables: &'a [PrintedTable], line: &RepeatableRow) -> Option<&'a PrintedRow> {
    let table = tables.iter().find(|table| table.number == line.0)?;
    table.lines.iter().find(|one| one.name == line.1)
}

/// Every cell that repeats a number of the tables, once, as far as the plan's lists have its levels.
pub(super) fn cells(plan: &AppPlan) -> Vec<AppCell> {
    let tables = lantz85::tables();
    let mut cells: Vec<AppCell> = Vec::new();
    for line in &LINES {
        let columns = printed(&tables, line).into_iter().flat_map(|printed| &printed.cells);
        for cell in columns.filter_map(|value| cell(line, value.column)) {
            if is_asked(plan, &cell) && !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

fn is_asked(plan: &AppPlan, cell: &AppCell) -> bool {
    plan.workloads.contains(&cell.workload)
        && plan.protocols.contains(&cell.protocol)
        && plan.carriers.contains(&cell.carrier)
        && cell.display.as_ref().is_some_and(|display| plan.displays.contains(display))
}

/// The tables with the measured values, without rows that were not measured.
pub(super) fn tables(rows: &[AppRow]) -> Vec<PaperTable> {
    let printed_tables = lantz85::tables();
    let mut tables: Vec<PaperTable> = Vec::new();
    for line in &LINES {
        let Some(row) = printed(&printed_tables, line) else { continue };
        let row = paper_line(line, row, rows);
        if row.cells.is_empty() {
            continue;
        }
        match tables.last_mut().filter(|table| table.number == line.0) {
            Some(table) => table.lines.push(row),
            None => tables.push(PaperTable { number: line.0, lines: vec![row] }),
        }
    }
    tables
}

fn paper_line(line: &RepeatableRow, printed: &PrintedRow, rows: &[AppRow]) -> PaperLine {
    let one = |value: &PrintedCell| {
        let cell = cell(line, value.column)?;
        let row = rows.iter().find(|row| row.cell == cell)?;
        let measured = row.items_per_second.map(|rate| rate.scaled(line.2.units_of_an_item()));
        Some(PaperCell { column: value.column, printed: value.value, measured })
    };
    let cells = printed.cells.iter().filter_map(one).collect();
    PaperLine { name: printed.name, unit: printed.unit, cells }
}
