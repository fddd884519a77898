//! A directory of a process's own whose files have names: it is removed when the process is gone,
//! however it went.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::unistd::geteuid;

/// What names of our directories begin with.
const PREFIX: &str = "btu-run-";

/// Attempts to make a directory that a starting process removes, and the time between them.
const TRIES: u32 = 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until this process is gone, whatever ended it, and removes what it left.
/// A network file system may still hold what was open, and is given a second.
const SWEEP: &str =
    "trap '' HUP INT TERM; read -r line; rm -rf -- \"$1\" || { sleep 1; rm -rf -- \"$1\"; }";

/// A directory that only this user may enter, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    sweeper: Option<Child>,
    /// The lock that shows other processes that this one lives; some network file systems have
    /// none for directories.
    _lock: Option<File>,
}

impl OwnDirectory {
    /// An empty directory in the existing `within`, named after the run and `name`.
    ///
    /// # Errors
    /// What was done when it failed, and the system's word.
    pub(crate) fn create(
        within: &Path,
        run: u64,
        name: &str,
    ) -> Result<Self, (&'static str, io::Error)> {
        let path = within.join(format!("{}{name}", run_prefix(run)));
        let lock = make_locked(&path).map_err(|error| ("make a directory", error))?;
        // From here on it is removed, whatever happens.
        let sweeper = sweeper(&path).inspect_err(|_| {
            let _ = fs::remove_dir(&path);
        });
        let sweeper = Some(sweeper.map_err(|error| ("start what removes files", error))?);
        Ok(Self { path, sweeper, _lock: lock })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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

/// Makes a directory for this user alone, and locks it. A process that starts at this moment may
/// remove it before it is locked; then it is made again. No lock where the file system has none.
fn make_locked(path: &Path) -> io::Result<Option<File>> {
    make_private(path)?;
    let mut tries = 0..TRIES;
    loop {
        match lock(path) {
            Err(error) if is_passing(&error) && tries.next().is_some() => {}
            locked => return locked,
        }
        thread::sleep(RETRY_INTERVAL);
        match make_private(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700).create(path)
}

/// Whether another process removes the directory.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock)
}

fn lock(path: &Path) -> io::Result<Option<File>> {
    let directory = File::open(path)?;
    match directory.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    let (there, locked) = (fs::metadata(path)?, directory.metadata()?);
    let is_there = (there.dev(), there.ino()) == (locked.dev(), locked.ino());
    if is_there { Ok(Some(directory)) } else { Err(ErrorKind::NotFound.into()) }
}

/// What the names of a run's directories begin with.
fn run_prefix(run: u64) -> String {
    format!("{PREFIX}{run:016x}-")
}

/// Removes the directories that a run may have left in `within` when all its processes were killed
/// at once.
///
/// # Errors
/// A directory that cannot be read, or removed.
pub fn sweep_run(within: &Path, run: u64) -> io::Result<()> {
    let prefix = run_prefix(run);
    for entry in fs::read_dir(within)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            match fs::remove_dir_all(entry.path()) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Removes this user's directories of any run in `within` whose processes are gone: all of them were
/// killed at once, so that no process removed them. It opens and removes nothing else.
///
/// # Errors
/// `within` cannot be read, or a directory cannot be removed.
pub fn sweep_dead(within: &Path) -> io::Result<()> {
    for entry in fs::read_dir(within)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Some(_lock) = dead(&entry.path()) else { continue };
        match fs::remove_dir_all(entry.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The locked directory, if it is this user's own and no process holds it.
fn dead(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
    let directory = options.open(path).ok()?;
    let found = directory.metadata().ok()?;
    let is_ours = found.uid() == geteuid().as_raw() && found.mode() & 0o777 == 0o700;
    (is_ours && directory.try_lock().is_ok()).then_some(directory)
}

/// A process of its own that outlives this one by a moment.
pub(crate) fn sweeper(directory: &Path) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SWEEP, "sh"]).arg(directory);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Only what no process holds, is this user's alone, and is called as btu calls it.
    #[test]
    fn what_killed_runs_left_is_removed_and_nothing_else() {
        let within = tempfile::tempdir().expect("tempdir");
        let path = |name: &str| within.path().join(name);
        let held = OwnDirectory::create(within.path(), 7, "held").expect("made");
        for name in ["btu-run-0-1", "btu-run-0000000000000007-2", "letters", "elsewhere"] {
            make_private(&path(name)).expect("made");
            fs::write(path(name).join("file"), b"x").expect("written");
        }
        make_private(&path("btu-run-open")).expect("made");
        fs::set_permissions(path("btu-run-open"), fs::Permissions::from_mode(0o755)).expect("set");
        symlink(path("elsewhere"), path("btu-run-link")).expect("linked");
        fs::write(path("btu-run-file"), b"x").expect("written");
        sweep_dead(within.path()).expect("swept");
        let mut left: Vec<String> = fs::read_dir(within.path())
            .expect("readable")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort_unstable();
        let ours = "btu-run-0000000000000007-held";
        assert_eq!(
            left,
            [ours, "btu-run-file", "btu-run-link", "btu-run-open", "elsewhere", "letters"]
        );
        assert!(path("elsewhere").join("file").exists());
        drop(held);
        assert!(!path(ours).exists());
    }

    /// A directory that a starting process takes for one that was left behind is made again.
    #[test]
    fn a_directory_is_made_although_others_start() {
        let within = tempfile::tempdir().expect("tempdir");
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sweeping = scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    // It may find what the other end removes itself.
                    let _ = sweep_dead(within.path());
                }
            });
            for number in 0..50 {
                let made = OwnDirectory::create(within.path(), 7, &number.to_string());
                let path = made.as_ref().map(|made| made.path().to_owned());
                assert!(path.is_ok_and(|path| path.is_dir()), "{made:?}");
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            sweeping.join().expect("no panic");
        });
    }
}
