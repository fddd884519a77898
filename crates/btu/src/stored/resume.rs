//! Continues a stored run. Checks that it is incomplete, that its plan is unchanged, and that this is
//! still its machine.

use std::path::Path;

use btu_contract::json;
use btu_contract::network::Machines;
use btu_control::environment::{self, Environment};
use btu_store::{RunLock, RunRow, State, Store};
use btu_testbed::note;
use btu_units::{plain, shell_word};
use serde::de::DeserializeOwned;

use crate::cli::Resuming;
use crate::exit::Refusal;
use crate::stored::provenance::{self, Difference, Start};

/// The plan of a run.
pub(crate) fn plan<T: DeserializeOwned>(row: &RunRow) -> Result<T, Refusal> {
    json::from_value(&row.plan).map_err(|error| {
        let (run, version) = (row.summary.id, &row.summary.btu_version);
        Refusal::Usage(format!(
            "the plan of run {run} cannot be read by this btu ({error}): finish it with btu {version}, which began it"
        ))
    })
}

/// Refuses a plan that this version would perform in another way, or that is not the run's original
/// one.
pub(crate) fn is_its_plan(
    row: &RunRow,
    (found, ours): (u32, u32),
    hash: &str,
) -> Result<(), Refusal> {
    let run = row.summary.id;
    if found != ours {
        return Err(Refusal::Usage(format!(
            "run {run} was planned by another btu (plan version {found}, this one has {ours}): finish it with that one"
        )));
    }
    if row.plan_hash != hash {
        return Err(Refusal::Usage(format!(
            "the plan of run {run} was changed since it was begun: it was {}, what is stored now is {hash}; begin a new run",
            row.plan_hash
        )));
    }
    Ok(())
}

/// Locks a run to continue it; `None`, with a message to the user, if it is complete.
pub(crate) fn lock(store: &Store, row: &RunRow) -> anyhow::Result<Option<RunLock>> {
    let run = row.summary.id;
    let lock = store.lock(run)?;
    // The writer may have completed it before this process had the lock.
    if store.summary(run)?.state != State::Complete {
        return Ok(Some(lock));
    }
    note!("{run} is complete; nothing to do.");
    Ok(None)
}

/// Refuses to call `hosts` for an imported run, because the file's author has named them; unless
/// they are `allowed`.
pub(crate) fn may_call(row: &RunRow, hosts: &[String], allowed: bool) -> Result<(), Refusal> {
    let does = "call hosts, with your ssh";
    ask(row, hosts, allowed, does, "If you trust them, add --call-hosts")
}

/// Refuses to start programs for an imported run, as [`may_call`] does to call hosts.
pub(crate) fn may_start(row: &RunRow, commands: &[String], allowed: bool) -> Result<(), Refusal> {
    let does = "start programs, with your rights";
    ask(row, commands, allowed, does, "If you want them to run, add --start-programs")
}

/// Refuses to use directories for an imported run, as [`may_call`] does to call hosts.
pub(crate) fn may_use(row: &RunRow, directories: &[&Path], allowed: bool) -> Result<(), Refusal> {
    let named: Vec<String> =
        directories.iter().map(|path| shell_word(&path.to_string_lossy())).collect();
    let does = "write files in directories of this machine, with your rights";
    ask(row, &named, allowed, does, "If it may write there, add --use-directory")
}

/// Refuses what the plan of an imported run has this program do to `these`, unless it is `allowed`.
fn ask(
    row: &RunRow,
    these: &[String],
    allowed: bool,
    does: &str,
    how: &str,
) -> Result<(), Refusal> {
    if these.is_empty() || allowed || !row.summary.imported {
        return Ok(());
    }
    let (run, these) = (row.summary.id, plain(&these.join("; ")));
    Err(Refusal::Usage(format!(
        "run {run} was imported, and its plan has this btu {does}: {these}. {how}"
    )))
}

/// Refuses to continue if the machine, its kernel or btu have changed since the run's start; with
/// `force` returns the warning that the run must store. `name` is the host's name if `now` is not
/// this machine.
pub(crate) fn same_machine(
    row: &RunRow,
    name: Option<&str>,
    now: &Environment,
    force: bool,
) -> Result<Option<String>, Refusal> {
    let found = match provenance::start(row, name) {
        Start::Seen(first) => provenance::differences(&first, now),
        Start::Unreadable => {
            vec![Difference::new("machine", "one that this btu cannot read", "this one")]
        }
        // It ended before the first measurement.
        Start::Unseen if row.summary.cells == 0 => Vec::new(),
        Start::Unseen => vec![Difference::new("machine", "an unknown one", "this one")],
    };
    allow(row, name, &found, force)
}

/// Checks that the rest can be measured on the machines of the run's start: this machine, or real
/// hosts, which must be called. Returns the warning that a forced run stores.
pub(crate) fn same_ground(
    row: &RunRow,
    machines: Option<&Machines>,
    options: &Resuming,
) -> Result<Option<String>, Refusal> {
    let Some(machines) = machines else {
        return same_machine(row, None, &environment::collect(), options.force);
    };
    let hosts: Vec<String> = machines.hosts.iter().map(ToString::to_string).collect();
    may_call(row, &hosts, options.allowed.call_hosts)?;
    // The system under test is on another machine.
    same_version(row, options.force)
}

/// Refuses to continue with another version of btu, as [`same_machine`] does for the machine.
pub(crate) fn same_version(row: &RunRow, force: bool) -> Result<Option<String>, Refusal> {
    let (began, now) = (row.summary.btu_version.as_str(), env!("CARGO_PKG_VERSION"));
    let found = (began != now).then(|| Difference::new("btu", began, now));
    allow(row, None, found.as_slice(), force)
}

fn allow(
    row: &RunRow,
    name: Option<&str>,
    found: &[Difference],
    force: bool,
) -> Result<Option<String>, Refusal> {
    if found.is_empty() {
        return Ok(None);
    }
    if force {
        return Ok(Some(provenance::warning(name, found)));
    }
    let host = name.map_or_else(String::new, |name| format!(" ({name})"));
    Err(Refusal::Machine(format!(
        "run {} was started in another environment{host}: {}. Cells of both are a result of neither: finish it where it was \
         started, start a new run, or add --force, which every report of the run will mention",
        row.summary.id,
        provenance::list(found)
    )))
}
