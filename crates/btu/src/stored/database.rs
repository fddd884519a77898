//! The database of runs, and the times that are stored there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use btu_store::{RunId, Store};

use crate::cli::Common;
use crate::exit::Refusal;
use crate::files::new_directory;

/// The file of runs in its directory.
pub(crate) const DATABASE: &str = "runs.sqlite";

/// The directory of the stored runs: the named one, or that of the user.
pub(crate) fn directory(named: Option<&Path>) -> Result<PathBuf, Refusal> {
    if let Some(directory) = named {
        return Ok(directory.to_owned());
    }
    let path = Store::default_path().map_err(|error| Refusal::Machine(error.to_string()))?;
    Ok(path.parent().map(Path::to_owned).unwrap_or_default())
}

/// Opens the database of runs.
pub(crate) fn open(common: &Common) -> Result<Store, Refusal> {
    if let Some(directory) = &common.data {
        new_directory("--data (BTU_DATA)", directory)?;
    }
    let path = directory(common.data.as_deref())?.join(DATABASE);
    Store::open(path).map_err(|error| Refusal::Machine(error.to_string()))
}

/// Opens the database of runs for a command that only reads them: it may be on a disk that cannot
/// be written.
pub(crate) fn open_to_read(common: &Common) -> Result<Store, Refusal> {
    let path = directory(common.data.as_deref())?.join(DATABASE);
    // Where there is none yet, an empty one is made, with the same checks as for writing.
    if !path.is_file() {
        return open(common);
    }
    Store::open_to_read(path).map_err(|error| Refusal::Machine(error.to_string()))
}

/// The runs that have a tag.
///
/// # Errors
/// None has it.
pub(crate) fn tagged(store: &Store, tag: &str) -> anyhow::Result<Vec<RunId>> {
    let runs = store.tagged(tag)?;
    if runs.is_empty() {
        return Err(Refusal::Usage(format!("no run has the tag `{tag}`")).into());
    }
    Ok(runs)
}

/// Wall time for the record; no measurement uses it.
pub(crate) fn wall_clock() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Wall time before now, for the record of what began then.
pub(crate) fn wall_clock_before(duration: Duration) -> String {
    let now = jiff::Timestamp::now();
    // Out of the calendar only if the clock is.
    now.checked_sub(duration).unwrap_or(now).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
