//! Checks that find impossible requests before anything starts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use btu_store::Store;
use btu_testbed::testbed::Grants;
use btu_units::Bytes;

use crate::cli::Common;
use crate::exit::Refusal;

/// The file of runs in its directory.
const DATABASE: &str = "runs.sqlite";

/// Opens the database of runs.
pub(crate) fn store(common: &Common) -> Result<Store, Refusal> {
    let path = match &common.data {
        Some(directory) => {
            new_directory("--data (BTU_DATA)", directory)?;
            directory.join(DATABASE)
        }
        None => Store::default_path().map_err(|error| Refusal::Machine(error.to_string()))?,
    };
    Store::open(path).map_err(|error| Refusal::Machine(error.to_string()))
}

/// Opens the database of runs for a command that only reads them: it may be on a disk that cannot
/// be written.
pub(crate) fn stored(common: &Common) -> Result<Store, Refusal> {
    let path = match &common.data {
        Some(directory) => directory.join(DATABASE),
        None => Store::default_path().map_err(|error| Refusal::Machine(error.to_string()))?,
    };
    // Where there is none yet, an empty one is made, with the same checks as for writing.
    if !path.is_file() {
        return store(common);
    }
    Store::open_to_read(path).map_err(|error| Refusal::Machine(error.to_string()))
}

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

/// Refuses a directory that does not exist: one that is made because of a typing error would stay.
pub(crate) fn is_directory(option: &str, directory: &Path) -> Result<(), Refusal> {
    // The relative path with one component has the empty path above it.
    if directory.as_os_str().is_empty() || directory.is_dir() {
        return Ok(());
    }
    let what = if directory.exists() { "not a directory" } else { "no such directory" };
    Err(Refusal::Usage(format!(
        "{option}: {what}: {}; make it first, or name another",
        directory.display()
    )))
}

/// A directory that the user names for what `option` writes: it may be new, but its parents must
/// exist.
pub(crate) fn new_directory(option: &str, directory: &Path) -> Result<(), Refusal> {
    directory.parent().map_or(Ok(()), |above| is_directory(option, above))
}

/// Makes `directory`, and nothing above it, unless it is there.
pub(crate) fn make_last(directory: &Path) -> std::io::Result<()> {
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// A path for this run's own directory of sockets, among those of this user's other runs.
pub(crate) fn runtime_directory() -> anyhow::Result<PathBuf> {
    Ok(btu_testbed::testbed::private_directory("run")?.join(format!("{:08x}", random()?)))
}

/// A number from the kernel's random source.
pub(crate) fn random() -> anyhow::Result<u32> {
    random_bytes().map(u32::from_ne_bytes)
}

/// Bytes from the kernel's random source.
pub(crate) fn random_bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    btu_control::octets::random().context("ask the kernel for random bytes")
}
