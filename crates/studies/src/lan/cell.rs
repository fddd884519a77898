//! The settings that identify a cell of `btu lan`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Task;

/// The load during a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// On the station's own disk.
    StandAlone,
    /// At the server, with this number of background stations.
    Stations(u32),
}

/// A task at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LanCell {
    /// The load level: the station's own disk, or a number of background stations.
    pub level: Level,
    /// The task that is measured.
    pub task: Task,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandAlone => f.write_str("stand-alone"),
            Self::Stations(count) => write!(f, "stations-{count}"),
        }
    }
}

impl fmt::Display for LanCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.task, self.level)
    }
}
