//! The file at one end of a copy.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use btu_contract::copy::{Cache, FilePlace, Program, Storage};
use btu_traffic::TrafficError;
use btu_units::{Bytes, Span, hexadecimal};
use sha2::{Digest, Sha256};

use super::BLOCK;
use crate::LoadError;
use crate::account::now;
use crate::disk::write_random;
use crate::scratch::{ScratchFile, scratch_check};

const WRITE: &str = "write the copy";

/// The directory of named files in memory (`shm_overview`(7)).
pub const NAMED_IN_MEMORY: &str = "/dev/shm";

/// A file of known size, on disk or in memory.
#[derive(Debug)]
pub(crate) struct Stored {
    file: ScratchFile,
    size: u64,
    on_disk: bool,
    /// Its storage, for the record.
    place: String,
    /// Nanoseconds in calls that read it, write it, or make it durable.
    in_calls: AtomicU64,
}

impl Stored {
    /// An empty file for `place.size` bytes, if there is room for them.
    pub(crate) fn empty(place: &FilePlace) -> Result<Self, LoadError> {
        let size = checked(place)?;
        Ok(match place.storage {
            Storage::Memory => Self::in_memory(ScratchFile::in_memory(size)?, size, "memfd"),
            Storage::Disk => {
                let filesystem = scratch_check(&place.directory, place.size)?.filesystem;
                Self::on_disk(ScratchFile::create(&place.directory, false)?, size, &filesystem)
            }
        })
    }

    /// The file of one end: a source from a seed, with its digest, or the empty copy.
    pub(crate) fn of_end(
        program: Program,
        place: &FilePlace,
        seed: Option<u64>,
    ) -> Result<(Self, Option<String>), LoadError> {
        let empty = Self::for_program(program, place)?;
        let Some(seed) = seed else { return Ok((empty, None)) };
        empty.filled(place.cache, seed).map(|(file, digest)| (file, Some(digest)))
    }

    /// Like [`empty`](Self::empty), with a name where the program opens no file without one.
    fn for_program(program: Program, place: &FilePlace) -> Result<Self, LoadError> {
        if program != Program::Rsync {
            return Self::empty(place);
        }
        let size = checked(place)?;
        Ok(match place.storage {
            Storage::Memory => {
                let within = Path::new(NAMED_IN_MEMORY);
                let file = ScratchFile::named_in_memory(within, size)?;
                Self::in_memory(file, size, NAMED_IN_MEMORY)
            }
            Storage::Disk => {
                let filesystem = scratch_check(&place.directory, place.size)?.filesystem;
                let file = ScratchFile::create_named(&place.directory)?;
                Self::on_disk(file, size, &filesystem)
            }
        })
    }

    fn in_memory(file: ScratchFile, size: u64, way: &str) -> Self {
        Self::of(file, size, false, format!("memory ({way})"))
    }

    fn on_disk(file: ScratchFile, size: u64, filesystem: &str) -> Self {
        let place = format!("{filesystem}, page cache + fdatasync");
        Self::of(file, size, true, place)
    }

    fn of(file: ScratchFile, size: u64, on_disk: bool, place: String) -> Self {
        Self { file, size, on_disk, place, in_calls: AtomicU64::new(0) }
    }

    /// Time that the copy has spent in calls that read it, write it, or make it durable; `None` where another
    /// program makes them.
    pub(crate) fn calls_by(&self, program: Program) -> Option<Span> {
        let spent = Span::from_nanoseconds(self.in_calls.load(Ordering::Relaxed));
        (!program.is_the_systems()).then_some(spent)
    }

    /// Makes a call for the copy, and adds its time.
    fn timed<T>(&self, call: impl FnOnce() -> Result<T, LoadError>) -> Result<T, LoadError> {
        let began = now()?;
        let done = call();
        self.in_calls.fetch_add(now()?.since(began).nanoseconds(), Ordering::Relaxed);
        done
    }

    /// Fills an empty one with random bytes, on the device; returns the digest. It is in the page
    /// cache if requested.
    pub(crate) fn filled(mut self, cache: Cache, seed: u64) -> Result<(Self, String), LoadError> {
        write_random(&self.file, self.size, seed, || false)?;
        let digest = self.digest()?;
        if self.on_disk {
            self.file.sync()?;
            let told = match cache {
                Cache::Cold => {
                    self.file.forget()?;
                    "not cached"
                }
                // It has just been read for its digest.
                Cache::Warm => "cached",
            };
            self.place = format!("{}, {told}", self.place);
        }
        Ok((self, digest))
    }

    /// Its size, or its final size.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Its hosts.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Reads as much as `block` takes, less at the end only.
    pub(crate) fn read<'a>(&self, block: &'a mut [u8], offset: u64) -> Result<&'a [u8], LoadError> {
        self.timed(|| self.look(block, offset))
    }

    /// Like [`read`](Self::read), before or after the copy.
    fn look<'a>(&self, block: &'a mut [u8], offset: u64) -> Result<&'a [u8], LoadError> {
        let room = usize::try_from(self.size - offset).unwrap_or(usize::MAX).min(block.len());
        let length = self.file.read_some(&mut block[..room], offset)?;
        if length == 0 {
            return Err(self.ended_after(offset));
        }
        Ok(&block[..length])
    }

    /// Has the kernel put what it holds from `offset` on into an empty pipe, up to `length` bytes: how many.
    pub(crate) fn give(
        &self,
        pipe: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize, LoadError> {
        self.timed(|| self.file.give(pipe, offset, length))
    }

    /// Writes the `length` bytes that a pipe holds.
    pub(crate) fn take(
        &self,
        pipe: BorrowedFd<'_>,
        length: usize,
        offset: u64,
    ) -> Result<(), LoadError> {
        self.timed(|| self.file.take(WRITE, pipe, length, offset))
    }

    /// The error for a source that ends too early.
    pub(crate) fn ended_after(&self, offset: u64) -> LoadError {
        LoadError::SourceChanged { what: format!("it ended after {offset} of {} bytes", self.size) }
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), LoadError> {
        self.timed(|| self.file.write(WRITE, bytes, offset))
    }

    /// Waits until it is durable; memory is as durable as it gets.
    pub(crate) fn make_durable(&self) -> Result<(), LoadError> {
        if self.on_disk { self.timed(|| self.file.sync()) } else { Ok(()) }
    }

    /// SHA-256 of its content, in hexadecimal digits.
    pub(crate) fn digest(&self) -> Result<String, LoadError> {
        digest(self.size, |block, offset| Ok(self.look(block, offset)?.len()))
    }

    /// Whether a source still has what it had.
    pub(crate) fn check(&self, digest: &str) -> Result<(), LoadError> {
        if self.digest()? == digest {
            return Ok(());
        }
        Err(LoadError::source_changed())
    }

    /// The result of a copy from this source, which had this digest: a copy that failed may have
    /// failed because its source changed. One that was stopped has no time left to look.
    pub(crate) fn explained<T>(
        &self,
        digest: Option<&str>,
        copied: Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let has_failed = match &copied {
            Ok(_)
            | Err(LoadError::Flow(TrafficError::Stopped { .. } | TrafficError::Deadline { .. })) => {
                false
            }
            Err(_) => true,
        };
        if let (true, Some(digest)) = (has_failed, digest) {
            self.check(digest)?;
        }
        copied
    }

    /// The bytes that have arrived so far.
    pub(crate) fn length(&self) -> Result<u64, LoadError> {
        self.file.length()
    }

    /// Whether there is room for what has not arrived: if not, the error that a writer gets. The
    /// file is of no use afterwards.
    pub(crate) fn has_room(&self) -> Result<(), LoadError> {
        let length = self.length()?;
        if length < self.size { self.write(&[0; 4096], length) } else { Ok(()) }
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

/// The size of the file, if it can be copied.
fn checked(place: &FilePlace) -> Result<u64, LoadError> {
    let none = LoadError::Order { what: "a file of 0 B has no first byte; one byte at least" };
    if place.size == Bytes::ZERO { Err(none) } else { Ok(place.size.count()) }
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
