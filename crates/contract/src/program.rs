//! A user's own program in a station: the command, its readiness, and its result.
//!
//! Agents know nothing of this: a [`crate::activity::Activity`] is never a command. The controller
//! starts programs itself, in stations of a network that it has raised (decision 0016).

mod fault;

use std::collections::BTreeMap;
use std::path::PathBuf;

use btu_units::{Bytes, Span, Time, plain, shell_word};
use serde::{Deserialize, Serialize};

use crate::network::HostName;
use crate::surroundings::CpuTime;

/// The size that is kept of each of a program's two streams: the first half from its beginning, the
/// second from its end.
pub const KEPT: usize = 64 << 10;

/// The programs of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Programs {
    /// The time for which loads run before the measured program begins.
    pub lead: Span,
    /// The programs in the order of their starts: services, loads, and the measured one.
    pub steps: Vec<ProgramStep>,
}

/// One program and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramStep {
    /// The user's name for it.
    pub name: String,
    /// The host on which the program runs.
    pub host: HostName,
    /// Its role in the cell.
    pub part: Part,
    /// The command, and the settings of its run.
    pub order: ProgramOrder,
}

/// The role of a program in its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It is ready before anything else begins, and is stopped at the end.
    Service,
    /// It runs before the measured program begins, and is stopped after it.
    Load,
    /// It ends by itself; its time is measured.
    Measured,
}

/// The command of a program, and the settings of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramOrder {
    /// The program, a name looked for in `$PATH` or a path, and its arguments.
    pub command: Vec<String>,
    /// Its environment variables in addition to those of btu.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Its working directory; without one, an empty directory of its own, in memory.
    #[serde(with = "crate::path::optional", default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Most that its own directory holds.
    #[serde(rename = "room_bytes")]
    pub room: Bytes,
    /// The time limit from its start, after which it is ended with all its child processes. A
    /// service has this time to become ready.
    #[serde(rename = "deadline_ns")]
    pub deadline: Span,
    /// The condition of its readiness; `None` means at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
}

impl ProgramOrder {
    /// What a user would type for it, with its directory and its environment.
    pub fn typed(&self) -> String {
        let directory = self
            .directory
            .iter()
            .map(|path| format!("cd {} &&", shell_word(&path.to_string_lossy())));
        let environment =
            self.environment.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
        let words = self.command.iter().map(|word| shell_word(word));
        directory.chain(environment).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The condition of a service's readiness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// When a process of its station listens for TCP connections on a new port, or waits for datagrams
    /// on one that is not the kernel's choice.
    Listens,
    /// When a process of its station listens on this port of TCP or UDP.
    Port(u16),
    /// When it has printed this, on either stream.
    Output(String),
    /// This time after its start.
    #[serde(rename = "after_ns")]
    After(Span),
}

/// A request to the supervisor of a program in a station, one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Run this; it is answered with [`Message::Ready`] and [`Message::Ended`].
    Run(ProgramOrder),
    /// Run this and say only [`Message::Ended`]: any message before that would wake its reader while
    /// the program's time is taken.
    Measure(ProgramOrder),
    /// End it, in order if it can.
    Stop,
}

/// A message from the supervisor, one line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// It waits for a task.
    Waiting,
    /// The program runs, and is ready.
    Ready,
    /// The program has ended, with all its child processes.
    Ended(Box<Ended>),
    /// An operation of the supervisor itself failed.
    Failed {
        /// The operation, and its object.
        message: String,
    },
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The way in which the program ended.
    pub ending: Ending,
    /// The time just before its start, by this host's monotonic clock.
    #[serde(rename = "started_ns")]
    pub started: Time,
    /// The time at which it had ended, by that clock.
    #[serde(rename = "finished_ns")]
    pub finished: Time,
    /// Processor time of the program and of all its processes that ended (`wait4`).
    pub cpu: CpuTime,
    /// Most memory that one of its processes had at a time (`ru_maxrss`).
    #[serde(rename = "peak_memory_bytes")]
    pub peak_memory: Bytes,
    /// The lower bound of `peak_memory` for any program: a new process counts the memory of the
    /// process that started it.
    #[serde(rename = "least_memory_bytes")]
    pub least_memory: Bytes,
    /// The number of voluntary context switches: it had to wait.
    pub voluntary_switches: u64,
    /// The number of involuntary context switches.
    pub involuntary_switches: u64,
    /// The text on its standard output.
    pub output: Printed,
    /// The text on its standard error.
    pub errors: Printed,
    /// Processes that still ran when it ended, and that btu ended then.
    pub left_running: u32,
    /// What far ends had not acknowledged of the station's connections that no process had any more, when
    /// it had ended.
    #[serde(rename = "unacknowledged_bytes", default)]
    pub unacknowledged: Bytes,
    /// Connections of its station that were reset while it ran.
    #[serde(default)]
    pub connections_reset: u64,
    /// Whether its own directory was full at the end.
    #[serde(default)]
    pub directory_full: bool,
    /// What it did; absent where that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
}

/// What a program and all its processes did at moments while it ran: at each of them one of the first five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moments {
    /// Moments in which one of its threads could run: it was on a processor, or waited for one.
    pub ready: u32,
    /// None could, and one waited for a disk (uninterruptible sleep).
    pub disk: u32,
    /// None of these, and one waited at a socket.
    pub sockets: u32,
    /// None of these, and one slept for a time.
    pub sleeping: u32,
    /// All waited for something else: a pipe, a lock, another process.
    pub other: u32,
    /// How long its threads had waited for processors that others had, when they were last seen (`schedstat`).
    #[serde(rename = "waited_ns")]
    pub waited: Span,
}

/// The end of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// With this exit code.
    Exited(i32),
    /// By this signal, which btu did not send.
    Killed(i32),
    /// It did not end in time, and btu ended it.
    Deadline,
    /// btu stopped it.
    Stopped,
    /// It could not be started; why.
    NotStarted(String),
    /// A service was not ready in time; with the observed state.
    NotReady(String),
}

/// The output of a program, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Printed {
    /// The text, or its beginning and end if it is longer than [`KEPT`]; octets that are not UTF-8
    /// are replaced.
    pub text: String,
    /// The size of the whole output.
    #[serde(rename = "all_bytes")]
    pub all: u64,
}

impl Printed {
    /// Whether all of it was kept.
    pub const fn is_whole(&self) -> bool {
        self.all <= KEPT as u64
    }

    /// The last line that is not empty, short enough for a sentence.
    pub fn last_line(&self) -> Option<String> {
        let line = self.text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(plain(line).chars().take(160).collect())
    }
}

/// A program of a cell, its place, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// The user's name for it.
    pub name: String,
    /// The station on which the program ran.
    pub station: HostName,
    /// Its role in the cell.
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
