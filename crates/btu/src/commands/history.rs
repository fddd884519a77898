//! `btu history`: the results of the papers, as printed.

use btu_report::{studies_text, study_text};
use btu_studies::papers::{PrintedTable, ReferencePoint, Study};
use serde::Serialize;

use crate::cli::{Common, History};
use crate::terminal::{print, print_json, text_options};

/// Prints a study's tables, or the list of studies.
pub(crate) fn run(history: &History, common: &Common) -> anyhow::Result<()> {
    match history.study {
        Some(study) if common.json => print_json(&listed(study, study.tables())),
        Some(study) => print(&study_text(study, &text_options())),
        None if common.json => print_json(&Study::ALL.map(|study| listed(study, Vec::new()))),
        None => print(&studies_text(&text_options())),
    }
}

/// A study as `--json` prints it.
#[derive(Serialize)]
struct ListedStudy {
    study: Study,
    about: &'static str,
    citation: &'static str,
    points: Vec<ReferencePoint>,
    /// Not in the list of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<PrintedTable>,
}

fn listed(study: Study, tables: Vec<PrintedTable>) -> ListedStudy {
    ListedStudy {
        study,
        about: study.about(),
        citation: study.citation(),
        points: study.reference_points(),
        tables,
    }
}
