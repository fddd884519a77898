//! What a verdict knows of a run in addition to its plan and its cells.

use serde::{Deserialize, Serialize};

use super::Warning;
use crate::record::HostClock;
use crate::text::{count, percent};

/// The run, and the machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFacts {
    /// Whether the run ended by itself.
    pub complete: bool,
    /// Whether it was resumed on another machine, kernel or version of btu.
    pub resumed_elsewhere: bool,
    /// Processors that the stations shared.
    pub cpus: usize,
    /// Other programs that used the machine before or after the run.
    pub load_before: Option<LoadBefore>,
    /// The hosts' clock offsets; empty if all stations share one clock.
    pub clocks: Vec<HostClocks>,
}

impl RunFacts {
    /// A run that ended by itself on one machine with a known number of processors.
    pub fn complete(cpus: usize) -> Self {
        Self { complete: true, cpus, ..Self::default() }
    }
}

/// The offsets of a host's clocks from the controller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostClocks {
    /// The name of the host.
    pub name: String,
    /// The clocks before the last session's first cell.
    pub before: Option<HostClock>,
    /// The clocks after the last session's last cell; absent when they are not known.
    pub after: Option<HostClock>,
}

/// The machine was busy before or after the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadBefore {
    /// Load average over one minute, of runs without that measurement.
    pub load_average: f64,
    /// The number of processors.
    pub cpus: u64,
    /// The share of their time that others used just before the run: 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// The share that others used just after the run, if that was much, too: 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_after: Option<f64>,
}

const WAIT: &str =
    "wait until other programs have finished (after a build: one minute) and measure again";

/// Above this share of the processors other programs are running: a quarter, which ten ticks of
/// each processor distinguish from an idle machine's background work.
const MOST_LOAD: f64 = 0.25;

impl LoadBefore {
    /// The title of the warning.
    pub const CAUSE: &'static str = "busy machine";

    /// By the measurements just before and after the run, as shares of the processors' time, which an
    /// earlier run does not affect; of runs without them by the load average, which includes btu's
    /// own load in that minute. `None` if others used little.
    pub fn of(
        load_average: f64,
        cpus: usize,
        [busy, busy_after]: [Option<f64>; 2],
    ) -> Option<Self> {
        let share = busy.unwrap_or(load_average / cpus as f64);
        let busy_after = busy_after.filter(|busy| *busy > MOST_LOAD);
        (share > MOST_LOAD || busy_after.is_some()).then_some(Self {
            load_average,
            cpus: cpus as u64,
            busy,
            busy_after,
        })
    }

    /// The warning of every study but the rating, which has more to say.
    pub fn warning(&self) -> Warning {
        Warning { cause: Self::CAUSE, observed: self.observed(), advice: WAIT }
    }

    fn observed(&self) -> String {
        let cpus = count(self.cpus, "processor");
        let before = self.busy.filter(|busy| *busy > MOST_LOAD || self.busy_after.is_none());
        match (before.map(percent), self.busy_after.map(percent)) {
            (Some(before), None) => format!("others used {before} of {cpus} just before the run"),
            (None, Some(after)) => format!("others used {after} of {cpus} just after the run"),
            (Some(before), Some(after)) => {
                format!(
                    "others used {before} of {cpus} just before the run and {after} just after it"
                )
            }
            (None, None) => {
                format!("the load average was {:.2} on {cpus} before the run", self.load_average)
            }
        }
    }
}
