//! Files and directories, and the space that they share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use btu_units::Bytes;

use super::{Fault, Stat};
use crate::LoadError;
use crate::scratch::ScratchFile;

#[derive(Debug)]
pub(super) enum Node {
    File(std::sync::Arc<FileNode>),
    /// Names and the nodes that they mean.
    Directory(BTreeMap<Vec<u8>, u64>),
}

impl Node {
    /// `changes` are those of all directories.
    pub(super) fn stat(&self, node: u64, changes: u64) -> Stat {
        match self {
            Self::File(file) => {
                let changes = file.changes.load(Ordering::Relaxed);
                Stat { node, is_directory: false, size: file.size(), changes }
            }
            Self::Directory(names) => {
                Stat { node, is_directory: true, size: names.len() as u64, changes }
            }
        }
    }
}

/// The free space for all files together.
#[derive(Debug)]
pub(super) struct Room {
    free: AtomicU64,
}

impl Room {
    pub(super) const fn new(room: Bytes) -> Self {
        Self { free: AtomicU64::new(room.count()) }
    }

    pub(super) fn take(&self, octets: u64) -> Result<(), Fault> {
        let taken = self
            .free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(octets));
        taken.map(drop).map_err(|_| Fault::NoRoom)
    }

    pub(super) fn left(&self) -> Bytes {
        Bytes::new(self.free.load(Ordering::Relaxed))
    }

    fn give_back(&self, octets: u64) {
        self.free.fetch_add(octets, Ordering::Relaxed);
    }
}

/// A file. An operation that changes it keeps others out, so that its content never outgrows the
/// size that it is accounted with.
#[derive(Debug)]
pub(super) struct FileNode {
    content: ScratchFile,
    size: RwLock<u64>,
    /// How often it was written, cut or lengthened.
    changes: AtomicU64,
}

impl FileNode {
    pub(super) const fn new(content: ScratchFile) -> Self {
        Self::holding(content, 0)
    }

    /// One that has so many octets already.
    pub(super) const fn holding(content: ScratchFile, size: u64) -> Self {
        Self { content, size: RwLock::new(size), changes: AtomicU64::new(0) }
    }

    fn size(&self) -> u64 {
        *self.size.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock for changes.
    fn alone(&self) -> RwLockWriteGuard<'_, u64> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.size.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<(usize, bool), Fault> {
        let size = self.size.read().unwrap_or_else(PoisonError::into_inner);
        let left = size.saturating_sub(offset);
        let length = (into.len() as u64).min(left) as usize;
        if length > 0 {
            self.content.read(&mut into[..length], offset)?;
        }
        Ok((length, length as u64 == left))
    }

    /// A file's space is its length: a hole counts as if it were written.
    pub(super) fn write(&self, offset: u64, octets: &[u8], room: &Room) -> Result<(), Fault> {
        let end = offset.checked_add(octets.len() as u64).ok_or(Fault::NoRoom)?;
        let mut size = self.alone();
        let more = end.saturating_sub(*size);
        room.take(more)?;
        if let Err(error) = self.content.write("write a file", octets, offset) {
            room.give_back(more);
            return Err(error.into());
        }
        *size = end.max(*size);
        Ok(())
    }

    pub(super) fn resize(&self, wanted: u64, room: &Room) -> Result<(), Fault> {
        let mut size = self.alone();
        let more = wanted.saturating_sub(*size);
        room.take(more)?;
        if let Err(error) = self.content.set_length(wanted) {
            room.give_back(more);
            return Err(error.into());
        }
        room.give_back(size.saturating_sub(wanted));
        *size = wanted;
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<(), LoadError> {
        self.content.sync()
    }
}
