//! Files on a share that is mounted already: the kernel's client of NFS or SMB, FUSE, 9p, any file
//! system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use btu_suite::activity::Token;
use btu_suite::lan::Share;
use btu_units::hexadecimal;

use super::{Files, Open};
use crate::LoadError;
use crate::scratch::{is_refusal, mounted};

/// What names of our directories begin with.
const PREFIX: &str = "btu-lan-";

/// Waits until this process is gone, whatever ended it, and removes what it left.
/// A network file system may still hold what was open, and is given a second.
const SWEEP: &str =
    "trap '' HUP INT TERM; read -r line; rm -rf -- \"$1\" || { sleep 1; rm -rf -- \"$1\"; }";

/// A directory of our own on a share. Every operation is a system call that the kernel's client
/// carries out; past its cache where the share takes that (`O_DIRECT`, open(2)). Nothing is left
/// there, even if this process is killed.
#[derive(Debug)]
pub struct ShareFiles {
    directory: PathBuf,
    share: Share,
    operations: u64,
    sweeper: Option<Child>,
}

impl ShareFiles {
    /// An empty directory in the existing `within`, named after run, cell (`token`) and client.
    ///
    /// # Errors
    /// A directory that cannot be used.
    pub fn new(within: &Path, run: u64, token: &Token, client: u32) -> Result<Self, LoadError> {
        let cell = hexadecimal(&token[..4]);
        let directory = within.join(format!("{}{cell}-{client}", run_prefix(run)));
        let failed = |operation| {
            let directory = within.to_owned();
            move |source| LoadError::Share { operation, directory, source }
        };
        fs::create_dir(&directory).map_err(failed("make a directory"))?;
        // From here on it is removed, whatever happens.
        let sweeper = sweeper(&directory).inspect_err(|_| {
            let _ = fs::remove_dir(&directory);
        });
        let sweeper = Some(sweeper.map_err(failed("start what removes files"))?);
        let (filesystem, options) = mounted(within);
        let share = Share { filesystem, options, is_direct: false };
        let mut files = Self { directory, share, operations: 0, sweeper };
        files.share.is_direct = files.takes_direct().map_err(failed("try reads and writes"))?;
        Ok(files)
    }

    /// What the share is.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// Whether reads and writes of any length may go past the cache: network file systems take
    /// that, those on disks want whole blocks and are left their cache.
    fn takes_direct(&self) -> io::Result<bool> {
        let path = self.directory.join("probe");
        let tried = options(true).create(true).open(&path).and_then(|file| {
            let mut back = [0; 7];
            file.write_all_at(b"1234567", 0)?;
            file.read_exact_at(&mut back, 0)
        });
        if path.exists() {
            fs::remove_file(&path)?;
        }
        match tried {
            Ok(()) => Ok(true),
            Err(error) if is_refusal(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn operate<T>(
        &mut self,
        operation: &'static str,
        name: &str,
        done: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<T, LoadError> {
        let result = done(&self.directory.join(name));
        self.operations += 1;
        result.map_err(|source| {
            let directory = self.directory.join(name);
            LoadError::Share { operation, directory, source }
        })
    }
}

/// What the names of a run's directories begin with.
fn run_prefix(run: u64) -> String {
    format!("{PREFIX}{run:016x}-")
}

/// Removes what a run may have left on a share whose processes were all killed at once.
///
/// # Errors
/// A directory that cannot be read, or removed.
pub fn sweep_share(within: &Path, run: u64) -> io::Result<()> {
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
pub(super) fn sweeper(directory: &Path) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SWEEP, "sh"]).arg(directory);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn options(direct: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(if direct {
        libc::O_DIRECT
    } else {
        0
    });
    options
}

impl Files for ShareFiles {
    type File = File;

    fn open(&mut self, name: &str, open: Open) -> Result<File, LoadError> {
        let mut options = options(self.share.is_direct);
        match open {
            Open::Existing => self.operate("open", name, |path| options.open(path)),
            Open::Empty => {
                self.operate("make", name, |path| options.create(true).truncate(true).open(path))
            }
        }
    }

    fn read_at(&mut self, file: &File, offset: u64, into: &mut [u8]) -> Result<usize, LoadError> {
        self.operate("read", "", |_| {
            let mut filled = 0;
            while filled < into.len() {
                match file.read_at(&mut into[filled..], offset + filled as u64) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(filled)
        })
    }

    fn write_at(&mut self, file: &File, offset: u64, octets: &[u8]) -> Result<(), LoadError> {
        self.operate("write", "", |_| file.write_all_at(octets, offset))
    }

    fn flush(&mut self, file: &File) -> Result<(), LoadError> {
        self.operate("flush", "", |_| file.sync_data())
    }

    fn stat(&mut self, name: &str) -> Result<u64, LoadError> {
        self.operate("look at", name, |path| Ok(fs::metadata(path)?.len()))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), LoadError> {
        let target = self.directory.join(to);
        self.operate("rename", from, |path| fs::rename(path, target))
    }

    fn remove(&mut self, name: &str) -> Result<(), LoadError> {
        self.operate("remove", name, |path| fs::remove_file(path))
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}

impl Drop for ShareFiles {
    /// The sweeper sees the end of its input, and is waited for: what is measured next finds the
    /// share as it was.
    fn drop(&mut self) {
        if let Some(mut sweeper) = self.sweeper.take() {
            drop(sweeper.stdin.take());
            let _ = sweeper.wait();
        }
    }
}
