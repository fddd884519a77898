//! The locks of runs that are being written: one lock file next to the database, with one slot for
//! each run.
//!
//! A run is locked by an open-file-description lock (`F_OFD_SETLK`, fcntl(2)) on its slot. The
//! kernel drops it when the process ends, however it ends, so a lock cannot be stale; and a process
//! can query it without taking it. The slot holds the owner's process id as text, only for messages
//! of other processes. A child that was forked without `exec` shares the lock until it ends too.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use btu_units::Span;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::data_file::open_data_file;
use crate::error::StoreError;
use crate::run::RunId;

/// Bytes of a slot: a process id has at most ten digits.
const SLOT_BYTES: u8 = 16;

/// Slot 0 belongs to no run: it guards the upgrade of the schema.
const SCHEMA_SLOT: i64 = 0;

/// The lock file of a database.
#[derive(Debug)]
pub(crate) struct Locks {
    path: PathBuf,
}

/// The right to write a run; released when it is dropped or its process ends.
#[derive(Debug)]
pub struct RunLock {
    run: RunId,
    slot: LockSlot,
    /// The time up to which this session's time is stored.
    counted: Mutex<Instant>,
}

impl RunLock {
    /// The run that may be written.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The time since the last call, at first since the lock was taken.
    pub(crate) fn lap(&self) -> Span {
        let now = Instant::now();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        Span::from(now.saturating_duration_since(std::mem::replace(&mut *counted, now)))
    }
}

/// A locked slot. The file is this slot's own, since the lock belongs to the open file.
#[derive(Debug)]
struct LockSlot {
    file: File,
    number: i64,
}

/// The right to change the schema, while this value exists.
#[derive(Debug)]
pub(crate) struct SchemaLock {
    _slot: LockSlot,
}

impl Locks {
    /// The lock file of the database at `path`; it is made when the first lock is taken.
    pub(crate) fn next_to(path: &Path) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        Self { path: path.with_file_name(name) }
    }

    /// Takes the lock of `run`.
    pub(crate) fn take(&self, run: RunId) -> Result<RunLock, StoreError> {
        let slot = LockSlot { file: self.create()?, number: run.number() };
        match fcntl(&slot.file, FcntlArg::F_OFD_SETLK(&range(slot.number, libc::F_WRLCK))) {
            Ok(_) => {
                let pid = format!("{:<15}\n", std::process::id());
                slot.file
                    .write_all_at(pid.as_bytes(), slot.offset())
                    .map_err(|error| self.explain(&error))?;
                Ok(RunLock { run, slot, counted: Mutex::new(Instant::now()) })
            }
            Err(Errno::EAGAIN | Errno::EACCES) => {
                Err(StoreError::Locked { run, owner: slot.owner() })
            }
            Err(errno) => Err(self.explain(&errno.into())),
        }
    }

    /// Waits for the right to change the schema.
    pub(crate) fn take_schema(&self) -> Result<SchemaLock, StoreError> {
        let slot = LockSlot { file: self.create()?, number: SCHEMA_SLOT };
        loop {
            match fcntl(&slot.file, FcntlArg::F_OFD_SETLKW(&range(SCHEMA_SLOT, libc::F_WRLCK))) {
                Ok(_) => return Ok(SchemaLock { _slot: slot }),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(self.explain(&errno.into())),
            }
        }
    }

    /// Whether a process is writing `run` right now.
    pub(crate) fn is_taken(&self, run: RunId) -> Result<bool, StoreError> {
        let file = match open_data_file(&self.path, File::options().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.explain(&error)),
        };
        let mut question = range(run.number(), libc::F_RDLCK);
        fcntl(&file, FcntlArg::F_OFD_GETLK(&mut question))
            .map_err(|errno| self.explain(&errno.into()))?;
        Ok(libc::c_int::from(question.l_type) != libc::F_UNLCK)
    }

    fn create(&self) -> Result<File, StoreError> {
        let how = &mut File::options();
        open_data_file(&self.path, how.read(true).write(true).create(true).truncate(false))
            .map_err(|error| self.explain(&error))
    }

    fn explain(&self, error: &io::Error) -> StoreError {
        StoreError::from_io(&self.path, error)
    }
}

impl LockSlot {
    fn offset(&self) -> u64 {
        self.number.unsigned_abs() * u64::from(SLOT_BYTES)
    }

    /// The process id in the slot; none while its owner has not yet written it.
    fn owner(&self) -> Option<u32> {
        let mut text = [0; SLOT_BYTES as usize];
        let length = self.file.read_at(&mut text, self.offset()).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
    }
}

impl Drop for LockSlot {
    fn drop(&mut self) {
        // It would be enough to close the file, if forked children did not still hold it. Unlocking
        // a range that this file has locked cannot fail, and no caller could act on an error here.
        let _ = fcntl(&self.file, FcntlArg::F_OFD_SETLK(&range(self.number, libc::F_UNLCK)));
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // The id is only a hint to other processes, so a full disk is not reported here.
        let _ = self.slot.file.write_all_at(&[b' '; SLOT_BYTES as usize], self.slot.offset());
    }
}

/// The bytes of slot `number`, with the lock to set or ask for. `l_pid` must be 0 for these
/// commands.
fn range(number: i64, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: number.saturating_mul(i64::from(SLOT_BYTES)),
        l_len: i64::from(SLOT_BYTES),
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks() -> (tempfile::TempDir, Locks) {
        let directory = tempfile::tempdir().unwrap();
        let locks = Locks::next_to(&directory.path().join("runs.sqlite"));
        (directory, locks)
    }

    #[test]
    fn a_second_taker_learns_the_first_ones_pid() {
        let (_directory, locks) = locks();
        let _held = locks.take(RunId::new(7)).unwrap();
        let refused = locks.take(RunId::new(7)).unwrap_err();
        assert!(
            matches!(refused, StoreError::Locked { owner: Some(pid), .. } if pid == std::process::id())
        );
        assert!(refused.to_string().starts_with("run r7 is being written by process "));
    }

    #[test]
    fn a_lock_is_of_one_run_only() {
        let (_directory, locks) = locks();
        let _held = locks.take(RunId::new(7)).unwrap();
        assert!(locks.is_taken(RunId::new(7)).unwrap());
        for other in [RunId::new(6), RunId::new(8)] {
            assert!(!locks.is_taken(other).unwrap());
            locks.take(other).unwrap();
        }
    }

    #[test]
    fn asking_does_not_take_and_dropping_gives_back() {
        let (_directory, locks) = locks();
        let run = RunId::new(3);
        assert!(!locks.is_taken(run).unwrap());
        let held = locks.take(run).unwrap();
        assert!(locks.is_taken(run).unwrap());
        drop(held);
        assert!(!locks.is_taken(run).unwrap());
        locks.take(run).unwrap();
    }

    #[test]
    fn the_schema_lock_is_of_no_run() {
        let (_directory, locks) = locks();
        let _schema = locks.take_schema().unwrap();
        locks.take(RunId::new(1)).unwrap();
    }
}
