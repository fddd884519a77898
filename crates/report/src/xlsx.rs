//! A prediction as a workbook with live formulas: a sheet for each submodel, as the Network
//! Modeling Tool of CITI (University of Michigan, 1989) had it.
//!
//! Every result is a formula over cells that may be changed (rates, packets per second, sizes,
//! propagation delays, the size of the transfer), stored together with its number, so that programs
//! that only show a workbook show it right. The closed forms are written out in cells a second time
//! here; tests compare them with the predictions, and let another spreadsheet engine compute them
//! again.

mod cable;
mod line;
mod page;
mod ring;
mod server;
mod sizes;
mod structure;
mod summary;
mod traffic;
mod value;
mod ways;

use btu_model::predict::{Occupation, Prediction};
use btu_network::{Atm, Drawing, Medium};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use thiserror::Error;

use page::SheetBuilder;
use server::{Book, Solved};
use structure::Structure;
use summary::SummaryRow;

/// Spreadsheet programs are slow with more sheets than this.
const MOST_SHEETS: usize = 1000;

/// A workbook that cannot be made.
#[derive(Debug, Error)]
pub enum WorkbookError {
    /// There are too many submodels.
    #[error(
        "a workbook of {sheets} sheets, one for each segment, bridge and link, is too large: at most {MOST_SHEETS} can be \
         written; take --json"
    )]
    TooLarge {
        /// How many there would be.
        sheets: usize,
    },
    /// It could not be put together.
    #[error("the workbook could not be put together: {0}")]
    Xlsx(#[from] XlsxError),
}

/// The workbook of `drawing` as a file's content, with the closed forms' `prediction` for it. Equal
/// input gives equal bytes.
///
/// # Errors
/// When the network has too many submodels.
pub fn workbook(drawing: &Drawing, prediction: &Prediction) -> Result<Vec<u8>, WorkbookError> {
    let sheets = drawing.segments.len() + drawing.links.len() + drawing.bridges.len();
    if sheets > MOST_SHEETS {
        return Err(WorkbookError::TooLarge { sheets });
    }
    let structure = Structure::of(drawing, prediction);
    let (sizes, classes) = sizes::sheet(&structure, &occupations(drawing))?;
    let (traffic, flows) = traffic::sheet(&structure, &classes)?;
    let book = Book { structure: &structure, classes: &classes, flows: &flows };
    let mut parts = SubmodelSheets::default();
    parts.segments(&book)?;
    parts.links(&book)?;
    let bridges = parts.bridges(&book)?;
    let (ways_page, ways) = ways::flows(&book, &parts.solved, &bridges)?;
    let transfer = match &prediction.transfer {
        Some(asked) => ways::transfer(&book, &ways, asked)?,
        None => None,
    };
    let (transfer_page, transfer) = transfer.unzip();
    let summary = summary::sheet(&book, &parts.lines, &ways, transfer.as_ref())?;
    let mut pages = vec![summary, traffic, sizes];
    pages.extend(parts.pages);
    pages.push(ways_page);
    pages.extend(transfer_page);
    Ok(bind(pages)?)
}

/// Pages, in their order, to a file's content.
fn bind(pages: Vec<SheetBuilder>) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    // A fixed date: nothing here reads a clock, and the same network gives the same bytes.
    let date = ExcelDateTime::from_ymd(2000, 1, 1)?;
    workbook
        .set_properties(&DocProperties::new().set_title("btu model").set_creation_datetime(&date));
    let mut known = std::collections::HashSet::new();
    for page in pages {
        for (name, reference) in page.names {
            // Names know no case. A name that two cells would share belongs to the first.
            if known.insert(name.to_lowercase()) {
                workbook.define_name(name, &format!("={reference}"))?;
            }
        }
        workbook.push_worksheet(page.sheet);
    }
    workbook.save_to_buffer()
}

/// Submodels' sheets and their results.
#[derive(Default)]
struct SubmodelSheets {
    pages: Vec<SheetBuilder>,
    solved: Vec<Solved>,
    lines: Vec<SummaryRow>,
}

impl SubmodelSheets {
    /// A sheet's name: at most 31 characters, none twice.
    fn name(&self, kind: &str, name: &str) -> String {
        const LONGEST: usize = 31;
        let whole = format!("{kind} {name}");
        if whole.len() <= LONGEST {
            return whole;
        }
        let number = format!(" {}", self.pages.len() + 1);
        let kept: String = whole.chars().take(LONGEST - number.len()).collect();
        kept + &number
    }

    fn segments(&mut self, book: &Book) -> Result<(), XlsxError> {
        let drawing = book.structure.drawing;
        let predicted =
            book.structure.unit.segments.iter().zip(&book.structure.prediction.segments);
        for (segment, (predicted, asked)) in drawing.segments.iter().zip(predicted) {
            let name = self.name("Segment", &segment.name);
            let (page, solved) = match &segment.medium {
                Medium::SharedEthernet(cable) => {
                    cable::sheet(book, &name, predicted, cable, asked.packet_sizes)?
                }
                Medium::TokenRing(ring) => ring::token_ring(book, &name, predicted, ring)?,
                Medium::Fddi(ring) => ring::fddi(book, &name, predicted, ring)?,
                Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => {
                    let (page, solved, whole) = line::star(book, &name, predicted, star)?;
                    self.lines.push(SummaryRow::of_star(&segment.name, page.name(), whole));
                    self.pages.push(page);
                    self.solved.extend(solved);
                    continue;
                }
            };
            self.lines.push(SummaryRow::of(&solved, page.name()));
            self.pages.push(page);
            self.solved.push(solved);
        }
        Ok(())
    }

    fn links(&mut self, book: &Book) -> Result<(), XlsxError> {
        let predicted = book.structure.unit.links.chunks(2);
        for (link, directions) in book.structure.drawing.links.iter().zip(predicted) {
            let name = self.name("Link", &link.name);
            let (page, solved) = line::link(book, &name, link, directions)?;
            self.lines.extend(solved.iter().map(|line| SummaryRow::of(line, page.name())));
            self.pages.push(page);
            self.solved.extend(solved);
        }
        Ok(())
    }

    fn bridges(&mut self, book: &Book) -> Result<Vec<ways::BridgeCells>, XlsxError> {
        let mut cells = Vec::new();
        for (place, bridge) in book.structure.drawing.bridges.iter().enumerate() {
            let name = self.name("Bridge", &bridge.name);
            let (page, bridge_cells) = ways::bridge(book, &name, place)?;
            self.lines.push(SummaryRow::of_bridge(&bridge.name, page.name(), &bridge_cells));
            self.pages.push(page);
            cells.push(bridge_cells);
        }
        Ok(cells)
    }
}

/// The bits that frames occupy on the network's media.
fn occupations(drawing: &Drawing) -> Vec<Occupation> {
    let mut found = Vec::new();
    for segment in &drawing.segments {
        match &segment.medium {
            Medium::SharedEthernet(cable) => found.push(Occupation::of_cable(cable)),
            Medium::TokenRing(_) => found.push(Occupation::TOKEN_RING),
            Medium::Fddi(_) => found.push(Occupation::FDDI),
            Medium::SwitchedEthernet(star) | Medium::Atm(Atm { star }) => {
                found.extend([&star.up, &star.down].map(Occupation::of_line));
            }
        }
    }
    let lines = drawing.links.iter().flat_map(|link| [&link.forth, &link.back]);
    found.extend(lines.map(Occupation::of_line));
    let mut different = Vec::new();
    for occupation in found {
        if !different.contains(&occupation) {
            different.push(occupation);
        }
    }
    different
}
