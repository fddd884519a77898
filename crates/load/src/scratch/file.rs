//! A file without a name: the kernel removes it when the last process that has it open ends in any
//! way. For programs that open no such file there is one with a name, in a directory that does not
//! outlast this process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{
    FallocateFlags, OFlag, PosixFadviseAdvice, SpliceFFlags, fallocate, posix_fadvise, splice,
};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::directory::{OwnDirectory, enter, open_in};
use super::{check_share, scratch_error};
use crate::LoadError;

/// What a file is called that has a name.
pub(crate) const NAMED: &str = "copy";

/// An open file in a scratch directory that has no name there, or in memory.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    file: File,
    /// The directory of the file; `None` in memory.
    directory: Option<PathBuf>,
    /// The directory that is removed with it, if it has a name.
    own: Option<OwnDirectory>,
}

impl ScratchFile {
    /// An empty file in `directory`; `direct` asks for I/O past the page cache.
    pub(crate) fn create(directory: &Path, direct: bool) -> Result<Self, LoadError> {
        let file = open_nameless(directory, direct)
            .or_else(|error| match error.raw_os_error() {
                // The errors of file systems and kernels without O_TMPFILE (open(2)).
                Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT) => {
                    open_and_unlink(directory, direct)
                }
                _ => Err(error),
            })
            .map_err(|error| scratch_error("create a file", directory, error))?;
        Ok(Self { file, directory: Some(directory.to_owned()), own: None })
    }

    /// An empty file with a name, in a new directory of `within` that only this user may enter.
    pub(crate) fn create_named(within: &Path) -> Result<Self, LoadError> {
        let failed = |(operation, error)| scratch_error(operation, within, error);
        let (file, own) = named(within).map_err(failed)?;
        Ok(Self { file, directory: Some(within.to_owned()), own: Some(own) })
    }

    /// Like [`create_named`](Self::create_named), where `within` stands in memory, with room for
    /// `room` bytes.
    pub(crate) fn named_in_memory(within: &Path, room: u64) -> Result<Self, LoadError> {
        let failed = |(operation, source)| LoadError::Memory { operation, source };
        let (file, own) = named(within).map_err(failed)?;
        make_room(&file, room)?;
        Ok(Self { file, directory: None, own: Some(own) })
    }

    /// An empty file that is in memory only (`memfd_create`(2)), with allocated pages for its first
    /// `room` bytes: writing them does not wait for page allocation.
    pub(crate) fn in_memory(room: u64) -> Result<Self, LoadError> {
        let failed =
            |errno: Errno| LoadError::Memory { operation: "create a file", source: errno.into() };
        let file = memfd_create("btu-copy", MFdFlags::MFD_CLOEXEC).map_err(failed)?;
        let file = File::from(file);
        make_room(&file, room)?;
        Ok(Self { file, directory: None, own: None })
    }

    /// Sorts what the system says.
    fn failed(&self, operation: &'static str, source: io::Error) -> LoadError {
        match &self.directory {
            Some(directory) => scratch_error(operation, directory, source),
            None => LoadError::Memory { operation, source },
        }
    }

    /// Writes all of `bytes` at `offset`; `operation` is for the error.
    pub(crate) fn write(
        &self,
        operation: &'static str,
        bytes: &[u8],
        offset: u64,
    ) -> Result<(), LoadError> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed(operation, error))
    }

    /// Reads as many bytes as `bytes` takes from `offset`.
    pub(crate) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), LoadError> {
        self.file.read_exact_at(bytes, offset).map_err(|error| self.failed("read back", error))
    }

    /// Reads what there is at `offset`, as much as `bytes` takes; 0 at the end.
    pub(crate) fn read_some(&self, bytes: &mut [u8], offset: u64) -> Result<usize, LoadError> {
        loop {
            match self.file.read_at(bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| self.failed("read a file", error)),
            }
        }
    }

    /// Has the kernel put up to `length` bytes from `offset` on into an empty pipe (splice(2)): returns the
    /// number of bytes, 0 at the end.
    pub(crate) fn give(
        &self,
        pipe: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize, LoadError> {
        let failed = |error| self.failed("read a file", error);
        let mut from = i64::try_from(offset).map_err(|error| failed(io::Error::other(error)))?;
        loop {
            match splice(
                &self.file,
                Some(&mut from),
                pipe,
                None,
                length,
                SpliceFFlags::SPLICE_F_MOVE,
            ) {
                Err(Errno::EINTR) => {}
                moved => return moved.map_err(|errno| failed(errno.into())),
            }
        }
    }

    /// Writes `length` bytes that a pipe holds, and that the kernel passes on by itself
    /// (splice(2)); `operation` is for the error.
    pub(crate) fn take(
        &self,
        operation: &'static str,
        pipe: BorrowedFd<'_>,
        length: usize,
        offset: u64,
    ) -> Result<(), LoadError> {
        let failed = |error| self.failed(operation, error);
        let mut at = i64::try_from(offset).map_err(|error| failed(io::Error::other(error)))?;
        let mut left = length;
        while left > 0 {
            match splice(pipe, None, &self.file, Some(&mut at), left, SpliceFFlags::SPLICE_F_MOVE) {
                Ok(0) => return Err(failed(io::ErrorKind::WriteZero.into())),
                Ok(moved) => left -= moved,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
        Ok(())
    }

    /// Waits until the written data are on the device (fdatasync(2)).
    pub(crate) fn sync(&self) -> Result<(), LoadError> {
        self.file.sync_data().map_err(|error| self.failed("sync a file", error))
    }

    /// Lets go of the content, memory and blocks.
    pub(crate) fn clear(&self) -> Result<(), LoadError> {
        self.set_length(0)
    }

    /// Cuts it, or lengthens it by zeros that take no blocks.
    pub(crate) fn set_length(&self, length: u64) -> Result<(), LoadError> {
        self.file.set_len(length).map_err(|error| self.failed("change a file's length", error))
    }

    /// Takes what is synced out of the page cache, so that the next reader goes to the device.
    pub(crate) fn forget(&self) -> Result<(), LoadError> {
        forget(&self.file).map_err(|error| self.failed("drop a file from the page cache", error))
    }

    /// Octets that it has.
    pub(crate) fn length(&self) -> Result<u64, LoadError> {
        let known = self
            .file
            .metadata()
            .map_err(|error| self.failed("ask for the length of a file", error))?;
        Ok(known.len())
    }

    /// A path under which other processes of this user can open the file, as long as this one has
    /// it open.
    pub(crate) fn path_for_others(&self) -> PathBuf {
        match &self.own {
            Some(own) => own.path().join(NAMED),
            None => {
                PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
            }
        }
    }

    /// A path under which this process can open the file.
    pub(crate) fn path(&self) -> PathBuf {
        open_file(&self.file)
    }

    /// Returns the file.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// Pages for the first `room` bytes: a writer of these bytes does not wait for the system to find pages.
fn make_room(file: &File, room: u64) -> Result<(), LoadError> {
    let room = libc::off_t::try_from(room).unwrap_or(libc::off_t::MAX);
    if room == 0 {
        return Ok(());
    }
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, room).map_err(|errno| {
        LoadError::Memory { operation: "make room for a file", source: errno.into() }
    })
}

/// A file and the directory that it is in, which is new.
fn named(within: &Path) -> Result<(File, OwnDirectory), (&'static str, io::Error)> {
    let own = OwnDirectory::create(within)?;
    // Another program finds it by its path: only where no other user can replace that meanwhile.
    check_share(own.path()).map_err(|error| ("use files", error))?;
    let file = own
        .open(NAMED, OFlag::O_CREAT | OFlag::O_EXCL)
        .map_err(|error| ("create a file", error))?;
    Ok((file, own))
}

/// A path under which this process, and a process that inherits the file, can open a file that is
/// open here.
pub(crate) fn open_file(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Takes what is synced of `file` out of the page cache.
pub(crate) fn forget(file: &File) -> io::Result<()> {
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).map_err(Into::into)
}

fn past_the_cache(direct: bool) -> OFlag {
    if direct { OFlag::O_DIRECT } else { OFlag::empty() }
}

/// A file that never has a name (`O_TMPFILE`).
fn open_nameless(directory: &Path, direct: bool) -> io::Result<File> {
    let flags = OFlag::O_TMPFILE | past_the_cache(direct);
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(flags.bits()).open(directory)
}

/// A file that has a name for an instant, in the directory that is found now.
fn open_and_unlink(directory: &Path, direct: bool) -> io::Result<File> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".btu-scratch-{}-{number}", std::process::id());
    let (_, directory) = enter(directory)?;
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | past_the_cache(direct);
    let opened = open_in(&directory, &name, flags);
    // Older kernels create the file and then refuse O_DIRECT, so this process removes the name in
    // every case but one: if the name belongs to another process.
    if matches!(&opened, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
        return opened;
    }
    match unlinkat(&directory, name.as_str(), UnlinkatFlags::NoRemoveDir) {
        Err(errno) if errno != Errno::ENOENT => Err(errno.into()),
        _ => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).expect("readable").count()
    }

    #[test]
    fn both_ways_leave_no_name() {
        let directory = tempfile::tempdir().expect("tempdir");
        for open in [open_nameless, open_and_unlink] {
            let file = open(directory.path(), false).expect("a temporary directory takes files");
            file.write_all_at(b"something", 0).expect("written");
            assert_eq!(entries(directory.path()), 0);
        }
    }

    #[test]
    fn the_path_leads_to_the_same_file() {
        let directory = tempfile::tempdir().expect("tempdir");
        let scratch = ScratchFile::create(directory.path(), false).expect("created");
        scratch.write("write", b"content", 0).expect("written");
        assert_eq!(fs::read(scratch.path()).expect("open while held"), b"content");
        let path = scratch.path();
        drop(scratch);
        assert_ne!(fs::read(path).ok().as_deref(), Some(&b"content"[..]));
    }
}
