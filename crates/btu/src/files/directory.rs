//! Directories that the command line names.

use std::path::Path;

use crate::exit::Refusal;

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
