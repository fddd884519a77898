//! The first sheet: the results, and the sources of the formulas.

use rust_xlsxwriter::XlsxError;

use super::line::Whole;
use super::page::{SheetBuilder, SheetCell};
use super::server::{Book, Solved};
use super::value::SheetValue;
use super::ways::{BridgeCells, PathDelays, TransferCells};

/// The results of a submodel.
#[derive(Debug)]
pub(super) struct SummaryRow {
    name: String,
    sheet: String,
    /// Packets per second, utilisation by data and by everything, effective throughput, delay.
    values: [Option<SheetValue>; 5],
}

impl SummaryRow {
    pub(super) fn of(solved: &Solved, sheet: &str) -> Self {
        let values = [&solved.frames, &solved.data, &solved.used, &solved.capacity, &solved.delay];
        Self {
            name: solved.name.clone(),
            sheet: sheet.to_owned(),
            values: values.map(|value| Some(value.clone())),
        }
    }

    pub(super) fn of_star(name: &str, sheet: &str, whole: Whole) -> Self {
        let values =
            [Some(whole.frames), Some(whole.data), Some(whole.used), None, Some(whole.delay)];
        Self { name: name.to_owned(), sheet: sheet.to_owned(), values }
    }

    pub(super) fn of_bridge(name: &str, sheet: &str, cells: &BridgeCells) -> Self {
        let values = [Some(cells.frames.clone()), None, None, None, Some(cells.latency.clone())];
        Self { name: name.to_owned(), sheet: sheet.to_owned(), values }
    }
}

/// Writes the sheet.
pub(super) fn sheet(
    book: &Book,
    lines: &[SummaryRow],
    ways: &[PathDelays],
    transfer: Option<&TransferCells>,
) -> Result<SheetBuilder, XlsxError> {
    let prediction = book.structure.prediction;
    let about = "Every number below follows the yellow cells of the other sheets at once. Times are seconds, sizes bits or \
                 octets as said.";
    let mut page = SheetBuilder::new(
        "Summary",
        &format!("What closed forms expect of {}", prediction.network),
        about,
    )?;
    warnings(&mut page, book)?;
    submodels(&mut page, lines)?;
    page.heading("Flows")?;
    let mut table = page.table(&["flow", "packets/s of each", "delay of a packet, s"])?;
    for (number, flow) in book.structure.drawing.traffic.iter().enumerate() {
        let each = book.flows[number].each.clone();
        let cells = vec![
            SheetCell::Label(flow.name.clone()),
            SheetCell::Formula(each),
            SheetCell::Formula(ways[number].delay.clone()),
        ];
        page.row(&mut table, cells)?;
    }
    if let Some(transfer) = transfer {
        page.heading("Transfer")?;
        page.computed("Simple delay", "s", &transfer.simple)?;
        page.computed("Aggregate delay", "s", &transfer.aggregate)?;
        page.computed("Time of the transfer", "s", &transfer.seconds)?;
    }
    page.heading("Formulas, their sources, and their assumptions")?;
    for reference in &prediction.formulas {
        page.text(&format!("{}: {}", reference.name, reference.source))?;
        page.note(reference.assumptions)?;
    }
    Ok(page)
}

fn warnings(page: &mut SheetBuilder, book: &Book) -> Result<(), XlsxError> {
    let warnings = &book.structure.prediction.warnings;
    if warnings.is_empty() {
        return Ok(());
    }
    page.heading("What speaks against the network as drawn")?;
    for warning in warnings {
        page.text(&format!("{}: {}", warning.place, warning.message))?;
    }
    Ok(())
}

fn submodels(page: &mut SheetBuilder, lines: &[SummaryRow]) -> Result<(), XlsxError> {
    page.heading("Submodels")?;
    let head = [
        "submodel",
        "packets/s",
        "utilisation, data",
        "utilisation, all",
        "effective throughput",
        "delay of a packet, s",
        "sheet",
    ];
    let mut table = page.table(&head)?;
    for line in lines {
        let value = |value: &Option<SheetValue>| {
            value.clone().map_or_else(|| SheetCell::Label(String::new()), SheetCell::Formula)
        };
        let values = line.values.iter().map(value);
        let name = std::iter::once(SheetCell::Label(line.name.clone()));
        let cells = name.chain(values).chain([SheetCell::Label(line.sheet.clone())]).collect();
        page.row(&mut table, cells)?;
    }
    Ok(())
}
