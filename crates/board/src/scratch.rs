//! The directory in which a server's programs compute. The next server removes that of one that was killed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::error::BoardError;

/// What a directory's name begins with; [`RANDOM`] letters and digits follow.
const PREFIX: &str = "btu-board-scratch-";

const RANDOM: usize = 12;

/// The file inside that only this program makes, and holds locked as long as it lives.
const LOCK: &str = "btu-board.lock";

/// What the file says.
const MARK: &str = "The scratch directory of a server of btu-board, which removes it.\n";

/// A directory that is removed with this value, or, if the process is killed, by the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: TempDir,
    /// Programs that this process starts do not inherit the lock.
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those that no server holds.
    pub(crate) fn new() -> Result<Self, BoardError> {
        let made = Self::make();
        made.map_err(|error| {
            BoardError::Failed(format!(
                "making a directory to compute in, in {}: {error}; TMPDIR names another place",
                std::env::temp_dir().display()
            ))
        })
    }

    fn make() -> std::io::Result<Self> {
        remove_abandoned(&std::env::temp_dir());
        let private = fs::Permissions::from_mode(0o700);
        let mut builder = tempfile::Builder::new();
        let directory = builder.prefix(PREFIX).rand_bytes(RANDOM).permissions(private).tempdir()?;
        // Under its own name only when it is locked: until then, no other server takes the directory for one of its kind.
        let unlocked = directory.path().join("unlocked");
        fs::write(&unlocked, MARK)?;
        let lock = File::open(&unlocked)?;
        lock.lock()?;
        fs::rename(&unlocked, directory.path().join(LOCK))?;
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of servers that were killed. What cannot be removed will be tried again.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if is_name(&name.to_string_lossy()) && is_abandoned(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX);
    random.is_some_and(|random| {
        random.len() == RANDOM && random.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

/// Whether it is a directory of this user, no link, with the mark of this program inside, which no process holds.
fn is_abandoned(path: &Path) -> bool {
    let is_own = |one: &fs::Metadata| one.uid() == geteuid().as_raw();
    if !fs::symlink_metadata(path).is_ok_and(|one| one.is_dir() && is_own(&one)) {
        return false;
    }
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let Ok(lock) = options.open(path.join(LOCK)) else { return false };
    let is_mark = lock.metadata().is_ok_and(|one| one.is_file() && is_own(&one))
        && fs::read(path.join(LOCK)).is_ok_and(|text| text == MARK.as_bytes());
    is_mark && lock.try_lock().is_ok()
}
