//! Files of this machine's own.

use std::path::Path;

use btu_units::{Bytes, Span};

use super::{Files, Open};
use crate::LoadError;
use crate::volume::{Fault, ROOT, Volume};

/// A directory of this machine: the file system that [`crate::nfs::NfsServer`] serves, without a
/// network before it.
#[derive(Debug)]
pub struct LocalFiles {
    volume: Volume,
    operations: u64,
}

impl LocalFiles {
    /// An empty directory with room for `room`; the content of its files is in the existing
    /// `directory`, without names. Each operation takes `service` at least.
    ///
    /// # Errors
    /// A directory that cannot be used or has less room.
    pub fn new(directory: &Path, room: Bytes, service: Span) -> Result<Self, LoadError> {
        Ok(Self { volume: Volume::new(directory, room, service)?, operations: 0 })
    }

    fn operate<T>(
        &mut self,
        operation: &'static str,
        name: &str,
        done: impl FnOnce(&Volume) -> Result<T, Fault>,
    ) -> Result<T, LoadError> {
        let visit = self.volume.visit()?;
        let result = done(&self.volume);
        visit.end()?;
        drop(visit);
        self.operations += 1;
        result.map_err(|fault| LoadError::File { operation, name: name.to_owned(), fault })
    }
}

impl Files for LocalFiles {
    type File = u64;

    fn open(&mut self, name: &str, open: Open) -> Result<u64, LoadError> {
        let octets = name.as_bytes();
        let found = match open {
            Open::Existing => self.operate("open", name, |volume| volume.look_up(ROOT, octets)),
            Open::Empty => self.operate("make", name, |volume| volume.create(ROOT, octets)),
        };
        Ok(found?.node)
    }

    fn read_at(&mut self, file: &u64, offset: u64, into: &mut [u8]) -> Result<usize, LoadError> {
        let (read, _) =
            self.operate("read", "an open file", |volume| volume.read_at(*file, offset, into))?;
        Ok(read)
    }

    fn write_at(&mut self, file: &u64, offset: u64, octets: &[u8]) -> Result<(), LoadError> {
        self.operate("write", "an open file", |volume| volume.write_at(*file, offset, octets))
    }

    fn flush(&mut self, file: &u64) -> Result<(), LoadError> {
        self.operate("sync", "an open file", |volume| volume.commit(*file))
    }

    fn stat(&mut self, name: &str) -> Result<u64, LoadError> {
        Ok(self.operate("look at", name, |volume| volume.look_up(ROOT, name.as_bytes()))?.size)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), LoadError> {
        self.operate("rename", from, |volume| {
            volume.rename((ROOT, from.as_bytes()), (ROOT, to.as_bytes()))
        })
    }

    fn remove(&mut self, name: &str) -> Result<(), LoadError> {
        self.operate("remove", name, |volume| volume.remove(ROOT, name.as_bytes()))
    }

    fn operations(&self) -> u64 {
        self.operations
    }
}
