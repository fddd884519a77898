//! Signatures on paper: text with a plot for a terminal, the four graphs as pictures, files for
//! other programs.

mod cells;
mod comparison;
mod csv;
mod first;
mod page;
mod picture;
mod plot;
mod set;
#[cfg(test)]
mod tests;
mod warnings;

pub use comparison::{StoredSignature, signatures_page};
pub use csv::{np_out, pipe_csv};
pub use page::several_page;
pub use picture::{Graph, NamedSignature, pipe_picture};
pub use plot::{ROWS as PLOT_ROWS, pipe_plot};
pub use set::{named as named_signatures, names as signature_names, set_csv, set_title};

pub(crate) use plot::{legend, plotted};

use btu_contract::job::{Job, JobRecord};
use btu_studies::pipe::JobVerdict;

use page::{pipe_page, set_page};

use crate::hint::hint_page;
use crate::html::Page;
use crate::stored_page::StoredRun;
use crate::study::{CellTable, Reported};

impl Reported for Job {
    fn page(&self, verdict: &JobVerdict, _: &[JobRecord], stored: &StoredRun<'_>) -> Page {
        match verdict {
            JobVerdict::One(verdict) => pipe_page(stored, verdict),
            JobVerdict::Set(verdict) => set_page(stored, verdict),
            JobVerdict::Hint(result) => {
                let transport = self.plans().first().map_or("", |plan| plan.kind.label());
                hint_page(stored, result, transport)
            }
        }
    }

    fn cell_table(&self, records: &[JobRecord]) -> CellTable {
        cells::cells(self, records)
    }
}
