//! `btu history`: the printed results of the papers, next to those recomputed from their rows.

use btu_report::{
    TextOptions, btu95_text, citi89_text, lantz85_text, netpipe96_text, press88_text, studies_text,
};
use btu_studies::papers::{ReferencePoint, Study, btu95, citi89, lantz85, netpipe96, press88};
use serde::Serialize;

use crate::cli::{Common, History};
use crate::terminal::{print, print_json, text_options};

/// Prints a study's history, or the list of studies.
pub(crate) fn run(history: &History, common: &Common) -> anyhow::Result<()> {
    let all = history.all;
    match history.study {
        None => list(common),
        Some(Study::Lantz85) => {
            show(&lantz85::history(), common, |it, options| lantz85_text(it, all, options))
        }
        Some(Study::Press88) => {
            show(&press88::history(), common, |it, options| press88_text(it, all, options))
        }
        Some(Study::Citi89) => {
            show(&citi89::history(), common, |it, options| citi89_text(it, all, options))
        }
        Some(Study::Btu95) => {
            show(&btu95::history(), common, |it, options| btu95_text(it, all, options))
        }
        Some(Study::Netpipe96) => {
            show(&netpipe96::history(), common, |it, options| netpipe96_text(it, all, options))
        }
    }
}

fn show<T: Serialize>(
    history: &T,
    common: &Common,
    text: impl Fn(&T, &TextOptions) -> String,
) -> anyhow::Result<()> {
    if common.json { print_json(history) } else { print(&text(history, &text_options())) }
}

/// A study as `--json` lists it.
#[derive(Serialize)]
struct ListedStudy {
    study: Study,
    about: &'static str,
    citation: &'static str,
    points: Vec<ReferencePoint>,
}

fn list(common: &Common) -> anyhow::Result<()> {
    if !common.json {
        return print(&studies_text(&text_options()));
    }
    let listed = Study::ALL.map(|study| ListedStudy {
        study,
        about: study.about(),
        citation: study.citation(),
        points: study.reference_points(),
    });
    print_json(&listed)
}
