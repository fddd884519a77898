//! The interface that a study of scripted cells implements for reports. Text and every file format
//! follow from it.

use btu_suite::experiment::Experiment;

use crate::html::Page;
use crate::stored_page::StoredRun;

/// A study with reports.
pub trait Reported: Experiment {
    /// The report of a stored run of this plan.
    fn page(&self, verdict: &Self::Verdict, stored: &StoredRun<'_>) -> Page;

    /// The result in a few words, for a list of runs; `None` if that is the headline of the page.
    fn answer(&self, _verdict: &Self::Verdict) -> Option<String> {
        None
    }
}
