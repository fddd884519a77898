//! The file a disk activity reads.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use btu_units::Bytes;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::{BLOCK, whole_blocks};
use crate::scratch::{
    ALIGNMENT, Aligned, ScratchFile, forget, is_refusal, open_file, scratch_check, scratch_error,
};
use crate::{LoadError, content};

/// A source file that a long-lived process holds ready, so that not every disk activity has to make
/// its own.
///
/// It has no name in its directory: the kernel removes it when its owner ends in any way. Every
/// process that its owner starts inherits it, for reading.
#[derive(Debug)]
pub struct DiskSource(File);

impl DiskSource {
    /// Writes `size` bytes (to the next 4 KiB) of incompressible data into a nameless file in
    /// `directory`.
    ///
    /// # Errors
    /// As [`scratch_check`] for `size`, and when writing fails.
    pub fn make(directory: &Path, size: Bytes, seed: u64) -> Result<Self, LoadError> {
        Self::make_unless(directory, size, seed, &AtomicBool::new(false))
    }

    /// Like [`Self::make`], but gives up within a block or so when `stop` turns true, and then
    /// leaves nothing behind.
    ///
    /// # Errors
    /// As [`Self::make`], and when it was stopped.
    pub fn make_unless(
        directory: &Path,
        size: Bytes,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Self, LoadError> {
        let size = whole_blocks(size);
        let scratch = scratch_check(directory, Bytes::new(size))?;
        let made = fill(directory, size, seed, scratch.direct_io, stop)?;
        let inherited = File::open(made.path()).and_then(|file| {
            fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).map(|_| file).map_err(Into::into)
        });
        inherited
            .map(Self)
            .map_err(|error| scratch_error("keep the source file open", directory, error))
    }

    /// The path for [`btu_contract::activity::Disk::source`]; good while this value lives, in this
    /// process's children and theirs, whatever namespaces and rights they have.
    pub fn path(&self) -> PathBuf {
        open_file(&self.0)
    }
}

/// The open source of an activity.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    /// Whether reads go past the page cache.
    pub(super) direct: bool,
}

impl Source {
    /// A source of its own in `directory`.
    pub(super) fn make(
        directory: &Path,
        size: u64,
        seed: u64,
        direct: bool,
    ) -> Result<Self, LoadError> {
        let file = fill(directory, size, seed, direct, &AtomicBool::new(false))?.into_file();
        Ok(Self { file, direct })
    }

    /// A source kept ready at `path`, at least `size` long.
    pub(super) fn open(path: &Path, size: u64, direct: bool) -> Result<Self, LoadError> {
        let failed = |problem: String| LoadError::Source { path: path.to_owned(), problem };
        let source = Self::open_either(path, direct).map_err(|error| failed(error.to_string()))?;
        let length = source.file.metadata().map_err(|error| failed(error.to_string()))?.len();
        if length < size {
            return Err(failed(format!("it has {length} bytes, {size} are needed")));
        }
        if !source.direct {
            forget(&source.file).map_err(|error| failed(error.to_string()))?;
        }
        Ok(source)
    }

    /// Past the page cache if wanted and possible, else through it.
    fn open_either(path: &Path, direct: bool) -> io::Result<Self> {
        if direct {
            match Self::open_direct(path) {
                Err(error) if is_refusal(&error) => {}
                other => return other,
            }
        }
        Ok(Self { file: File::open(path)?, direct: false })
    }

    fn open_direct(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
        // Some refuse only the first transfer.
        file.read_at(Aligned::new(ALIGNMENT).slice(ALIGNMENT), 0)?;
        Ok(Self { file, direct: true })
    }

    /// Fills `bytes`; `directory` is for the error.
    pub(super) fn read(
        &self,
        directory: &Path,
        bytes: &mut [u8],
        offset: u64,
    ) -> Result<(), LoadError> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|error| scratch_error("read the source file", directory, error))
    }

    /// Takes the source out of the page cache.
    pub(super) fn forget(&self, directory: &Path) -> Result<(), LoadError> {
        forget(&self.file)
            .map_err(|error| scratch_error("drop a file from the page cache", directory, error))
    }
}

/// A file of `size` random bytes that is on the device, and not in the page cache.
fn fill(
    directory: &Path,
    size: u64,
    seed: u64,
    direct: bool,
    stop: &AtomicBool,
) -> Result<ScratchFile, LoadError> {
    let file = ScratchFile::create(directory, direct)?;
    let stopped = || stop.load(Ordering::Relaxed);
    if !write_random(&file, size, seed, stopped)? {
        return Err(LoadError::Stopped { directory: directory.to_owned() });
    }
    file.sync()?;
    if !direct {
        file.forget()?;
    }
    Ok(file)
}

/// Fills `file` with `size` random bytes; false when it was stopped before the end.
pub(crate) fn write_random(
    file: &ScratchFile,
    size: u64,
    seed: u64,
    stopped: impl Fn() -> bool,
) -> Result<bool, LoadError> {
    let mut block = Aligned::new(BLOCK as usize);
    for (number, offset) in (0..size).step_by(BLOCK as usize).enumerate() {
        if stopped() {
            return Ok(false);
        }
        let bytes = block.slice((size - offset).min(BLOCK) as usize);
        content::fill(seed ^ (number as u64) << 32, bytes);
        file.write("write the source file", bytes, offset)?;
    }
    Ok(true)
}
