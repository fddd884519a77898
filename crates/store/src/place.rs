//! The place of the database; creates it if it is missing.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::data_file::{open_data_file, place_of};
use crate::error::StoreError;

const FILE: &str = "runs.sqlite";

/// The default path, from the environment variables that `variable` looks up. An empty variable
/// counts as unset, and a relative `XDG_DATA_HOME` is ignored, as its specification demands.
pub(crate) fn default_path(
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, StoreError> {
    let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(data) = directory("BTU_DATA") {
        return Ok(data.join(FILE));
    }
    let share = directory("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| directory("HOME").map(|home| home.join(".local/share")))
        .ok_or(StoreError::NoHome)?;
    Ok(share.join("btu").join(FILE))
}

/// Makes the directories above `path` and the file itself, for their owner only; existing ones keep
/// their rights.
pub(crate) fn prepare(path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| StoreError::from_io(directory, &error))?;
    }
    // `SQLite` itself would open it for reading only, and fail at the first cell.
    open(path, File::options().write(true).create(true).truncate(false))
        .map_err(|error| StoreError::from_io(path, &error))
}

/// Whether the file is there, and one that this user may trust and read.
pub(crate) fn may_read(path: &Path) -> bool {
    open(path, File::options().read(true)).is_ok()
}

fn open(path: &Path, how: &mut OpenOptions) -> io::Result<()> {
    open_data_file(&place_of(path)?, how).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_with(variables: &[(&str, &str)]) -> Result<PathBuf, StoreError> {
        default_path(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn our_own_variable_goes_first() {
        let path =
            path_with(&[("BTU_DATA", "/data"), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/u")])
                .unwrap();
        assert_eq!(path, Path::new("/data/runs.sqlite"));
    }

    #[test]
    fn then_the_users_data_directory() {
        let path =
            path_with(&[("BTU_DATA", ""), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/u")]).unwrap();
        assert_eq!(path, Path::new("/xdg/btu/runs.sqlite"));
    }

    #[test]
    fn a_relative_data_directory_is_ignored() {
        let path = path_with(&[("XDG_DATA_HOME", "xdg"), ("HOME", "/home/u")]).unwrap();
        assert_eq!(path, Path::new("/home/u/.local/share/btu/runs.sqlite"));
    }

    #[test]
    fn no_variable_is_an_error() {
        assert!(matches!(path_with(&[("HOME", "")]), Err(StoreError::NoHome)));
    }
}
