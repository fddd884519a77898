//! Checks that find impossible requests before anything starts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_testbed::testbed::Grants;
use btu_units::Bytes;

use crate::exit::Refusal;
use crate::files::{is_directory, make_last};

/// Whether namespaces are available, with the required rights, and what else is granted:
/// `receivers` are sets of processors, each to do the protocol work of a station.
pub(crate) fn namespaces(executable: &Path, receivers: &[Vec<u32>]) -> Result<Grants, Refusal> {
    btu_testbed::testbed::preflight(executable, receivers)
        .map_err(|error| Refusal::Machine(error.to_string()))
}

/// The directory of the disk and transfer activities' files: the one that the user names, which
/// must exist, else `scratch` in the directory of the stored runs, which [`scratch_room`] makes.
pub(crate) fn scratch_directory(named: Option<&Path>, database: &Path) -> Result<PathBuf, Refusal> {
    let Some(directory) = named else {
        return Ok(database.parent().unwrap_or(Path::new(".")).join("scratch"));
    };
    is_directory("--scratch", directory)?;
    Ok(directory.to_owned())
}

/// Checks the room in the scratch directory; makes no directory if no room is needed.
pub(crate) fn scratch_room(directory: &Path, needed: Bytes) -> Result<(), Refusal> {
    if needed == Bytes::ZERO {
        return Ok(());
    }
    make_last(directory).map_err(|error| {
        Refusal::Machine(format!(
            "making the scratch directory {}: {error}; see --scratch",
            directory.display()
        ))
    })?;
    btu_load::scratch_check(directory, needed)
        .map(drop)
        .map_err(|error| Refusal::Machine(error.to_string()))
}

/// A path for this run's own directory of sockets, among those of this user's other runs.
pub(crate) fn runtime_directory() -> anyhow::Result<PathBuf> {
    runtime_directory_of("run")
}

/// The same for what else has such a directory.
pub(crate) fn runtime_directory_of(part: &str) -> anyhow::Result<PathBuf> {
    Ok(btu_testbed::testbed::private_directory(part)?.join(format!("{:08x}", random()?)))
}

/// A number from the kernel's random source.
pub(crate) fn random() -> anyhow::Result<u32> {
    random_bytes().map(u32::from_ne_bytes)
}

/// Bytes from the kernel's random source.
pub(crate) fn random_bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    btu_control::octets::random().context("ask the kernel for random bytes")
}
