//! A prediction for a terminal: warnings first, then a block for each submodel, flows, and the
//! transfer.
//!
//! The blocks follow figures 9 and 10 of the CITI study: the input, the utilisation, the delay of a
//! packet.

pub mod figures;
mod first;
mod flows;
mod picture;
mod search;
mod submodels;
mod sweep;
mod transfer;

use btu_model::predict::{Prediction, PredictionWarning};

pub use first::model_page;
pub use picture::sweep_picture;
pub use search::{Answered, Beyond, MostFound, most_text};
pub use submodels::alike_segments;
pub use sweep::{SweepTable, sweep_csv, sweep_text};

use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::{self, wrap};

/// The whole prediction; lines end with `\n`.
pub fn model_text(prediction: &Prediction, about: &str, options: &TextOptions) -> String {
    let page = PredictionText { prediction, options: *options, paint: Paint(options.colour) };
    let mut sections = vec![head(&page, about), warnings(&prediction.warnings, options)];
    sections.extend(submodels::blocks(&page));
    sections.extend([
        flows::lines(&page),
        flows::transfer(&page),
        flows::paced(&page),
        sources(&page),
    ]);
    sheet::page(sections)
}

/// The data of every section.
struct PredictionText<'a> {
    prediction: &'a Prediction,
    options: TextOptions,
    paint: Paint,
}

impl PredictionText<'_> {
    /// A section: its title, an explanation that may be skipped, and its lines.
    fn section(&self, title: &str, note: &str, lines: Vec<String>) -> Vec<String> {
        sheet::section(title, note, lines, &self.options)
    }
}

fn head(page: &PredictionText, about: &str) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {}",
        page.paint.title("Prediction of"),
        page.paint.strong(&page.prediction.network)
    )];
    if !about.is_empty() {
        lines.extend(wrap(about, page.options.columns(), 0));
    }
    lines
}

/// One paragraph for each warning.
fn warnings(warnings: &[PredictionWarning], options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let paragraphs = warnings.iter().flat_map(|warning| {
        wrap(&format!("! {}: {}.", warning.place, warning.message), options.columns(), 2)
    });
    paragraphs.map(|line| paint.warning(&line)).collect()
}

/// The closed forms, each with its source and its assumptions.
fn sources(page: &PredictionText) -> Vec<String> {
    let of = |reference: &btu_model::predict::Reference| {
        wrap(
            &format!(
                "{}: {}. Assumes: {}.",
                reference.name, reference.source, reference.assumptions
            ),
            page.options.columns(),
            2,
        )
    };
    let lines =
        page.prediction.formulas.iter().flat_map(of).map(|line| page.paint.quiet(&line)).collect();
    page.section("Closed forms", "", lines)
}
