//! `btu history`: the papers' own results beside what their rows give.

use btu_report::btu95_text;
use btu_suite::history::btu95;

use crate::cli::{Common, History, Study};
use crate::terminal;

/// Prints a study's history.
pub(crate) fn run(history: &History, common: &Common) -> anyhow::Result<()> {
    match history.study {
        Study::Btu95 if common.json => terminal::print_json(&btu95::history()),
        Study::Btu95 => terminal::print(&btu95_text(&btu95::history(), history.all, &terminal::text_options())),
    }
}
