//! Shows the result of a run from its stored data.

mod files;

use btu_contract::job::Job;
use btu_report::html::Page;
use btu_report::{StoredRun, first_screen, several_page};
use btu_store::{RunId, Store};
use btu_studies::pipe::{JobVerdict, PipeVerdict};

use super::arguments::Pipe;
use crate::cli::Common;
use crate::results::{self, Document, JudgedRun, shown};
use crate::stored::{self, Surroundings};
use crate::terminal::{print, print_json, text_options};

/// Prints the results of these runs, and writes the requested files.
pub(super) fn results(runs: &[RunId], pipe: &Pipe, common: &Common) -> anyhow::Result<()> {
    let store = stored::open(common)?;
    let rows = runs.iter().map(|run| store.run(&run.to_string())).collect::<Result<Vec<_>, _>>()?;
    let judged = |row| Ok(Document::of(row, JudgedRun::<Job>::read(&store, row)?.verdict));
    let documents = rows.iter().map(judged);
    let documents = documents.collect::<anyhow::Result<Vec<_>>>()?;
    files::write(&documents, &pipe.wanted)?;
    if common.json {
        return match &documents[..] {
            [one] => print_json(one),
            several => print_json(several),
        };
    }
    let options = text_options();
    match &documents[..] {
        [one] => shown::print_result(
            &store,
            one.run.summary.id,
            shown::Shown::of(pipe.wanted.all),
            shown::Form::of(common),
        ),
        // Several transports are compared, and each is shown by itself on demand.
        several => {
            print(&first_screen(&compared(&store, several), &options))?;
            let wanted = if pipe.wanted.all { several } else { &[] };
            wanted.iter().try_for_each(|one| {
                let text = results::of(one.run)?.text(&store, one.run, &options)?;
                print(&format!("\n{text}"))
            })
        }
    }
}

/// Several signatures of one command on one page.
fn compared(store: &Store, documents: &[Document<'_, JobVerdict>]) -> Page {
    let verdicts = documents.iter().filter_map(|document| match &document.result {
        JobVerdict::One(verdict) => Some((Surroundings::of(store, document.run), &**verdict)),
        JobVerdict::Set(_) | JobVerdict::Hint(_) => None,
    });
    let (surroundings, verdicts): (Vec<Surroundings>, Vec<&PipeVerdict>) = verdicts.unzip();
    let stored: Vec<StoredRun<'_>> = surroundings.iter().map(Surroundings::stored).collect();
    several_page(&stored, &verdicts)
}
