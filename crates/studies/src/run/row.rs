//! One combination of levels, with everything that it means.

use std::ops::Range;

use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::doing::ActivityStep;
use btu_contract::experiment::{CellSetting, Observation};
use btu_contract::network::Impairments;
use btu_contract::program::{Part, ProgramReport, ProgramStep, Programs};
use btu_contract::record::{Outcome, PlacedReport};
use btu_contract::script::Script;

/// A combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The level of each factor, by its place in the factor's list.
    pub levels: Vec<usize>,
    /// On which of the plan's networks: 0 is that of the frame.
    pub network: usize,
    /// The time for which loads run before the measured program begins; each cell adds up to half
    /// of it.
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
    /// Whether it has a load.
    pub fn is_loaded(&self) -> bool {
        self.programs.iter().any(|step| step.part == Part::Load)
            || self.activities.iter().any(|step| step.part == Part::Load)
    }

    /// The script of its activities.
    pub(super) fn script(&self, setting: &CellSetting) -> Script {
        let mut steps = Vec::new();
        for activity in &self.activities {
            steps.extend(activity.steps(steps.len(), setting));
        }
        Script { impairments: Impairments::new(), steps }
    }

    /// Its programs in a cell. Services first: what is measured may need them.
    pub(super) fn programs(&self, setting: &CellSetting) -> Programs {
        let mut steps = self.programs.clone();
        steps.sort_by_key(|step| step.part);
        let lead = if self.is_loaded() { self.lead_of(setting.seed) } else { self.lead };
        Programs { lead, steps }
    }

    /// The lead of the cell with this seed: up to half longer, at random. Loads rise and fall in a
    /// rhythm, as TCP's congestion control does, and always at the same moment of it the values
    /// would agree with each other more than with the load.
    fn lead_of(&self, seed: u64) -> Span {
        let half = self.lead.nanoseconds() / 2;
        let more = (u128::from(half) * u128::from(seed)) >> u64::BITS;
        // At most `half`.
        self.lead + Span::from_nanoseconds(more as u64)
    }

    /// Longest lead of its cells.
    pub fn longest_lead(&self) -> Span {
        self.lead_of(u64::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_is_up_to_half_longer_by_the_seed() {
        let lead = Span::from_seconds(4);
        let row = RunRow { levels: vec![], network: 0, lead, programs: vec![], activities: vec![] };
        assert_eq!(row.lead_of(0), lead);
        assert_eq!(row.lead_of(1 << 63), Span::from_seconds(5));
        let longest = row.longest_lead();
        assert!(longest < Span::from_seconds(6) && longest > Span::from_milliseconds(5999));
    }
}
