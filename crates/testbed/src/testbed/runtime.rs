//! The directory of a testbed's sockets: private, locked by its owner for life, swept up after
//! owners that died.
//!
//! The lock is the kernel's (`flock`), held through an open file: it ends with the owner's process
//! in any way, and is correct across process namespaces and reboots, unlike a stored process
//! number.
//!
//! No file of another user is opened, waited for or removed. A sweep examines only a directory that
//! this user alone may write, and only names that btu makes, and accepts only a real directory of
//! this user with mode 0700 and a regular file of this user in it. All of that is examined, and
//! removed, through the directory's open file.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::error::{Cause, TestbedError};

mod others;

pub use others::OtherOwner;

/// The name of the file that is locked.
const OWNER: &str = "btu-testbed.lock";

/// Longest path of a Unix socket: `sun_path` of unix(7) less its closing zero.
const LONGEST_SOCKET_PATH_BYTES: usize = 107;
/// The longest name of a socket of a raised network in the directory, with its slash.
const LONGEST_SOCKET_NAME_BYTES: usize = "/agent-999.sock".len();
/// The longest path of a runtime directory.
pub(super) const LONGEST_RUNTIME_PATH_BYTES: usize =
    LONGEST_SOCKET_PATH_BYTES - LONGEST_SOCKET_NAME_BYTES;
/// The longest name of a runtime directory, which is also the longest name of a network.
pub(super) const LONGEST_NAME_BYTES: usize = 40;

/// The number of tries of a claim when a sweep interferes, and the time between two tries. A sweep
/// examines a directory for microseconds.
const TRIES: u32 = 100;
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// A directory of a living testbed. Dropping it removes it.
#[derive(Debug)]
pub struct RuntimeDirectory {
    path: PathBuf,
    directory: File,
    /// The file with the lock.
    _owner: File,
}

impl RuntimeDirectory {
    /// Makes `path`, private to this user, or takes it over if it is empty or if an owner that died
    /// left it behind. Before that, removes the directories that other dead owners left next to it.
    ///
    /// # Errors
    /// A path that is too long, not absolute, owned by another user, open to others, or not empty.
    pub fn claim(path: &Path) -> Result<Self, TestbedError> {
        let bytes = path.as_os_str().len();
        if bytes > LONGEST_RUNTIME_PATH_BYTES {
            return Err(refuse(
                path,
                format!("its path has {bytes} bytes, too many for Unix sockets in it"),
            ));
        }
        if !path.is_absolute() {
            return Err(refuse(path, "its path must begin at the root"));
        }
        // A failed clean-up is no reason to fail.
        drop(path.parent().map(sweep));
        let claimed = lock(path).map_err(|error| refuse(path, error))?;
        // Nor is it a reason to fail that owners could not be told of each other.
        drop(others::introduce(&claimed.directory, path));
        Ok(claimed)
    }

    /// The other processes of this user that had a directory next to this one since it was claimed,
    /// even if they have ended.
    pub fn others(&self) -> Vec<OtherOwner> {
        others::met(&self.directory).unwrap_or_default()
    }

    /// The path of the runtime directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a socket in the directory.
    pub fn socket(path: &Path, name: &str) -> PathBuf {
        path.join(format!("{name}.sock"))
    }
}

impl Drop for RuntimeDirectory {
    fn drop(&mut self) {
        // There is no receiver for an error, and the next start removes the rest.
        drop(remove(&self.directory, &self.path));
    }
}

/// Removes the runtime directories below `parent` with dead owners, and returns them.
///
/// # Errors
/// `parent` is not a directory of this user, or other users may write it: then no file in it is
/// changed.
pub(super) fn sweep(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let opened = open_directory(parent)?;
    if opened.metadata()?.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write it"));
    }
    let mut swept = Vec::new();
    for entry in fs::read_dir(inside(&opened, ""))? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(is_name) && remove_dead(&inside(&opened, &name)) {
            swept.push(parent.join(name));
        }
    }
    Ok(swept)
}

/// Whether a runtime directory may be called so: letters, digits and `-`.
pub(super) fn is_name(name: &str) -> bool {
    let is_short = (1..=LONGEST_NAME_BYTES).contains(&name.len());
    is_short && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether `path` is a testbed's directory of this user with a free lock.
pub(super) fn is_left_behind(path: &Path) -> bool {
    open_private(path).is_ok_and(|directory| dead_owner(&directory).is_some())
}

/// Removes `path` if it was left behind by an owner that died, or was killed before it was one;
/// says returns whether it did.
pub(super) fn remove_dead(path: &Path) -> bool {
    let Ok(directory) = open_private(path) else { return false };
    match dead_owner(&directory) {
        Some(_owner) => remove(&directory, path).is_ok(),
        // Goes only when it is empty.
        None => fs::remove_dir(path).is_ok(),
    }
}

fn lock(path: &Path) -> io::Result<RuntimeDirectory> {
    let mut tries = 0..TRIES;
    loop {
        remove_dead(path);
        match take(path) {
            Err(error) if is_passing(&error) && tries.next().is_some() => {
                thread::sleep(RETRY_INTERVAL);
            }
            taken => return taken,
        }
    }
}

/// Whether a sweep may have come between: it looked at the lock, or took an empty directory away.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

fn take(path: &Path) -> io::Result<RuntimeDirectory> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => (),
    }
    let directory = open_private(path)?;
    if fs::read_dir(inside(&directory, ""))?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::DirectoryNotEmpty,
            "it is not empty, or a living run has it",
        ));
    }
    let owner = File::create_new(inside(&directory, OWNER))?;
    owner.try_lock()?;
    if owner.metadata()?.nlink() == 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(RuntimeDirectory { path: path.to_owned(), directory, _owner: owner })
}

/// The lock file of an owner that died, locked: two sweepers at once both have it, an owner has it
/// alone.
fn dead_owner(directory: &File) -> Option<File> {
    // Neither a link is followed nor a partner of a pipe waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let owner =
        OpenOptions::new().read(true).custom_flags(flags).open(inside(directory, OWNER)).ok()?;
    let about = owner.metadata().ok()?;
    if !about.is_file() || !is_mine(&about) || owner.try_lock_shared().is_err() {
        return None;
    }
    // Another sweeper may have removed it before it was locked here.
    (owner.metadata().ok()?.nlink() > 0).then_some(owner)
}

/// Removes an open directory with everything in it, the lock last: what is removed by halves stays
/// one that was left behind.
fn remove(directory: &File, path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(inside(directory, ""))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != OWNER {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(inside(directory, OWNER))?;
    fs::remove_dir(path)
}

/// Opens `path` if it is a directory of this user, not a link to one, and if no other user may
/// enter it.
fn open_private(path: &Path) -> io::Result<File> {
    let directory = open_directory(path)?;
    let is_private = directory.metadata()?.mode() & 0o777 == 0o700;
    is_private
        .then_some(directory)
        .ok_or_else(|| io::Error::other("others may enter it: its mode is not 0700"))
}

/// Opens `path` if it is a directory of this user, and not a link to one.
fn open_directory(path: &Path) -> io::Result<File> {
    let strange = || io::Error::other("it is not a directory of this user");
    let directory =
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path);
    let directory = directory.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOTDIR | libc::ELOOP | libc::EACCES) => strange(),
        _ => error,
    })?;
    if is_mine(&directory.metadata()?) { Ok(directory) } else { Err(strange()) }
}

fn is_mine(about: &fs::Metadata) -> bool {
    about.uid() == nix::unistd::geteuid().as_raw()
}

/// The path of `name` in an open directory, whatever has become of the directory's own path
/// (`proc_pid_fd`(5)).
fn inside(directory: &File, name: impl AsRef<OsStr>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name.as_ref())
}

fn refuse(path: &Path, reason: impl std::fmt::Display) -> TestbedError {
    let remedy = "name a short path that you may write and that no other user has";
    TestbedError::new(
        Cause::RuntimeDirectory,
        format!("use the runtime directory {}", path.display()),
        reason,
        remedy,
    )
}

#[cfg(test)]
mod tests;
