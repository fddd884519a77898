//! A user's own program in a station: what to start, when it is ready, and its result.
//!
//! Agents know nothing of this: a [`crate::activity::Activity`] is never a command. The coordinator
//! starts programs itself, in stations of a network that it has raised (decision 0016).

mod fault;

use std::collections::BTreeMap;
use std::path::PathBuf;

use btu_units::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::network::HostName;
use crate::record::CpuTime;

/// Of each of a program's two streams so much is kept: the first half from its beginning, the
/// second from its end.
pub const KEPT: usize = 64 << 10;

/// The programs of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Programs {
    /// Loads are at work so long before what is measured begins.
    pub lead: Span,
    /// In the order in which they are started: services, loads, and what is measured.
    pub steps: Vec<ProgramStep>,
}

/// One program and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramStep {
    /// What the user calls it.
    pub name: String,
    /// The host on which the program runs.
    pub host: HostName,
    /// What it is to the cell.
    pub part: Part,
    /// The command, and how it is run.
    pub order: ProgramOrder,
}

/// What a program is to its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It is ready before anything else begins, and is stopped at the end.
    Service,
    /// It is at work before what is measured begins, and is stopped after it.
    Load,
    /// It ends by itself; its time is measured.
    Measured,
}

/// The command of a program, and how it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramOrder {
    /// The program, a name looked for in `$PATH` or a path, and its arguments.
    pub command: Vec<String>,
    /// What it finds in its environment in addition to what btu has in its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Where it works; an empty directory of its own, in memory, where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Most that its own directory holds.
    #[serde(rename = "room_bytes")]
    pub room: Bytes,
    /// It is ended, with every process that came of it, so long after its start. A service has so
    /// long to become ready.
    #[serde(rename = "deadline_ns")]
    pub deadline: Span,
    /// When it is ready; at once where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
}

/// When a service is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// When a process of its station listens for TCP connections that did not before, on whichever
    /// port.
    Listens,
    /// When a process of its station listens on this TCP port.
    Port(u16),
    /// When it has printed this, on either stream.
    Output(String),
    /// So long after its start.
    #[serde(rename = "after_ns")]
    After(Span),
}

/// What the supervisor of a program in a station is asked, one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Run this; it is answered with [`Message::Ready`] and [`Message::Ended`].
    Run(ProgramOrder),
    /// End it, in order if it can.
    Stop,
}

/// What it says, one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// It waits for a task.
    Waiting,
    /// The program runs, and is ready.
    Ready,
    /// The program has ended, with every process that came of it.
    Ended(Box<Ended>),
    /// Something of the supervisor's own failed.
    Failed {
        /// What, and on what.
        message: String,
    },
}

/// What came of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The way in which the program ended.
    pub ending: Ending,
    /// Just before it was started, by this host's monotonic clock.
    #[serde(rename = "started_ns")]
    pub started: Time,
    /// When it had ended, by the same clock.
    #[serde(rename = "finished_ns")]
    pub finished: Time,
    /// Processor time of the program and of all its processes that ended (`wait4`).
    pub cpu: CpuTime,
    /// Most memory that one of its processes had at a time (`ru_maxrss`).
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Bytes,
    /// What `peak_memory` is at least, whatever the program: a new process counts what its maker
    /// had in memory.
    #[serde(rename = "least_memory_bytes")]
    pub least_memory: Bytes,
    /// How often it gave up the processor because it had to wait.
    pub voluntary_switches: u64,
    /// How often the processor was taken from it.
    pub involuntary_switches: u64,
    /// What it printed on its standard output.
    pub output: Printed,
    /// What it printed on its standard error.
    pub errors: Printed,
    /// Processes that it had left running when it ended, and that were ended then.
    pub left_running: u32,
    /// Whether its own directory was full at the end.
    #[serde(default)]
    pub directory_full: bool,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// With this exit code.
    Exited(i32),
    /// By this signal, which btu did not send.
    Killed(i32),
    /// It did not end in time, and was ended.
    Deadline,
    /// It was told to stop.
    Stopped,
    /// It could not be started; why.
    NotStarted(String),
    /// A service was not ready in time; what was seen instead.
    NotReady(String),
}

/// What a program printed, so much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Printed {
    /// The beginning and the end, where it is longer than [`KEPT`]; octets that are no UTF-8 are
    /// replaced.
    pub text: String,
    /// How much it was.
    #[serde(rename = "all_bytes")]
    pub all: u64,
}

impl Printed {
    /// Whether all of it was kept.
    pub const fn is_whole(&self) -> bool {
        self.all <= KEPT as u64
    }

    /// The last line that says something, short enough for a sentence.
    pub fn last_line(&self) -> Option<String> {
        let line = self.text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        let plain = line.chars().map(|letter| if letter.is_control() { '?' } else { letter });
        Some(plain.take(160).collect())
    }
}

/// A program of a cell, where it ran, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// What the user calls it.
    pub name: String,
    /// The station on which the program ran.
    pub station: HostName,
    /// What it was to the cell.
    pub part: Part,
    /// What came of it.
    #[serde(flatten)]
    pub ended: Ended,
}

impl Ended {
    /// From just before its start to its end.
    pub fn elapsed(&self) -> Span {
        self.finished.since(self.started)
    }
}
