//! A directory of a process's own whose files have names: it is removed when the process is gone,
//! however it went.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What names of our directories begin with.
const PREFIX: &str = "btu-run-";

/// Waits until this process is gone, whatever ended it, and removes what it left.
/// A network file system may still hold what was open, and is given a second.
const SWEEP: &str =
    "trap '' HUP INT TERM; read -r line; rm -rf -- \"$1\" || { sleep 1; rm -rf -- \"$1\"; }";

/// A directory that only this user may enter, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    sweeper: Option<Child>,
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
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| ("make a directory", error))?;
        // From here on it is removed, whatever happens.
        let sweeper = sweeper(&path).inspect_err(|_| {
            let _ = fs::remove_dir(&path);
        });
        let sweeper = Some(sweeper.map_err(|error| ("start what removes files", error))?);
        Ok(Self { path, sweeper })
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
