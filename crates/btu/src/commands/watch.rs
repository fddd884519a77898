//! `btu watch`: measures on a schedule, keeps every run, says how it differs from those before, and
//! serves the newest numbers.

mod metrics;

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use btu_store::{RunId, State};
use btu_testbed::note;
use btu_testbed::testbed::{Ending, Signals};
use btu_units::shell_word;
use clap::Subcommand;
use nix::sys::signal::Signal;

use crate::StudyCommand;
use crate::cli::{Common, Watch};
use crate::commands::runs;
use crate::exit::Refusal;
use crate::results;
use crate::stored;
use metrics::{Metrics, Server};

/// The kernel waits for no more than 24 days at once.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// The newest run is compared with so many before it: a month of them would be no command line.
const EARLIER: usize = 10;

/// Measures until it is asked to end, or as often as was asked.
pub(crate) fn run(watch: &Watch, common: &Common) -> anyhow::Result<ExitCode> {
    let command = measuring(&watch.command)?;
    // Before there is a second thread.
    let signals = Signals::take().context("waiting for signals")?;
    let server = Server::open(watch.listen).map_err(|error| {
        let place = watch.listen;
        Refusal::Machine(format!("listening on {place}: {error}; --listen names another port"))
    })?;
    note!("watch: numbers for Prometheus at http://{}/metrics", server.address());
    let every = Duration::from(watch.every);
    let (mut metrics, mut earlier) = (Metrics::default(), Vec::new());
    if let Some(run) = newest(common, &command)? {
        metrics.newest = runs::gauges_of(common, run)?;
        server.show(&metrics);
    }
    let mut next = Instant::now();
    let mut left = watch.times;
    loop {
        match measure(watch, common, &command, &signals)? {
            CommandOutcome::Stopped(code) => return Ok(code),
            // The same words will not do better the next time (exit codes of `btu --help`).
            CommandOutcome::Failed(Ending::Exited(code @ (2 | 3))) if earlier.is_empty() => {
                return Ok(ExitCode::from(code as u8));
            }
            CommandOutcome::Failed(ending) => {
                metrics.failed += 1;
                metrics.succeeded = Some(false);
                note!("watch: {} {ending}", shown(&watch.command));
            }
            CommandOutcome::Run(run) => {
                metrics.complete += 1;
                metrics.succeeded = Some(true);
                metrics.newest = runs::gauges_of(common, run)?;
                say_what_changed(common, &earlier, run);
                earlier.push(run);
                earlier.drain(..earlier.len().saturating_sub(EARLIER));
            }
        }
        server.show(&metrics);
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) {
            return Ok(if metrics.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        next = after(next, every);
        if let Some(signal) = await_signal(&signals, next)? {
            return Ok(ExitCode::from(128 + signal as u8));
        }
    }
}

/// The signal that asks this process to end, if one comes before that time.
fn await_signal(signals: &Signals, until: Instant) -> anyhow::Result<Option<Signal>> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if let Some(signal) = signals.request(left.min(LONGEST_WAIT))? {
            return Ok(Some(signal));
        }
    }
}

/// The next start on the schedule: starts that a long run has missed are left out.
fn after(last: Instant, every: Duration) -> Instant {
    let missed = last.elapsed().as_nanos() / every.as_nanos().max(1);
    let times = u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1);
    last + every.saturating_mul(times)
}

/// The name of the measuring command.
fn measuring(command: &[OsString]) -> Result<String, Refusal> {
    let name = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if StudyCommand::has_subcommand(&name) {
        return Ok(name);
    }
    Err(Refusal::Usage(format!(
        "`{name}` measures nothing: after -- comes speed, rate, pipe, app, copy, lan, fleet or run, with options"
    )))
}

fn shown(command: &[OsString]) -> String {
    let words = command.iter().map(|word| shell_word(&word.to_string_lossy()));
    words.fold("btu".to_owned(), |line, word| line + " " + &word)
}

/// How a command ended.
enum CommandOutcome {
    /// With a complete run.
    Run(RunId),
    /// Without one.
    Failed(Ending),
    /// It was asked to end, and so is this process.
    Stopped(ExitCode),
}

/// Runs the command; its output is the user's.
fn measure(
    watch: &Watch,
    common: &Common,
    command: &str,
    signals: &Signals,
) -> anyhow::Result<CommandOutcome> {
    let before = newest(common, command)?;
    let child = signals.start(&mut btu(common, &watch.command)?);
    let child = child.context("starting this program again")?;
    let ending = signals.attend(&child).context("waiting for the measurement")?;
    // By Ctrl-C or a signal that was passed on (exit codes of `btu --help`), perhaps before the
    // command was ready for it.
    let asked = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].map(|signal| signal as i32);
    match ending {
        Ending::Exited(code @ (130 | 143)) => {
            return Ok(CommandOutcome::Stopped(ExitCode::from(code as u8)));
        }
        Ending::Killed(signal) if asked.contains(&signal) => {
            return Ok(CommandOutcome::Stopped(ExitCode::from(128 + signal as u8)));
        }
        _ => {}
    }
    let after = newest(common, command)?.filter(|run| Some(*run) != before);
    Ok(match (ending, after) {
        (Ending::Exited(0), Some(run)) => CommandOutcome::Run(run),
        (ending, _) => CommandOutcome::Failed(ending),
    })
}

/// This program with these words, and with the user's directory of runs.
fn btu(common: &Common, words: &[OsString]) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).stdin(Stdio::null());
    if let Some(data) = &common.data {
        command.env("BTU_DATA", data);
    }
    if common.json {
        command.arg("--json");
    }
    Ok(command)
}

/// The newest complete run of a command.
fn newest(common: &Common, command: &str) -> anyhow::Result<Option<RunId>> {
    let all = stored::open_to_read(common)?.runs()?;
    let mut complete = all.iter().filter(|run| run.state == State::Complete);
    let newest = complete.rfind(|run| results::command(run).is_some_and(|found| found == command));
    Ok(newest.map(|run| run.id))
}

/// The first sentence of `btu compare`; without it, nothing is said. Of one run after others it is a
/// ratio, and the reason for no verdict is the same each time.
fn say_what_changed(common: &Common, earlier: &[RunId], run: RunId) {
    if earlier.is_empty() {
        return;
    }
    let base: Vec<String> = earlier.iter().map(ToString::to_string).collect();
    let text = Common { data: common.data.clone(), json: false };
    let words = ["compare".into(), base.join(",").into(), run.to_string().into()];
    let compared = btu(&text, &words).and_then(|mut command| Ok(command.output()?));
    let Ok(compared) = compared else { return };
    let said = String::from_utf8_lossy(&compared.stdout);
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default();
    let more = lines.take_while(|line| line.starts_with("  ") && !line.contains("   "));
    let sentence = more.fold(first.to_owned(), |sentence, line| sentence + " " + line.trim());
    let (ratio, _) = sentence.split_once(';').unwrap_or((&sentence, ""));
    if !ratio.is_empty() {
        note!("watch: {ratio}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_keeps_its_beat() {
        let begun = Instant::now();
        let minute = Duration::from_mins(1);
        assert_eq!(after(begun, minute), begun + minute);
        let Some(long_ago) = begun.checked_sub(Duration::from_secs(150)) else { return };
        assert_eq!(after(long_ago, minute), long_ago + Duration::from_mins(3));
    }

    #[test]
    fn only_what_measures_is_watched() {
        assert_eq!(measuring(&["speed".into()]).unwrap(), "speed");
        for word in ["show", "watch", ""] {
            assert!(measuring(&[word.into()]).is_err(), "{word}");
        }
        assert_eq!(shown(&["run".into(), "--".into(), "a b".into()]), "btu run -- 'a b'");
    }
}
