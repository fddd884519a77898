//! `--virtual`: the same command in virtual time, by this program in a kernel of its own. A study's run
//! is stored there in a private directory, and taken over from it.

use std::ffi::OsString;
use std::io::{Cursor, IsTerminal, Seek as _, stderr, stdin, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use btu_store::{Rewrite, RunId, RunLine, Store};
use btu_testbed::note;
use btu_testbed::testbed::{Ending, RuntimeDirectory, Signals};
use btu_testbed::virtual_time::{self, Kernel, Order, Streams};
use nix::sys::stat::fstat;

use crate::cli::{Common, StudyOptions};
use crate::exit::{Refusal, SaidAlready};
use crate::results;
use crate::start::progress::{USUAL_COLUMNS, USUAL_LINES};
use crate::start::{preflight, study};
use crate::stored::{self, DATABASE};

/// The option, which the command in virtual time is given without.
const OPTION: &str = "--virtual";

/// Runs `btu net run` in virtual time, and ends as it does.
pub(crate) fn command(seed: Option<u64>) -> anyhow::Result<ExitCode> {
    let (kernel, directory) = prepare()?;
    let seed = study::seed(seed)?;
    let signals = Signals::take().context("waiting for signals")?;
    let streams = Streams {
        input: !stdin().is_terminal(),
        output: true,
        terminal: size(&stdout()),
        error_terminal: size(&stderr()),
        are_one: are_one(),
    };
    let arguments = arguments(&["net", "run"], &[("--seed", seed.to_string().into())]);
    let ending = run((&kernel, &directory), arguments, seed, streams, &signals)?;
    drop(directory);
    Ok(signals.end_like(ending))
}

/// Measures a study in virtual time, and stores its run as one of this machine.
///
/// # Errors
/// [`SaidAlready`] if it was not begun or not finished.
pub(crate) fn study(
    command: &str,
    options: &StudyOptions,
    common: &Common,
) -> anyhow::Result<(Store, RunId)> {
    if options.real.is_any() {
        let why =
            "other hosts have their own time: it is for networks that btu starts on this machine";
        return Err(Refusal::Usage(format!("{OPTION}: {why}")).into());
    }
    let (kernel, directory) = prepare()?;
    let mut store = stored::open(common)?;
    let seed = study::seed(options.seed)?;
    let signals = Signals::take().context("waiting for signals")?;
    let streams = Streams {
        input: false,
        output: false,
        terminal: None,
        error_terminal: size(&stderr()),
        are_one: false,
    };
    let data = Order::directory_inside().join("data");
    let given = [("--seed", seed.to_string().into()), ("--data", data.into_os_string())];
    let ending = run(
        (&kernel, &directory),
        arguments(&[command.trim_start_matches("btu ")], &given),
        seed,
        streams,
        &signals,
    )?;
    signals.release();
    let run = take_over(&mut store, &directory.path().join("data"))?;
    match (run, ending) {
        // 4: the run is slower than allowed, which is found again from the stored run.
        (Some(run), Ending::Exited(0 | 1 | 4)) => Ok((store, run)),
        (run, ending) => {
            if let Some(run) = run {
                note!(
                    "Run {run} was not finished; its cells are kept in {}.",
                    store.path().display()
                );
            }
            Err(SaidAlready(ending.exit_code()).into())
        }
    }
}

/// The name of a run in every database, in place of the one that the kernel's seed gave it.
struct Renamed(String);

impl Rewrite for Renamed {
    fn run(&self, line: RunLine) -> Result<RunLine, String> {
        Ok(RunLine { uuid: self.0.clone(), ..line })
    }
}

/// Stores the run of the database in that directory; `None` if there is none.
fn take_over(store: &mut Store, directory: &Path) -> anyhow::Result<Option<RunId>> {
    let database = directory.join(DATABASE);
    if !database.is_file() {
        return Ok(None);
    }
    let theirs = Store::open(database)?;
    let Some(run) = theirs.runs()?.last().map(|run| run.id) else { return Ok(None) };
    let mut archive =
        theirs.export_as(&Renamed(store.new_uuid()?), &[run], Cursor::new(Vec::new()))?;
    archive.rewind()?;
    let imported = store.import(archive, results::experiment)?;
    Ok(imported.first().map(|imported| imported.run))
}

/// The kernel, and a directory for what is written there.
fn prepare() -> anyhow::Result<(Kernel, RuntimeDirectory)> {
    let kernel = Kernel::find().map_err(|missing| Refusal::Machine(missing.to_string()))?;
    let directory = RuntimeDirectory::claim(&preflight::runtime_directory_of("virtual")?)?;
    Ok((kernel, directory))
}

fn run(
    (kernel, directory): (&Kernel, &RuntimeDirectory),
    arguments: Vec<OsString>,
    seed: u64,
    streams: Streams,
    signals: &Signals,
) -> anyhow::Result<Ending> {
    let program = std::env::current_exe().context("finding this program's own file")?;
    // /run is another one there.
    let is_kept = |(name, _): &(OsString, OsString)| {
        !["XDG_RUNTIME_DIR", "BTU_DATA", "BTU_KERNEL"].iter().any(|dropped| name == dropped)
    };
    let order = Order {
        command: std::iter::once(program.into()).chain(arguments).collect(),
        directory: std::env::current_dir().context("finding the current directory")?,
        environment: std::env::vars_os().filter(is_kept).collect(),
        seed,
        streams,
    };
    Ok(virtual_time::run(kernel, &order, directory.path(), signals)?)
}

/// This process's arguments without `--virtual`, `--data` and `--seed`, and with the given ones behind the
/// words of the command.
fn arguments(command: &[&str], given: &[(&str, OsString)]) -> Vec<OsString> {
    changed(std::env::args_os().skip(1), command, given)
}

fn changed(
    words: impl Iterator<Item = OsString>,
    command: &[&str],
    given: &[(&str, OsString)],
) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, of_the_program) = words.split_at(end);
    let mut left: Vec<OsString> = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        let text = word.to_string_lossy();
        let is_given = |name: &&str| text == **name || text.starts_with(&format!("{name}="));
        match ["--data", "--seed"].iter().find(|name| is_given(name)) {
            Some(name) if text == **name => drop(own.next()),
            Some(_) => (),
            None if text == OPTION => (),
            None => left.push(word.clone()),
        }
    }
    let mut place = 0;
    for word in command {
        place += left[place..].iter().position(|one| one == word).map_or(0, |found| found + 1);
    }
    let given = given.iter().flat_map(|(name, value)| [OsString::from(name), value.clone()]);
    left.splice(place..place, given);
    left.extend_from_slice(of_the_program);
    left
}

/// Lines and columns of a terminal.
fn size(output: &(impl IsTerminal + AsFd)) -> Option<(u16, u16)> {
    let size = terminal_size::terminal_size_of(output.as_fd());
    output
        .is_terminal()
        .then(|| size.map_or((USUAL_LINES, USUAL_COLUMNS), |(columns, lines)| (lines.0, columns.0)))
}

/// Whether standard output and standard error are one file, pipe or terminal.
fn are_one() -> bool {
    let [output, errors] = [fstat(stdout()), fstat(stderr())];
    output.is_ok_and(|output| {
        errors.is_ok_and(|errors| (output.st_dev, output.st_ino) == (errors.st_dev, errors.st_ino))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_in_there_is_the_same_with_a_seed_and_a_place_of_its_own() {
        let given = [("--seed", OsString::from("7")), ("--data", OsString::from("/d"))];
        for (line, command, expected) in [
            (
                "speed --network home --virtual -C cubic",
                &["speed"][..],
                "speed --seed 7 --data /d --network home -C cubic",
            ),
            (
                "--data=/x net run home --seed 3 --virtual -- run --virtual --seed 4",
                &["net", "run"],
                "net run --seed 7 --data /d home -- run --virtual --seed 4",
            ),
            ("--json --data /x run --virtual -- a", &["run"], "--json run --seed 7 --data /d -- a"),
        ] {
            assert_eq!(
                changed(words(line).into_iter(), command, &given),
                words(expected),
                "{line}"
            );
        }
    }
}
