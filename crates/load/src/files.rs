//! Files as programs use them, on this machine or at a server, so that one task runs on both.

mod local;
mod remote;
mod share;

use std::fmt::Debug;

use crate::LoadError;

pub use local::LocalFiles;
pub use remote::RemoteFiles;
pub use share::ShareFiles;

/// A directory of files. Every operation is performed when it is called: nothing is cached from an
/// earlier one.
pub trait Files {
    /// A file that is open.
    type File: Debug + Send;

    /// Opens the file of this name, or makes it; one that exists is emptied then.
    ///
    /// # Errors
    /// As of all operations: the name, what was attempted, and why it was not done.
    fn open(&mut self, name: &str, open: Open) -> Result<Self::File, LoadError>;

    /// Reads from `offset` until `into` is full or the file ends; returns the number of octets.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn read_at(
        &mut self,
        file: &Self::File,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, LoadError>;

    /// Writes all of `octets` at `offset`.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn write_at(&mut self, file: &Self::File, offset: u64, octets: &[u8]) -> Result<(), LoadError>;

    /// Returns when the written data are on the device.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn flush(&mut self, file: &Self::File) -> Result<(), LoadError>;

    /// The size of the file of this name, in octets.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn stat(&mut self, name: &str) -> Result<u64, LoadError>;

    /// Renames a file; a file with the new name is replaced.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn rename(&mut self, from: &str, to: &str) -> Result<(), LoadError>;

    /// Removes a file.
    ///
    /// # Errors
    /// As of [`Self::open`].
    fn remove(&mut self, name: &str) -> Result<(), LoadError>;

    /// Operations so far: calls of a server, or their equivalents.
    fn operations(&self) -> u64;
}

/// The kind of file to open: one that exists, or an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// A file that exists.
    Existing,
    /// Create the file, or empty an existing one.
    Empty,
}

#[cfg(test)]
mod tests;
