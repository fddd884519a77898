//! One combination of levels, with everything that it means.

use std::ops::Range;

use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::doing::ActivityStep;
use crate::experiment::{CellSetting, Observation};
use crate::network::Impairments;
use crate::program::{Part, ProgramReport, ProgramStep, Programs};
use crate::record::{Outcome, PlacedReport};
use crate::script::Script;

/// A combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The level of each factor, by its place in the factor's list.
    pub levels: Vec<usize>,
    /// On which of the plan's networks: 0 is that of the frame.
    pub network: usize,
    /// The time for which loads run before the measured program begins.
    #[serde(rename = "lead_ns")]
    pub lead: Span,
    /// Programs: services, loads, and what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramStep>,
    /// btu's own activities: loads, and what is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activities: Vec<ActivityStep>,
}

impl RunRow {
    /// The script of its activities.
    pub(super) fn script(&self, setting: &CellSetting) -> Script {
        let mut steps = Vec::new();
        for activity in &self.activities {
            steps.extend(activity.steps(steps.len(), setting));
        }
        Script { impairments: Impairments::new(), steps }
    }

    /// Its programs. Services first: what is measured may need them.
    pub(super) fn programs(&self) -> Programs {
        let mut steps = self.programs.clone();
        steps.sort_by_key(|step| step.part);
        Programs { lead: self.lead, steps }
    }

    /// The places of an activity's steps in the script.
    fn places(&self, name: &str) -> Option<Range<usize>> {
        let mut first = 0;
        for activity in &self.activities {
            let count = 1 + usize::from(activity.doing.has_peer());
            if activity.name == name && activity.part == Part::Measured {
                return Some(first..first + count);
            }
            first += count;
        }
        None
    }

    /// The accounts of a measured activity.
    pub(super) fn reports<'a>(&self, name: &str, seen: &'a Observation) -> &'a [PlacedReport] {
        self.places(name).and_then(|places| seen.reports.get(places)).unwrap_or_default()
    }

    /// The disagreements of accounts. A load is stopped at any moment: at most its sent data can
    /// arrive.
    pub(super) fn faults(&self, seen: &Observation) -> Vec<String> {
        let mut first = 0;
        let mut faults = Vec::new();
        for activity in &self.activities {
            let count = 1 + usize::from(activity.doing.has_peer());
            let reports = seen.reports.get(first..first + count).unwrap_or_default();
            faults.extend(
                disagreement(reports, activity.part)
                    .map(|fault| format!("{}: {fault}", activity.name)),
            );
            first += count;
        }
        faults
    }
}

/// The result of a measured program.
pub(super) fn program<'a>(name: &str, seen: &'a Observation) -> Option<&'a ProgramReport> {
    seen.programs.iter().find(|report| report.name == name && report.part == Part::Measured)
}

/// Why two ends do not agree, if so.
fn disagreement(reports: &[PlacedReport], part: Part) -> Option<String> {
    let outcomes: Vec<&Outcome> =
        reports.iter().filter_map(|one| Some(&one.result.as_ref().ok()?.outcome)).collect();
    match outcomes.as_slice() {
        [Outcome::Received(received), Outcome::Sent(sent)] => {
            let (came, went) = (received.bytes.count(), sent.bytes.count());
            if received.samples_wrong > 0 {
                let (wrong, checked) = (received.samples_wrong, received.samples_checked);
                return Some(format!("{wrong} of {checked} payload samples are not what was sent"));
            }
            let is_right = if part == Part::Load { came <= went } else { came == went };
            (!is_right).then(|| format!("{went} B were sent and {came} B received"))
        }
        [Outcome::DatagramsReceived(received), Outcome::DatagramsSent(sent)] => {
            if received.wrong > 0 {
                return Some(format!("{} datagrams had content that was not sent", received.wrong));
            }
            let (came, went) = (received.datagrams, sent.datagrams);
            (came > went).then(|| format!("{went} datagrams were sent and {came} received"))
        }
        [Outcome::Responded { answers }, Outcome::Requested(requested)] => {
            let came = requested.answers + requested.late;
            (came > *answers).then(|| format!("{answers} answers were sent and {came} came"))
        }
        _ => None,
    }
}
