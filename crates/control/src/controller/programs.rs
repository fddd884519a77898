//! Users' programs in the stations of a raised network: a supervisor for each, which lives as long
//! as the network (decision 0016). Agents have no part in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use btu_contract::network::HostName;
use btu_contract::program::{Ended, Message, Part, ProgramReport, ProgramStep, Programs, Task};
use futures_util::future::try_join_all;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::error::ControllerError;

/// The time for a supervisor to begin, and to answer after a program's own deadline.
const MARGIN: Duration = Duration::from_secs(15);

/// The place where programs can be started: a raised network.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// The path of this program.
    pub(super) executable: PathBuf,
    /// The network's runtime directory.
    pub(super) directory: PathBuf,
}

/// The supervisors of a network, by station and by what the user calls the program.
pub(super) struct Crew {
    site: Site,
    /// The name of a station in the network, by its name in scripts.
    stations: BTreeMap<HostName, HostName>,
    supervisors: BTreeMap<(HostName, String), Supervisor>,
}

impl Crew {
    pub(super) fn new(site: Site, stations: BTreeMap<HostName, HostName>) -> Self {
        Self { site, stations, supervisors: BTreeMap::new() }
    }

    /// Sees to it that each program has a supervisor.
    pub(super) async fn connect_all(&mut self, programs: &Programs) -> Result<(), ControllerError> {
        for step in &programs.steps {
            let key = key(step);
            if !self.supervisors.contains_key(&key) {
                let station = self
                    .stations
                    .get(&step.host)
                    .ok_or_else(|| super::stage::missing(&step.host))?;
                let supervisor = Supervisor::start(&self.site, station, step).await?;
                self.supervisors.insert(key, supervisor);
            }
        }
        Ok(())
    }

    /// Starts the programs of this part one after the other, each when the one before it is ready;
    /// whether all became so.
    pub(super) async fn begin(
        &mut self,
        programs: &Programs,
        part: Part,
    ) -> Result<bool, ControllerError> {
        for step in of(programs, part) {
            let supervisor = self.supervisor(step)?;
            supervisor.task(&Task::Run(step.order.clone())).await?;
            if !supervisor.await_ready(step.order.deadline.into()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Starts what is measured, all at once, and waits until it has ended.
    pub(super) async fn measure(&mut self, programs: &Programs) -> Result<(), ControllerError> {
        for step in of(programs, Part::Measured) {
            self.supervisor(step)?.task(&Task::Measure(step.order.clone())).await?;
        }
        for step in of(programs, Part::Measured) {
            self.supervisor(step)?.await_end(step.order.deadline.into()).await?;
        }
        Ok(())
    }

    /// Tells the programs of this part to stop, and waits until they have.
    pub(super) async fn stop(
        &mut self,
        programs: &Programs,
        part: Part,
    ) -> Result<(), ControllerError> {
        let steps: Vec<_> = of(programs, part).map(key).collect();
        let running = self
            .supervisors
            .iter_mut()
            .filter(|(key, one)| steps.contains(key) && one.is_running());
        let stopping = running.map(|(_, supervisor)| async move {
            supervisor.task(&Task::Stop).await?;
            supervisor.await_end(Duration::ZERO).await
        });
        try_join_all(stopping).await.map(drop)
    }

    /// Takes the results of the programs, in their order; `None` for one that was not started.
    pub(super) fn reports(&mut self, programs: &Programs) -> Vec<ProgramReport> {
        let report = |step: &ProgramStep| {
            let ended = self.supervisors.get_mut(&key(step))?.ended.take()?;
            Some(ProgramReport {
                name: step.name.clone(),
                station: step.host.clone(),
                part: step.part,
                ended,
            })
        };
        programs.steps.iter().filter_map(report).collect()
    }

    fn supervisor(&mut self, step: &ProgramStep) -> Result<&mut Supervisor, ControllerError> {
        self.supervisors.get_mut(&key(step)).ok_or_else(|| super::stage::missing(&step.host))
    }
}

fn key(step: &ProgramStep) -> (HostName, String) {
    (step.host.clone(), step.name.clone())
}

fn of(programs: &Programs, part: Part) -> impl Iterator<Item = &ProgramStep> {
    programs.steps.iter().filter(move |step| step.part == part)
}

/// A process that runs one program at a time; it is killed when this is dropped, with all that it
/// runs.
struct Supervisor {
    /// Its name in errors.
    who: String,
    _process: Child,
    tasks: ChildStdin,
    words: Lines<BufReader<ChildStdout>>,
    /// Whether a program was begun and has not ended.
    runs: bool,
    ended: Option<Ended>,
}

impl Supervisor {
    async fn start(
        site: &Site,
        station: &HostName,
        step: &ProgramStep,
    ) -> Result<Self, ControllerError> {
        let who = format!("{} on {}", step.name, step.host);
        let failed = |source| ControllerError::System {
            operation: "starting a program's supervisor",
            source,
        };
        let mut process = command(site, station).spawn().map_err(failed)?;
        let missing = || failed(std::io::Error::other("a pipe is missing"));
        let tasks = process.stdin.take().ok_or_else(missing)?;
        let words = BufReader::new(process.stdout.take().ok_or_else(missing)?).lines();
        let mut supervisor =
            Self { who, _process: process, tasks, words, runs: false, ended: None };
        match supervisor.word(MARGIN).await? {
            Message::Waiting => Ok(supervisor),
            other => Err(supervisor.unexpected(&other)),
        }
    }

    fn is_running(&self) -> bool {
        self.runs
    }

    async fn task(&mut self, task: &Task) -> Result<(), ControllerError> {
        let mut line = serde_json::to_string(task).map_err(ControllerError::Document)?;
        line.push('\n');
        let told = self.tasks.write_all(line.as_bytes()).await;
        told.map_err(|error| self.broken(&format!("its supervisor cannot be reached: {error}")))?;
        if *task != Task::Stop {
            (self.runs, self.ended) = (true, None);
        }
        Ok(())
    }

    /// Whether the program became ready; if not, it has ended.
    async fn await_ready(&mut self, limit: Duration) -> Result<bool, ControllerError> {
        match self.word(limit.saturating_add(MARGIN)).await? {
            Message::Ready => Ok(true),
            Message::Ended(ended) => {
                self.over(*ended);
                Ok(false)
            }
            other => Err(self.unexpected(&other)),
        }
    }

    async fn await_end(&mut self, limit: Duration) -> Result<(), ControllerError> {
        while self.runs {
            match self.word(limit.saturating_add(MARGIN)).await? {
                Message::Ready => {}
                Message::Ended(ended) => self.over(*ended),
                other => return Err(self.unexpected(&other)),
            }
        }
        Ok(())
    }

    fn over(&mut self, ended: Ended) {
        (self.runs, self.ended) = (false, Some(ended));
    }

    async fn word(&mut self, limit: Duration) -> Result<Message, ControllerError> {
        let line = match timeout(limit, self.words.next_line()).await {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => return Err(self.broken("its supervisor ended")),
            Ok(Err(error)) => {
                return Err(self.broken(&format!("reading from its supervisor: {error}")));
            }
            Err(_) => {
                return Err(self.broken(&format!(
                    "no message from its supervisor within {} s",
                    limit.as_secs()
                )));
            }
        };
        match serde_json::from_str(&line).map_err(ControllerError::Document)? {
            Message::Failed { message } => Err(self.broken(&message)),
            word => Ok(word),
        }
    }

    fn broken(&self, message: &str) -> ControllerError {
        ControllerError::Program { who: self.who.clone(), message: message.to_owned() }
    }

    fn unexpected(&self, word: &Message) -> ControllerError {
        self.broken(&format!("its supervisor sent an unexpected message: {word:?}"))
    }
}

/// Enters the station, as `btu net exec` does, and supervises there; Ctrl-C is for the controller
/// alone.
fn command(site: &Site, station: &HostName) -> Command {
    let own = |directory: &Path| directory.to_owned();
    let mut command = Command::new(&site.executable);
    command.args(["internal", "enter"]).arg(own(&site.directory)).arg(station.as_str());
    command.args(["--", "/proc/self/exe", "internal", "programs"]).arg(own(&site.directory));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).process_group(0);
    command
}
