//! Files on a share that is mounted already: the kernel's client of NFS or SMB, FUSE, 9p, any file
//! system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use btu_suite::activity::Token;
use btu_suite::lan::Share;
use btu_units::hexadecimal;

use super::{Files, Open};
use crate::LoadError;
use crate::scratch::{OwnDirectory, is_refusal, mounted};

/// A directory of btu on a share. Every operation is a system call that the kernel's client
/// performs, past its cache if the share allows that (`O_DIRECT`, open(2)). No file is left there,
/// even if this process is killed.
#[derive(Debug)]
pub struct ShareFiles {
    directory: OwnDirectory,
    share: Share,
    operations: u64,
}

impl ShareFiles {
    /// An empty directory in the existing `within`, named after run, cell (`token`) and client.
    ///
    /// # Errors
    /// A directory that cannot be used.
    pub fn new(within: &Path, run: u64, token: &Token, client: u32) -> Result<Self, LoadError> {
        let cell = hexadecimal(&token[..4]);
        let failed = |(operation, source)| {
            let directory = within.to_owned();
            LoadError::Share { operation, directory, source }
        };
        let directory =
            OwnDirectory::create(within, run, &format!("{cell}-{client}")).map_err(failed)?;
        let (filesystem, options) = mounted(within);
        let share = Share { filesystem, options, is_direct: false };
        let mut files = Self { directory, share, operations: 0 };
        files.share.is_direct =
            files.takes_direct().map_err(|error| failed(("try reads and writes", error)))?;
        Ok(files)
    }

    /// The description of the share.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// Whether reads and writes of any length may go past the cache: network file systems allow
    /// that; those on disks need whole blocks, and keep their cache.
    fn takes_direct(&self) -> io::Result<bool> {
        let path = self.directory.path().join("probe");
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
        let result = done(&self.directory.path().join(name));
        self.operations += 1;
        result.map_err(|source| {
            let directory = self.directory.path().join(name);
            LoadError::Share { operation, directory, source }
        })
    }
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
        let target = self.directory.path().join(to);
        self.operate("rename", from, |path| fs::rename(path, target))
    }

    fn remove(&mut self, name: &str) -> Result<(), LoadError> {
        self.operate("remove", name, |path| fs::remove_file(path))
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}
