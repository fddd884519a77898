//! The types of the store: the name of a run, its input and its output.

use std::fmt;

use btu_units::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run's number in this database, shown as `r12`. Numbers go up and are never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(i64);

impl RunId {
    pub(crate) const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number of the run as a plain integer.
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("r{}", self.0))
    }
}

/// Makes an enumeration with names that are the texts in the database.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        btu_units::named! {
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "kebab-case")]
            pub enum $name { $($(#[$doc])* $variant = $text,)+ }
        }

        impl $name {
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// The state of a run.
    State {
        /// It is being written.
        Running = "running",
        /// Every cell of its plan is there.
        Complete = "complete",
        /// It was stopped, or its writer died; it can be resumed.
        Interrupted = "interrupted",
        /// It could not continue; its events have the reason.
        Failed = "failed",
    }
}

named! {
    /// When an environment was looked at.
    Moment {
        /// Before the first cell of a session.
        Before = "before",
        /// After the last cell of the run.
        After = "after",
    }
}

named! {
    /// The severity of an event.
    Level {
        /// An event that is only recorded.
        Info = "info",
        /// An event that is a warning.
        Warning = "warning",
        /// A reason to stop.
        Error = "error",
    }
}

/// A run to be made.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// The name of the study that measures the run.
    pub study: &'a str,
    /// The name of the profile that the plan was made from.
    pub profile: &'a str,
    /// The network as the user named it.
    pub network: &'a str,
    /// The user's own word for the run.
    pub label: Option<&'a str>,
    /// The user's own words to find it by.
    pub tags: &'a [String],
    /// Wall time of the start, RFC 3339.
    pub created: &'a str,
    /// The seed of everything random.
    pub seed: u64,
    /// Version of the program.
    pub btu_version: &'a str,
    /// The whole plan of the run, as JSON.
    pub plan: &'a Value,
    /// Its hash: a resumed run must have an equal one.
    pub plan_hash: &'a str,
    /// Its largest number of cells.
    pub planned_cells: u32,
}

/// A run as listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// The number of the run in this database.
    pub id: RunId,
    /// The UUID of the run, which it keeps in every database.
    pub uuid: String,
    /// The name of the study that measured the run.
    pub study: String,
    /// The name of the profile that the plan was made from.
    pub profile: String,
    /// The network as the user named it.
    pub network: String,
    /// The label that the user gave the run; absent when there is none.
    pub label: Option<String>,
    /// The tags that the user gave the run, sorted.
    pub tags: Vec<String>,
    /// The state of the run; a run that no process writes any more is not shown as running.
    pub state: State,
    /// Wall time of the start, RFC 3339.
    pub created: String,
    /// Wall time of the end, RFC 3339; none before [`crate::Store::finish`].
    pub finished: Option<String>,
    /// Its measuring time, all sessions together, up to its last cell or its end; by a monotonic
    /// clock, so that neither pauses nor steps of the clock are in it. `None` if it is not known.
    #[serde(rename = "spent_ns")]
    pub spent: Option<Span>,
    /// Whether it came with a file.
    pub imported: bool,
    /// Version of the program that made it.
    pub btu_version: String,
    /// The largest number of cells of its plan.
    pub planned_cells: u32,
    /// The number of stored cells.
    pub cells: u32,
    /// The number of valid ones.
    pub valid_cells: u32,
    /// The result in a few words as it was kept, and the version of the program that gave it.
    #[serde(skip)]
    pub answer: Option<(String, String)>,
}

/// A run with everything that is stored of it but its cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// The run as `btu runs` lists it.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The seed of everything random.
    pub seed: u64,
    /// The whole plan of the run, as JSON.
    pub plan: Value,
    /// The hash of the plan; a resumed run must have an equal one.
    pub plan_hash: String,
    /// The calibrated amounts of work; none before they are known.
    pub calibration: Option<Value>,
    /// The machine before and after each session, in the order in which they were saved.
    pub environments: Vec<(Moment, Value)>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// Something that happened during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Wall time, RFC 3339.
    pub at: String,
    /// Its severity.
    pub level: Level,
    /// The text of the event.
    pub text: String,
}
