//! The made-up run with everything that a report of it needs.

use std::collections::BTreeMap;

use btu_contract::experiment::Experiment;
use btu_contract::record::{Outcome, Received, TcpInfo};
use btu_report::html::{Page, Section};
use btu_report::{Origin, RunReport, StoredRun, run_page};
use btu_studies::papers::Study;
use btu_studies::rate::{CellRecord, Context, Verdict, judge};
use btu_units::Span;

use crate::sample::{context, head, records};

/// A run as `btu report` has it.
pub(crate) struct SampleRun {
    pub(crate) context: Context,
    pub(crate) cells: Vec<CellRecord>,
    pub(crate) origin: Origin,
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) changes: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) conditions: Vec<String>,
}

impl SampleRun {
    /// Three blocks of the whole quick rating.
    pub(crate) fn new() -> Self {
        let context = context();
        let mut cells = records(&context);
        cells.iter_mut().for_each(receive);
        let plan_hash = context.plan.hash();
        let settings = [
            ("kernel.mitigations.indirect_target_selection", "Not affected"),
            ("kernel.release", "6.12.0"),
            ("processor.online", "2"),
        ];
        Self {
            context,
            cells,
            origin: Origin {
                uuid: "5f0a6a3e-9c1d-4e57-8b1e-2f7f0d0c9a11".to_owned(),
                label: Some("made up".to_owned()),
                version: "0.1.0".to_owned(),
                plan_hash,
            },
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            changes: Vec::new(),
            notes: Vec::new(),
            conditions: Vec::new(),
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        judge(&self.cells, &self.context)
    }

    /// The report, with the studies that can be drawn next to it.
    pub(crate) fn page(&self) -> Page {
        self.page_with(&[Study::Btu95, Study::Netpipe96])
    }

    /// Like `page`, with these studies.
    pub(crate) fn page_with(&self, studies: &[Study]) -> Page {
        let mut run = head();
        run.notes.clone_from(&self.notes);
        run.conditions.clone_from(&self.conditions);
        run_page(&RunReport {
            stored: StoredRun {
                run: &run,
                origin: &self.origin,
                settings: &self.settings,
                changes: &self.changes,
                earlier: None,
                studies,
            },
            verdict: &self.verdict(),
            plan: &self.context.plan,
            cells: &self.cells,
        })
    }
}

/// The report of a study with these sections.
pub(crate) fn study_page(sections: Vec<Option<Section>>) -> Page {
    let run = SampleRun::new();
    let stored = StoredRun {
        run: &head(),
        origin: &run.origin,
        settings: &run.settings,
        changes: &run.changes,
        earlier: None,
        studies: &[],
    };
    stored.page("1.50 s by ftp".to_owned(), Vec::new(), sections)
}

/// Gives the receiver of a bulk cell its account, with as much progress as is ever stored.
fn receive(cell: &mut CellRecord) {
    let Some(network) = cell.network.clone() else { return };
    for report in cell.reports.iter_mut().filter_map(|placed| placed.result.as_mut().ok()) {
        if report.outcome == Outcome::Null {
            let (last, bytes) = (network.duration.nanoseconds(), network.bytes.count());
            report.outcome = Outcome::Received(Received {
                bytes: network.bytes,
                messages: 1000,
                first_byte: Span::from_microseconds(100),
                last_byte: network.duration,
                samples_checked: 10,
                samples_wrong: 0,
                // A rate that swings by a tenth, four times.
                progress: (1..=1000u64)
                    .map(|step| (last / 1000 * step, swung(bytes, step)))
                    .collect(),
                tcp: TcpInfo::default(),
            });
        }
    }
}

fn swung(bytes: u64, step: u64) -> u64 {
    let share = step as f64 / 1000.0;
    let swing = (share * 8.0 * std::f64::consts::PI).sin() / (8.0 * std::f64::consts::PI) * 0.1;
    (bytes as f64 * (share + swing)) as u64
}
