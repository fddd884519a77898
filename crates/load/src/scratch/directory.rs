//! A directory of a process's own in one that others may write. It is removed when the process is
//! gone, however it went.
//!
//! Another user who may write the directory around it can rename it, and put something else in its place. So
//! its path is used for nothing but its removal: whatever is in it is reached through its
//! descriptor, which leads to it wherever it is, and no link is followed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use btu_units::hexadecimal;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use ring::rand::{SecureRandom, SystemRandom};

/// What names of our directories begin with.
const PREFIX: &str = "btu-run-";

/// An empty file in each of our directories, made in it by this user: what others call like one of
/// ours has none.
const MARK: &str = ".btu-run";

/// Attempts to make a directory that a starting process removes, and the time between them.
const TRIES: u32 = 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Waits in the directory until the process that works there is gone, whatever ended it, and removes
/// what it left, the mark last: what is left half removed is still known. A network file system may still
/// hold what was open, and is given a second.
const SWEEP: &str = "trap '' HUP INT TERM; read -r line
    clear() {
        for name in ..?* .[!.]* *; do [ \"$name\" = .btu-run ] || rm -rf -- \"$name\"; done
        rm -f .btu-run && rmdir -- \"$1\"
    }
    clear \"$1\" || { sleep 1; clear \"$1\"; }";

/// A directory that only this user may enter, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    /// Its path when it was made, for errors and for its removal.
    path: PathBuf,
    /// It is locked as long as this process lives; some file systems have no locks for directories.
    directory: File,
    sweeper: Option<Child>,
}

impl OwnDirectory {
    /// An empty directory in the existing `within`.
    ///
    /// # Errors
    /// What was done when it failed, and the system's word.
    pub(crate) fn create(within: &Path) -> Result<Self, (&'static str, io::Error)> {
        let (within, around) = enter(within).map_err(|error| ("open a directory", error))?;
        let (name, directory) =
            make_locked(&around).map_err(|error| ("make a directory", error))?;
        let path = within.join(name);
        // From here on it is removed, whatever happens.
        let sweeper = sweeper(&directory, &path).inspect_err(|_| {
            let _ = unlinkat(&directory, MARK, UnlinkatFlags::NoRemoveDir);
            let _ = fs::remove_dir(&path);
        });
        let sweeper = Some(sweeper.map_err(|error| ("start what removes files", error))?);
        Ok(Self { path, directory, sweeper })
    }

    /// Where it was when it was made: for errors, and for programs that find files by their paths.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file `name` in it for reading and writing; `how` makes or empties it, or asks for
    /// I/O past the page cache.
    pub(crate) fn open(&self, name: &str, how: OFlag) -> io::Result<File> {
        open_in(&self.directory, name, OFlag::O_RDWR | how)
    }

    /// The size of the file `name`, in octets.
    pub(crate) fn size(&self, name: &str) -> io::Result<u64> {
        let found = fstatat(&self.directory, in_it(name)?, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        u64::try_from(found.st_size).map_err(io::Error::other)
    }

    /// Renames a file in it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.directory, in_it(from)?, &self.directory, in_it(to)?)?)
    }

    /// Removes a file in it.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.directory, in_it(name)?, UnlinkatFlags::NoRemoveDir)?)
    }
}

impl Drop for OwnDirectory {
    /// The sweeper sees the end of its input, and is waited for: what is measured next finds
    /// nothing of it.
    fn drop(&mut self) {
        if let Some(mut sweeper) = self.sweeper.take() {
            drop(sweeper.stdin.take());
            let _ = sweeper.wait();
        }
    }
}

/// The name, if it is that of an entry: with it alone the system looks nowhere else.
fn in_it(name: &str) -> io::Result<&str> {
    let is_entry = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    is_entry.then_some(name).ok_or_else(|| ErrorKind::InvalidFilename.into())
}

/// Opens the entry `name` of `directory`, and follows no link.
pub(super) fn open_in(directory: &File, name: &str, how: OFlag) -> io::Result<File> {
    let how = how | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(directory, in_it(name)?, how, Mode::S_IRUSR | Mode::S_IWUSR)?.into())
}

/// The whole path of an existing directory, and what leads to that directory from now on.
pub(super) fn enter(within: &Path) -> io::Result<(PathBuf, File)> {
    let path = within.canonicalize()?;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW);
    let around = options.open(&path)?;
    Ok((path, around))
}

/// Makes a directory for this user alone, and locks it. A process that starts at this moment may
/// remove it before it is locked; then another one is made.
fn make_locked(around: &File) -> io::Result<(String, File)> {
    let mut tries = 0..TRIES;
    loop {
        let name = format!("{}{}", prefix(), random()?);
        mkdirat(around, name.as_str(), Mode::S_IRWXU)?;
        match open_made(around, &name) {
            Err(error) if is_passing(&error) && tries.next().is_some() => {}
            opened => return opened.map(|directory| (name, directory)),
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

/// Names that no other process makes, on any host that uses the directory.
fn random() -> io::Result<String> {
    let mut number = [0; 8];
    let unknown = |_| io::Error::other("the system has no random numbers");
    SystemRandom::new().fill(&mut number).map_err(unknown)?;
    Ok(hexadecimal(&number))
}

/// Whether another process removes the directory.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock)
}

/// The directory that was made under this name: locked, empty but for the mark, and of the user to
/// whom belongs what this process makes. A server may give all of that to one user of its own.
fn open_made(around: &File, name: &str) -> io::Result<File> {
    let directory = open_in(around, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    if let Err(TryLockError::WouldBlock) = directory.try_lock() {
        return Err(ErrorKind::WouldBlock.into());
    }
    let replaced = || io::Error::other("another user has put something else in its place");
    // Into one that others may write they could put a link in place of a file.
    let others_may_write = directory.metadata()?.mode() & 0o022 != 0;
    if others_may_write || entries(&directory)?.next().is_some() {
        return Err(replaced());
    }
    let mark = open_in(&directory, MARK, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL)?;
    if mark.metadata()?.uid() == directory.metadata()?.uid() {
        return Ok(directory);
    }
    let _ = unlinkat(&directory, MARK, UnlinkatFlags::NoRemoveDir);
    Err(replaced())
}

/// The names in a directory that is open, wherever it is.
fn entries(directory: &File) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    let names = fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    Ok(names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())))
}

/// What the names of directories begin with that processes of this system make, since it was
/// started: whether those of another host are in use cannot be seen here.
fn prefix() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{PREFIX}{}-", boot.split('-').next().unwrap_or_default())
}

/// Removes this user's directories of any run in `within` whose processes are gone: all of them were
/// killed at once, so that no process removed them. It opens and removes nothing else.
///
/// # Errors
/// `within` cannot be read, or a directory cannot be removed.
pub fn sweep_dead(within: &Path) -> io::Result<()> {
    let prefix = prefix();
    let (_, around) = enter(within)?;
    for name in entries(&around)? {
        let name = name?;
        if !name.starts_with(&prefix) {
            continue;
        }
        let Some(directory) = dead(&around, &name) else { continue };
        match remove(&around, &name, &directory) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The locked directory, if it is this user's own and no process holds it.
fn dead(around: &File, name: &str) -> Option<File> {
    let directory = open_in(around, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY).ok()?;
    let found = directory.metadata().ok()?;
    let is_ours = found.uid() == geteuid().as_raw() && found.mode() & 0o777 == 0o700;
    (is_ours && directory.try_lock().is_ok()).then_some(directory)
}

/// Removes a directory with its files, if it has the mark; without it, if it is empty: its process
/// was killed before it made the mark.
fn remove(around: &File, name: &str, directory: &File) -> io::Result<()> {
    let names: Vec<String> = entries(directory)?.collect::<io::Result<_>>()?;
    if !names.is_empty() && !names.iter().any(|name| name == MARK) {
        return Ok(());
    }
    // The mark is the last of them: what is left half removed is still known.
    let (marks, files): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name == MARK);
    for file in files.iter().chain(&marks) {
        unlinkat(directory, file.as_str(), UnlinkatFlags::NoRemoveDir)?;
    }
    Ok(unlinkat(around, name, UnlinkatFlags::RemoveDir)?)
}

/// A process of its own that outlives this one by a moment, and works in the open directory.
fn sweeper(directory: &File, path: &Path) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SWEEP, "sh"]).arg(path);
    command
        .current_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests;
