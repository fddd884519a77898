//! The directory of a house's sockets: private, locked by its owner for life, swept up after owners that died.
//!
//! The lock is the kernel's (`flock`), held through an open file: it ends with the owner's process in whatever way
//! that ends, and says the truth across process namespaces and reboots, where a noted process number would not.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::{Cause, TestbedError};

/// The locked file. Its name is what tells a house's directory from any other.
const OWNER: &str = "btu-house.lock";
/// Its name until it is locked, so that no sweep sees it without its lock.
const UNBORN_OWNER: &str = "btu-house.lock.new";

/// Longest path of a Unix socket: `sun_path` of unix(7) less its closing zero.
const LONGEST_SOCKET_PATH_BYTES: usize = 107;
/// The longest name of a socket in the directory, with its slash.
const LONGEST_SOCKET_NAME_BYTES: usize = "/passive.sock".len();

/// A directory of a living house. Dropping it removes it.
#[derive(Debug)]
pub struct RuntimeDirectory {
    path: PathBuf,
    /// Keeps the lock.
    _owner: File,
}

impl RuntimeDirectory {
    /// Makes `path`, private to this user, or takes it where it is empty or was left behind by an owner that died.
    ///
    /// # Errors
    /// A path that is too long, not absolute, somebody else's, or not empty.
    pub fn claim(path: &Path) -> Result<Self, TestbedError> {
        let bytes = path.as_os_str().len();
        if bytes + LONGEST_SOCKET_NAME_BYTES > LONGEST_SOCKET_PATH_BYTES {
            return Err(refuse(path, format!("its path has {bytes} bytes, too many for Unix sockets in it")));
        }
        if !path.is_absolute() {
            return Err(refuse(path, "its path must begin at the root"));
        }
        lock(path).map_err(|error| refuse(path, error))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a socket in the directory.
    pub(super) fn socket(path: &Path, name: &str) -> PathBuf {
        path.join(format!("{name}.sock"))
    }
}

impl Drop for RuntimeDirectory {
    fn drop(&mut self) {
        // Nobody is left to tell, and what cannot be removed now is swept by the next start.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Removes the runtime directories below `parent` whose owners died, and returns them.
///
/// Only directories of this user that hold a house's lock file are touched.
pub fn sweep(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let mut swept = Vec::new();
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if is_left_behind(&path) && fs::remove_dir_all(&path).is_ok() {
            swept.push(path);
        }
    }
    Ok(swept)
}

fn lock(path: &Path) -> io::Result<RuntimeDirectory> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ if !is_ours(path) => return Err(io::Error::other("it is not a directory of this user")),
        _ => fs::set_permissions(path, Permissions::from_mode(0o700))?,
    }
    if is_left_behind(path) {
        clear(path)?;
    }
    if fs::read_dir(path)?.next().is_some() {
        return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "it is not empty, or a living run has it"));
    }
    let owner = File::create_new(path.join(UNBORN_OWNER))?;
    owner.try_lock()?;
    fs::rename(path.join(UNBORN_OWNER), path.join(OWNER))?;
    Ok(RuntimeDirectory { path: path.to_owned(), _owner: owner })
}

/// Whether `path` is a house's directory of ours whose lock nobody holds.
pub(super) fn is_left_behind(path: &Path) -> bool {
    is_ours(path) && File::open(path.join(OWNER)).is_ok_and(|owner| is_free(&owner))
}

/// Whether `path` is a directory of this user, and not a link to one.
pub(super) fn is_ours(path: &Path) -> bool {
    let me = nix::unistd::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|status| status.is_dir() && status.uid() == me)
}

fn is_free(owner: &File) -> bool {
    // A shared lock is enough to learn it; two sweepers at once both see a dead owner.
    !matches!(owner.try_lock_shared(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

fn clear(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

fn refuse(path: &Path, reason: impl std::fmt::Display) -> TestbedError {
    let remedy = "name a short path that you may write and that nobody else uses";
    TestbedError::new(Cause::RuntimeDirectory, format!("use the runtime directory {}", path.display()), reason, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_directory_is_private_and_goes_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let claimed = RuntimeDirectory::claim(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(RuntimeDirectory::claim(&path).unwrap_err().cause, Cause::RuntimeDirectory);
        drop(claimed);
        assert!(!path.exists());
    }

    #[test]
    fn the_sweep_takes_what_the_dead_left_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = RuntimeDirectory::claim(&parent.path().join("living")).unwrap();
        let dead = parent.path().join("dead");
        std::mem::forget(RuntimeDirectory::claim(&dead).unwrap());
        let foreign = parent.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        // A forgotten claim still holds its lock, as a living owner does; a lock file without one is a dead owner's.
        assert!(sweep(parent.path()).unwrap().is_empty());
        fs::remove_file(dead.join(OWNER)).unwrap();
        fs::write(dead.join(OWNER), "").unwrap();
        assert_eq!(sweep(parent.path()).unwrap(), [dead]);
        assert!(living.path.exists() && foreign.exists());
    }

    #[test]
    fn what_a_dead_owner_left_can_be_claimed_again() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join(OWNER), "").unwrap();
        fs::write(parent.path().join("active.sock"), "").unwrap();
        let claimed = RuntimeDirectory::claim(parent.path()).unwrap();
        assert!(!claimed.path.join("active.sock").exists());
    }

    #[test]
    fn a_directory_with_other_things_in_it_is_refused_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("mine"), "").unwrap();
        assert!(RuntimeDirectory::claim(parent.path()).unwrap_err().reason.contains("not empty"));
        assert!(parent.path().join("mine").exists());
    }

    #[test]
    fn a_path_too_long_for_sockets_is_refused_before_anything_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let long = parent.path().join("x".repeat(120));
        assert!(RuntimeDirectory::claim(&long).unwrap_err().reason.contains("too many"));
        assert!(!long.exists());
    }
}
