//! The file at one end of a copy.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use btu_suite::copy::{Cache, FilePlace, Storage};
use btu_units::hexadecimal;
use sha2::{Digest, Sha256};

use super::BLOCK;
use crate::LoadError;
use crate::disk::write_random;
use crate::scratch::{ScratchFile, scratch_check};

const WRITE: &str = "write the copy";

/// A file of known size, on disk or in memory.
#[derive(Debug)]
pub(crate) struct Stored {
    file: ScratchFile,
    size: u64,
    on_disk: bool,
    /// What it stands on, for the record.
    place: String,
}

impl Stored {
    /// An empty file that is to have `place.size` bytes, where there is room for them.
    pub(crate) fn empty(place: &FilePlace) -> Result<Self, LoadError> {
        let size = place.size.count();
        if size == 0 {
            return Err(LoadError::Order {
                what: "a file of 0 B has no first byte; one byte at least",
            });
        }
        Ok(match place.storage {
            Storage::Memory => Self {
                file: ScratchFile::in_memory(size)?,
                size,
                on_disk: false,
                place: "memory (memfd)".to_owned(),
            },
            Storage::Disk => {
                let scratch = scratch_check(&place.directory, place.size)?;
                let file = ScratchFile::create(&place.directory, false)?;
                Self {
                    file,
                    size,
                    on_disk: true,
                    place: format!("{}, page cache + fdatasync", scratch.filesystem),
                }
            }
        })
    }

    /// A file of random bytes that is on the device; with its digest. It is in the page cache where
    /// it is to be.
    pub(crate) fn source(place: &FilePlace, seed: u64) -> Result<(Self, String), LoadError> {
        let mut source = Self::empty(place)?;
        write_random(&source.file, source.size, seed, || false)?;
        let digest = source.digest()?;
        if source.on_disk {
            source.file.sync()?;
            let told = match place.cache {
                Cache::Cold => {
                    source.file.forget()?;
                    "not cached"
                }
                // It has just been read for its digest.
                Cache::Warm => "cached",
            };
            source.place = format!("{}, {told}", source.place);
        }
        Ok((source, digest))
    }

    /// How large it is, or has to become.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// What it stands on.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Reads as much as `block` takes, less at the end only.
    pub(crate) fn read<'a>(&self, block: &'a mut [u8], offset: u64) -> Result<&'a [u8], LoadError> {
        let room = usize::try_from(self.size - offset).unwrap_or(usize::MAX).min(block.len());
        let length = self.file.read_some(&mut block[..room], offset)?;
        if length == 0 {
            return Err(self.ended_after(offset));
        }
        Ok(&block[..length])
    }

    /// Has the kernel pass on what it holds from `offset` on, up to `length` bytes: how many went.
    pub(crate) fn send(
        &self,
        to: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> std::io::Result<usize> {
        self.file.send(to, offset, length)
    }

    /// Writes the `length` bytes that a pipe holds.
    pub(crate) fn take(
        &self,
        pipe: BorrowedFd<'_>,
        length: usize,
        offset: u64,
    ) -> Result<(), LoadError> {
        self.file.take(WRITE, pipe, length, offset)
    }

    /// The error for a source that ends too early.
    pub(crate) fn ended_after(&self, offset: u64) -> LoadError {
        LoadError::SourceChanged { what: format!("it ended after {offset} of {} bytes", self.size) }
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), LoadError> {
        self.file.write(WRITE, bytes, offset)
    }

    /// Waits until it is durable; memory is as durable as it gets.
    pub(crate) fn make_durable(&self) -> Result<(), LoadError> {
        if self.on_disk { self.file.sync() } else { Ok(()) }
    }

    /// SHA-256 of its content, in hexadecimal digits.
    pub(crate) fn digest(&self) -> Result<String, LoadError> {
        digest(self.size, |block, offset| Ok(self.read(block, offset)?.len()))
    }

    /// Whether a source still has what it had.
    pub(crate) fn check(&self, digest: &str) -> Result<(), LoadError> {
        if self.digest()? == digest {
            return Ok(());
        }
        Err(LoadError::source_changed())
    }

    /// How much has come so far.
    pub(crate) fn length(&self) -> Result<u64, LoadError> {
        self.file.length()
    }

    /// A path under which another program of this user can open it.
    pub(crate) fn path(&self) -> PathBuf {
        self.file.path_for_others()
    }

    /// Returns the file.
    pub(crate) fn into_file(self) -> ScratchFile {
        self.file
    }
}

/// SHA-256 of `size` bytes that `read` gives from an offset on, in hexadecimal digits.
pub(super) fn digest(
    size: u64,
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, LoadError>,
) -> Result<String, LoadError> {
    let (mut hash, mut block, mut offset) = (Sha256::new(), vec![0; BLOCK], 0);
    while offset < size {
        let length = read(&mut block, offset)?;
        if length == 0 {
            return Err(LoadError::SourceChanged {
                what: format!("it ended after {offset} of {size} bytes"),
            });
        }
        hash.update(&block[..length]);
        offset += length as u64;
    }
    Ok(hexadecimal(&hash.finalize()))
}
