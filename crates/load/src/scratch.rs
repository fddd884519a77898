//! The scratch directory, its free space, and files in it that no crash leaves behind.

mod directory;
mod file;
mod mount;
mod swapped;

use std::path::{Path, PathBuf};

use btu_units::Bytes;
use nix::sys::statvfs::statvfs;

use crate::LoadError;

pub(crate) use directory::OwnDirectory;
pub use directory::sweep_dead;
pub(crate) use file::{NAMED, ScratchFile, forget, open_file};
pub(crate) use mount::mounted;
pub use swapped::check_share;

/// Kept free beyond what an activity needs: file systems take some for themselves, and a full one
/// harms others.
pub const MARGIN: Bytes = Bytes::new(16 << 20);

/// The properties of a scratch directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// Type of its file system, as the kernel calls it: `ext4`, `tmpfs`.
    pub filesystem: String,
    /// Whether it lets programs reach the device past the page cache (`O_DIRECT`).
    pub direct_io: bool,
    /// The free space for an ordinary user.
    pub free: Bytes,
}

/// Whether `directory` exists, can be written, and has room for `needed` and the [`MARGIN`].
///
/// A disk activity takes the size of its file, and as much again when it makes its own source; a
/// transfer takes [`FETCH_ROOM`](crate::FETCH_ROOM) at most.
///
/// # Errors
/// [`LoadError::Scratch`] when it cannot be used, [`LoadError::NoSpace`] when there is too little
/// room.
pub fn scratch_check(directory: &Path, needed: Bytes) -> Result<Scratch, LoadError> {
    let scratch = survey(directory)?;
    let needed = needed + MARGIN;
    if scratch.free < needed {
        return Err(LoadError::NoSpace {
            directory: directory.to_owned(),
            filesystem: scratch.filesystem,
            free: scratch.free,
            needed,
            missing: needed - scratch.free,
        });
    }
    Ok(scratch)
}

/// Reads the properties of `directory` without a check.
fn survey(directory: &Path) -> Result<Scratch, LoadError> {
    let usage = statvfs(directory)
        .map_err(|errno| scratch_error("look at free space", directory, errno.into()))?;
    let free = Bytes::new(usage.blocks_available()) * usage.fragment_size();
    Ok(Scratch { filesystem: mounted(directory).0, direct_io: takes_direct_io(directory)?, free })
}

/// Tries it: some file systems accept the flag and refuse the first transfer.
fn takes_direct_io(directory: &Path) -> Result<bool, LoadError> {
    let file = match ScratchFile::create(directory, true) {
        Err(LoadError::Scratch { source, .. }) if is_refusal(&source) => {
            // Without the flag it must work, or the directory is of no use at all.
            return ScratchFile::create(directory, false).map(|_| false);
        }
        other => other?,
    };
    let mut block = Aligned::new(ALIGNMENT);
    match file
        .write("try direct I/O", block.slice(ALIGNMENT), 0)
        .and_then(|()| file.read(block.slice(ALIGNMENT), 0))
    {
        // A lack of room for one block is no refusal: the following check reports it with figures.
        Ok(()) | Err(LoadError::Full { .. }) => Ok(true),
        Err(LoadError::Scratch { source, .. }) if is_refusal(&source) => Ok(false),
        Err(error) => Err(error),
    }
}

/// How file systems say that they do not do direct I/O (open(2)).
pub(crate) fn is_refusal(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// Maps an error of the system about a scratch directory: full, or another error.
pub(crate) fn scratch_error(
    operation: &'static str,
    directory: &Path,
    source: std::io::Error,
) -> LoadError {
    let directory: PathBuf = directory.to_owned();
    match source.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => LoadError::Full { operation, directory, source },
        _ => LoadError::Scratch { operation, directory, source },
    }
}

/// The alignment of addresses, offsets and lengths for direct I/O; 4096 is enough for every usual
/// device (open(2)).
pub(crate) const ALIGNMENT: usize = 4096;

/// A buffer that starts at a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    /// Allocates a buffer of `length` zeros.
    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        // The heap block stays where it is as long as the vector is not resized, and it never is.
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start }
    }

    /// The first `length` bytes; at most what was asked for in `new`.
    pub(crate) fn slice(&mut self, length: usize) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_directory_is_described() {
        let directory = tempfile::tempdir().expect("tempdir");
        let scratch = scratch_check(directory.path(), Bytes::new(4096))
            .expect("a temporary directory is usable");
        assert!(scratch.free > Bytes::new(4096));
        assert!(!scratch.filesystem.is_empty());
        assert_eq!(
            std::fs::read_dir(directory.path()).expect("readable").count(),
            0,
            "the probe left something"
        );
    }

    #[test]
    fn too_little_room_is_said_in_figures() {
        let directory = tempfile::tempdir().expect("tempdir");
        let error = scratch_check(directory.path(), Bytes::new(1 << 60))
            .expect_err("no disk has an exabyte");
        let message = error.to_string();
        assert!(matches!(error, LoadError::NoSpace { .. }), "{message}");
        assert!(
            message.contains("--scratch") && message.contains(&*directory.path().to_string_lossy()),
            "{message}"
        );
    }

    #[test]
    fn what_is_no_directory_is_named() {
        for path in ["/nonexistent/btu", "/dev/null", "/proc/self"] {
            let message = scratch_check(Path::new(path), Bytes::ZERO).expect_err(path).to_string();
            assert!(message.contains(path) && message.contains("--scratch"), "{message}");
        }
    }

    #[test]
    fn buffers_are_aligned_wherever_they_come_from() {
        for length in [1, 512, 4096, 1 << 20] {
            let mut moved = Box::new(Aligned::new(length));
            let slice = moved.slice(length);
            assert_eq!(slice.as_ptr().addr() % ALIGNMENT, 0);
            assert_eq!(slice.len(), length);
        }
    }
}
