//! The plan of `btu run`.

use std::fmt;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::file::ExperimentFile;
use super::pattern;
use super::row::RunRow;
use super::value::{Value, What};
use super::verdict::{RunVerdict, judge};
use crate::Judged;
use btu_contract::experiment::{
    CellSetting, Facts, Frame, Measured, Named, Observation, Raised, RunFacts, Scripts,
};
use btu_contract::program::Programs;
use btu_contract::script::Script;
use btu_units::{Bytes, Span};

/// Most rows of a plan.
pub(super) const MOST_ROWS: usize = 1024;

/// Most values of a plan.
pub(super) const MOST_VALUES: usize = 256;

/// Most networks that are up at one time.
pub(super) const MOST_NETWORKS: usize = 16;

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The common part of all plans; its network is that of the baseline.
    #[serde(flatten)]
    pub frame: Frame,
    /// The name of the experiment.
    pub name: String,
    /// Its purpose, in the words of its file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The other networks of its rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Raised>,
    /// The factors; the first level of each is the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// The values that are measured.
    #[serde(deserialize_with = "values")]
    pub values: Vec<Value>,
    /// Every combination of levels that is measured, the baseline first.
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<RunRow>,
    /// So many blocks at least; more only where a time was given in place of their number.
    pub least_blocks: u32,
    /// The resolution of the fraction that the rows are; absent where they are every combination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u32>,
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Its name: `load`, `network`, a key, or a word of the user's.
    pub name: String,
    /// Its levels as they are written; the first is the baseline.
    pub levels: Vec<String>,
}

/// Reads the values of a plan, which may have come with a file from an untrusted source: each is
/// looked for in every cell.
fn values<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    let values = Vec::<Value>::deserialize(from)?;
    if values.len() <= MOST_VALUES {
        return Ok(values);
    }
    Err(D::Error::custom(format!("{} values are more than {MOST_VALUES}", values.len())))
}

/// Reads the rows of a plan, which may have come with a file from an untrusted source.
fn rows<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<RunRow>, D::Error> {
    let rows = Vec::<RunRow>::deserialize(from)?;
    if rows.len() > MOST_ROWS {
        return Err(D::Error::custom(format!("{} rows are more than {MOST_ROWS}", rows.len())));
    }
    let is_new = |(place, row): (usize, &RunRow)| {
        rows[..place].iter().all(|other| other.levels != row.levels)
    };
    if rows.iter().enumerate().all(is_new) {
        Ok(rows)
    } else {
        Err(D::Error::custom("a row stands there twice"))
    }
}

/// The key of a cell: the combination of levels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunCell {
    /// The level of each factor, by its place in the factor's list.
    pub levels: Vec<usize>,
    /// The combination in words.
    pub name: String,
}

impl fmt::Display for RunCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl RunPlan {
    /// What an experiment file asks for, with all its rows on the network of `frame`.
    pub fn new(frame: Frame, file: ExperimentFile) -> Self {
        Self {
            frame,
            name: file.name,
            about: file.about,
            networks: Vec::new(),
            factors: file.factors,
            values: file.values,
            rows: file.rows,
            least_blocks: file.order.blocks,
            resolution: file.resolution,
        }
    }

    /// A row in words: the level of each factor.
    pub fn cell(&self, row: &RunRow) -> RunCell {
        let level = |(factor, level): (&Factor, &usize)| {
            let level = factor.levels.get(*level).map_or("?", String::as_str);
            format!("{}={level}", factor.short_name())
        };
        let parts: Vec<String> = self.factors.iter().zip(&row.levels).map(level).collect();
        let name = if parts.is_empty() { self.name.clone() } else { parts.join(", ") };
        RunCell { levels: row.levels.clone(), name }
    }

    /// Most that files of its activities hold at a time.
    pub fn scratch(&self) -> Bytes {
        let of_row =
            |row: &RunRow| row.activities.iter().map(|step| step.doing.scratch()).sum::<Bytes>();
        self.rows.iter().map(of_row).max().unwrap_or(Bytes::ZERO)
    }

    pub(super) fn row(&self, cell: &RunCell) -> Option<&RunRow> {
        self.rows.iter().find(|row| row.levels == cell.levels)
    }
}

impl Factor {
    /// Its name without what leads to it, where that is long.
    pub fn short_name(&self) -> &str {
        if self.name.len() <= 24 {
            &self.name
        } else {
            self.name.rsplit('.').next().unwrap_or(&self.name)
        }
    }
}

impl Named for RunPlan {
    const STUDY: &'static str = "run";
    const COMMAND: &'static str = "btu run";
    const VERSION: u32 = 1;
}

impl Scripts for RunPlan {
    type Cell = RunCell;

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn forget_network(&mut self) {
        self.frame.forget_network();
        self.rows.iter_mut().for_each(|row| row.lead = Span::ZERO);
    }

    fn cells(&self) -> Vec<RunCell> {
        self.rows.iter().map(|row| self.cell(row)).collect()
    }

    fn script(&self, cell: &RunCell, setting: &CellSetting) -> Script {
        self.row(cell).map(|row| row.script(setting)).unwrap_or_default()
    }

    fn programs(&self, cell: &RunCell, setting: &CellSetting) -> Programs {
        self.row(cell).map(|row| row.programs(setting)).unwrap_or_default()
    }

    fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        for step in self.rows.iter().flat_map(|row| &row.programs) {
            let command = step.order.typed();
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        commands
    }

    fn other_networks(&self) -> Vec<&Raised> {
        self.networks.iter().collect()
    }

    fn network_of(&self, cell: &RunCell) -> usize {
        self.row(cell).map_or(0, |row| row.network)
    }

    fn look(&self, cell: &RunCell, seen: &mut Observation) {
        let Some(row) = self.row(cell) else { return };
        let printed = self.values.iter().filter(|value| value.what.is_printed());
        let found = printed.filter_map(|value| {
            pattern::afresh();
            Some((value.name.clone(), value.found(row, seen).ok()?))
        });
        seen.values = found.collect();
    }

    fn faults(&self, cell: &RunCell, seen: &Observation) -> Vec<String> {
        let Some(row) = self.row(cell) else { return vec!["the plan has no such row".to_owned()] };
        let missing = self.values.iter().filter_map(|value| {
            pattern::afresh();
            value.found(row, seen).err()
        });
        row.faults(seen).into_iter().chain(missing).collect()
    }

    fn facts(&self, cell: &RunCell, seen: &Observation) -> Facts {
        let found = |wanted: fn(&What) -> bool| {
            let value = self.values.iter().find(|value| wanted(&value.what))?;
            value.found(self.row(cell)?, seen).ok()
        };
        let of_programs = seen
            .programs
            .iter()
            .filter(|report| report.part == btu_contract::program::Part::Measured);
        let program = of_programs.map(|report| report.ended.elapsed()).max();
        let duration =
            found(|what| matches!(what, What::Elapsed)).map(Span::from_seconds_f64).or(program);
        let goodput_bits_per_second = found(|what| matches!(what, What::Goodput));
        Facts { goodput_bits_per_second, duration, ..Facts::default() }
    }
}

impl Judged for RunPlan {
    type Verdict = RunVerdict;

    fn judge(&self, cells: &[Measured<RunCell>], _: &RunFacts) -> RunVerdict {
        pattern::afresh();
        judge(self, cells)
    }
}
