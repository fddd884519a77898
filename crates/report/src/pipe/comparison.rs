//! Stored signatures side by side.

use btu_studies::pipe::{PipeVerdict, SignatureCost, cost_over};

use super::first::compared;
use super::page::{Named, sections_with_cost};
use crate::html::Page;
use crate::number::{ends, three_digits};
use crate::stored_page::page_warning;
use crate::summary::{Next, Summary};

/// A signature of a stored run.
#[derive(Debug, Clone)]
pub struct StoredSignature {
    /// The name of the run.
    pub name: String,
    /// The subject, the place and the time of the measurement, in a line.
    pub about: String,
    /// The verdict of the run.
    pub verdict: PipeVerdict,
}

/// All compared with the first, with the notes about their runs; `again` is the command that
/// compares.
pub fn signatures_page(runs: &[StoredSignature], warnings: &[String], again: &str) -> Page {
    let named: Vec<Named> = runs.iter().map(|run| (run.name.clone(), &run.verdict)).collect();
    let Some((base, others)) = runs.split_first() else { return Page::default() };
    let costs: Vec<SignatureCost> =
        others.iter().map(|other| cost_over(&other.verdict, &base.verdict)).collect();
    let costs: Vec<&SignatureCost> = costs.iter().collect();
    let sides: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    let ratio = |cost: &SignatureCost| cost.latency_ratio.or(cost.maximum_ratio);
    let said = costs.first().filter(|_| others.len() == 1).and_then(|cost| {
        let what = if cost.latency_ratio.is_some() { "latency" } else { "maximum" };
        let ratio = ratio(cost)?;
        let ends = ends(&ratio, 1.0).map_or_else(String::new, |ends| format!(" (95 %: {ends})"));
        Some(format!(": {} times the {what}{ends}", three_digits(ratio.value)))
    });
    let summary = Summary {
        figures: compared(&named, &costs),
        setting: vec![CAUTION.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()],
        next: vec![
            Next::new(format!("{again} --all"), "every size, and what each message and byte costs"),
            Next::new(format!("btu show {} --all", base.name), "one of them by itself"),
        ],
        ..Summary::default()
    };
    Page {
        headline: format!(
            "{} compared with {}{}",
            sides.join(", "),
            base.name,
            said.unwrap_or_default()
        ),
        remarks: runs.iter().map(|run| format!("{}: {}", run.name, run.about)).collect(),
        warnings: warnings.iter().map(|warning| page_warning("differs", warning, "")).collect(),
        sections: sections_with_cost(&named, &costs).into_iter().flatten().collect(),
        footer: vec![CAUTION.to_owned()],
        summary,
        ..Page::default()
    }
}

/// The limits of intervals of two runs.
const CAUTION: &str = "Intervals come from the trials within each run. What differs between one run and the next of the same kind is \
                       not in them: repeat both before a small difference is believed. `btu pipe --layers` and `--load` measure in \
                       turns, within one run.";
