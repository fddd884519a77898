//! Files on a share that is mounted already: the kernel's client of NFS or SMB, FUSE, 9p, any file
//! system.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use btu_contract::lan::Share;
use nix::fcntl::OFlag;

use super::{Files, Open};
use crate::LoadError;
use crate::scratch::{OwnDirectory, check_share, is_refusal, mounted};

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
    /// An empty directory in the existing `within`.
    ///
    /// # Errors
    /// A directory that cannot be used.
    pub fn new(within: &Path) -> Result<Self, LoadError> {
        let failed = |(operation, source)| {
            let directory = within.to_owned();
            LoadError::Share { operation, directory, source }
        };
        check_share(within).map_err(|error| failed(("use files", error)))?;
        let directory = OwnDirectory::create(within).map_err(failed)?;
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
        let tried = self.directory.open(PROBE, OFlag::O_CREAT | OFlag::O_DIRECT).and_then(|file| {
            let mut back = [0; 7];
            file.write_all_at(b"1234567", 0)?;
            file.read_exact_at(&mut back, 0)
        });
        match self.directory.remove(PROBE) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
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
        done: impl FnOnce(&OwnDirectory) -> io::Result<T>,
    ) -> Result<T, LoadError> {
        let result = done(&self.directory);
        self.operations += 1;
        result.map_err(|source| {
            let directory = self.directory.path().join(name);
            LoadError::Share { operation, directory, source }
        })
    }
}

/// The file with which reads and writes past the cache are tried.
const PROBE: &str = "probe";

impl Files for ShareFiles {
    type File = File;

    fn open(&mut self, name: &str, open: Open) -> Result<File, LoadError> {
        let direct = if self.share.is_direct { OFlag::O_DIRECT } else { OFlag::empty() };
        let empty = direct | OFlag::O_CREAT | OFlag::O_TRUNC;
        match open {
            Open::Existing => self.operate("open", name, |own| own.open(name, direct)),
            Open::Empty => self.operate("make", name, |own| own.open(name, empty)),
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
        self.operate("look at", name, |own| own.size(name))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), LoadError> {
        self.operate("rename", from, |own| own.rename(from, to))
    }

    fn remove(&mut self, name: &str) -> Result<(), LoadError> {
        self.operate("remove", name, |own| own.remove(name))
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}
