//! The part of a report that every stored run has: its origin, its machine, and the changes there.

use std::collections::BTreeMap;

use btu_contract::experiment::Warning;
use btu_stats::Estimate;
use btu_studies::papers::Study;

use crate::head::RunHead;
use crate::html::{Block, Cell, Page, PageWarning, Section, Table};
use crate::number::duration;
use crate::summary::{KeyFigure, Next, Summary, first_estimates};

/// A stored run, whatever its study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredRun<'a> {
    /// The run in words.
    pub run: &'a RunHead,
    /// Its origin.
    pub origin: &'a Origin,
    /// The machine's settings before the run, by name.
    pub settings: &'a BTreeMap<String, String>,
    /// The changes between the start and the end, a sentence each.
    pub changes: &'a [String],
    /// The spread of this machine from run to run, if earlier runs of the plan are stored.
    pub earlier: Option<&'a EarlierRuns>,
    /// Other studies, with results that are drawn next to those of this run.
    pub studies: &'a [Study],
}

/// Runs of one plan on one machine, including the reported one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlierRuns {
    /// The number of these runs, the reported one included.
    pub runs: usize,
    /// The geometric mean of their ratings, with the interval that their differences make.
    pub btu_bits_per_second: Estimate,
}

/// The origin of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The UUID of the run, which it keeps in every database.
    pub uuid: String,
    /// The label that the user gave the run; absent when there is none.
    pub label: Option<String>,
    /// The version of the program that measured it.
    pub version: String,
    /// The hash of the plan.
    pub plan_hash: String,
}

impl StoredRun<'_> {
    /// The name of the run.
    pub(crate) fn title(&self) -> String {
        let label =
            self.origin.label.as_ref().map_or_else(String::new, |label| format!(": {label}"));
        format!("btu run {}{label}", self.run.id)
    }

    /// The notes during the run, the changes on the machine, and other programs there.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = PageWarning> {
        self.noted().chain(warned(self.run.busy.as_slice()))
    }

    /// Like [`Self::warnings`], without other programs, which the verdict of a rating names.
    pub(crate) fn noted(&self) -> impl Iterator<Item = PageWarning> {
        let advice = "keep the machine's settings as they are while it measures, and measure again";
        let noted = self.run.notes.iter().map(|note| page_warning("seen during the run", note, ""));
        let changed =
            self.changes.iter().map(move |change| page_warning("setting changed", change, advice));
        noted.chain(changed)
    }

    /// Every recorded setting, and the changes.
    pub(crate) fn environment(&self) -> Option<Section> {
        if self.settings.is_empty() {
            let nothing =
                "Nothing was recorded of the machine, or it cannot be read by this version."
                    .to_owned();
            return Section::of("Environment", "", vec![Block::Text(nothing)]);
        }
        let changes = if self.changes.is_empty() {
            "No setting changed between the start and the end of the run.".to_owned()
        } else {
            format!("Changed under way: {}.", self.changes.join("; "))
        };
        let mut table = Table::new("Settings before the run", &["setting", "value"], 2);
        table.rows = self
            .settings
            .iter()
            .map(|(name, value)| vec![Cell::text(name), Cell::text(value)])
            .collect();
        Section::of(
            "Environment",
            "As it was before the first cell.",
            vec![Block::Text(changes), Block::Table(table)],
        )
    }

    /// The first screen of the run: its key numbers, and their limit if it is known.
    pub(crate) fn summary(&self, figures: Vec<KeyFigure>, limit: String) -> Summary {
        let RunHead { id, network, profile, duration: took, conditions, .. } = self.run;
        let run = format!("{id}: {profile} profile on {network}, {}", duration(*took));
        let has_interval = figures.iter().any(|figure| !figure.interval.is_empty());
        let covers = if has_interval {
            "intervals (95 %) are of this run, not the next"
        } else {
            "no intervals: too few repetitions"
        };
        let next = vec![
            Next::new(format!("btu show {id} --all"), "every table"),
            Next::new(format!("btu report {id} --open"), "charts in a browser"),
        ];
        Summary {
            figures,
            limit,
            setting: [run]
                .into_iter()
                .chain([covers.to_owned()])
                .chain(conditions.clone())
                .collect(),
            next,
            ..Summary::default()
        }
    }

    /// The report of a run that has no rating: its result, the warnings about it, its sections, and
    /// the machine.
    pub fn page(
        &self,
        headline: String,
        warnings: Vec<PageWarning>,
        sections: Vec<Option<Section>>,
    ) -> Page {
        let RunHead { started, network, profile, machine, seed, .. } = self.run;
        let remarks = [format!("{started}, {network}, {profile} profile"), machine.clone()];
        let Origin { uuid, version, plan_hash, .. } = self.origin;
        let environment = self.environment().map(Section::into_appendix);
        let sections: Vec<Section> = sections.into_iter().chain([environment]).flatten().collect();
        Page {
            title: self.title(),
            headline,
            remarks: remarks.into_iter().chain(self.run.about_hosts()).collect(),
            warnings: self.warnings().chain(warnings).collect(),
            summary: self.summary(first_estimates(&sections), String::new()),
            sections,
            footer: vec![format!("btu {version}, plan {plan_hash}, seed {seed}, run {uuid}.")],
            ..Page::default()
        }
    }
}

/// The warnings about a study of scripted cells.
pub(crate) fn warned(warnings: &[Warning]) -> Vec<PageWarning> {
    warnings
        .iter()
        .map(|warning| page_warning(warning.cause, &warning.observed, warning.advice))
        .collect()
}

/// Makes a warning of a page.
pub(crate) fn page_warning(title: &str, seen: &str, advice: &str) -> PageWarning {
    PageWarning { title: title.to_owned(), observed: seen.to_owned(), advice: advice.to_owned() }
}
