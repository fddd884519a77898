//! The interface that a study implements for reports. Text and every file format follow from it.

use btu_studies::Judged;
use serde_json::Value;

use crate::csv::RawRow;
use crate::html::Page;
use crate::stored_page::StoredRun;

/// A study with reports.
pub trait Reported: Judged {
    /// Whether its reports draw the results of published studies.
    const DRAWS_STUDIES: bool = false;

    /// The report of a stored run of this plan.
    fn page(
        &self,
        verdict: &Self::Verdict,
        records: &[Self::Record],
        stored: &StoredRun<'_>,
    ) -> Page;

    /// The result in a few words, for a list of runs; `None` if that is the headline of the page.
    fn answer(&self, _verdict: &Self::Verdict) -> Option<String> {
        None
    }

    /// Every record as a line, and as a row of raw values.
    fn cell_table(&self, records: &[Self::Record]) -> CellTable;
}

/// The records of a run, for people and for other programs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellTable {
    /// The line above all others.
    pub head: String,
    /// A line for each record, or several with its faults below it.
    pub lines: Vec<String>,
    /// Raw values, one row for each repetition: numbers in full, units in the columns' names.
    pub raw: Vec<RawRow>,
}

/// A value of a raw row.
#[expect(
    clippy::needless_pass_by_value,
    reason = "numbers, names and texts alike, most of them made for this"
)]
pub fn raw_value(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// A line with the faults of its cell below it.
pub(crate) fn with_faults(line: &str, faults: &[String]) -> String {
    let faults = faults.iter().map(|fault| format!("      INVALID: {fault}"));
    std::iter::once(line.trim_end().to_owned()).chain(faults).collect::<Vec<_>>().join("\n")
}

/// Every scalar of `from` under its name, those of nested objects under both names.
pub(crate) fn flatten(name: &str, from: &Value, raw: &mut RawRow) {
    match from {
        Value::Object(parts) => {
            for (part, inside) in parts {
                let name = if name.is_empty() { part.clone() } else { format!("{name}_{part}") };
                flatten(&name, inside, raw);
            }
        }
        Value::Null => {}
        Value::String(text) => raw.push(raw_value(name, text)),
        other => raw.push(raw_value(name, other)),
    }
}
