//! Rings of bytes in memory that two processes map.
//!
//! One process writes a ring and the other reads it. Both count bytes for ever; what the other one counts is checked before
//! it is used, so that a peer gone mad can be wrong but never make this process touch what is not the ring's. A process
//! that waits looks for a while (waking somebody who sleeps takes longer than most messages), then sleeps in futex(2).
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::stat::fstat;
use nix::unistd::ftruncate;

/// Bytes of a ring's counters, each on a cache line pair of its own.
const HEAD: usize = 4096;

/// Nobody sleeps longer without looking whether the other end is still there.
static LONGEST_SLEEP: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// What both processes see of a ring; all of it is zero at the start.
#[repr(C)]
struct Head {
    written: Apart<AtomicU64>,
    read: Apart<AtomicU64>,
    reader_sleeps: Apart<AtomicU32>,
    writer_sleeps: Apart<AtomicU32>,
    gone: Apart<AtomicU32>,
}

#[repr(C, align(128))]
struct Apart<T>(T);

/// Memory for two rings, one each way, of `capacity` bytes each; sealed, so that nobody can take it away from under the other.
pub(crate) fn create(capacity: usize) -> io::Result<OwnedFd> {
    let file = memfd_create(c"btu-pipe", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    ftruncate(&file, libc::off_t::try_from(length(capacity)).map_err(io::Error::other)?)?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals()))?;
    Ok(file)
}

fn seals() -> SealFlag {
    SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL
}

fn length(capacity: usize) -> usize {
    2 * (HEAD + capacity)
}

/// Both rings as one process uses them.
pub(crate) struct Rings {
    base: NonNull<c_void>,
    capacity: usize,
    /// Which ring this process writes: 0 or 1.
    own: usize,
    looks: u32,
}

// SAFETY: the mapping belongs to this value alone within the process; what is shared with the other process is only
// touched through atomics, and through copies of bytes that the counters have given to this side.
unsafe impl Send for Rings {}

impl Rings {
    /// Maps what [`create`] made. The maker and the other process write different rings. `looks` is how often a waiting
    /// process looks before it sleeps.
    pub(crate) fn map(file: &OwnedFd, capacity: usize, is_maker: bool, looks: u32) -> io::Result<Self> {
        let sealed = SealFlag::from_bits_truncate(fcntl(file, FcntlArg::F_GET_SEALS)?);
        if !sealed.contains(seals()) || fstat(file)?.st_size as usize != length(capacity) {
            return Err(io::Error::new(ErrorKind::InvalidData, "the shared memory is not as agreed"));
        }
        let whole = NonZeroUsize::new(length(capacity)).ok_or(ErrorKind::InvalidInput)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing; the file is sealed, so that pages of it
        // cannot vanish.
        let base = unsafe { mmap(None, whole, access, flags, file.as_fd(), 0) }?;
        Ok(Self { base, capacity, own: usize::from(!is_maker), looks })
    }

    fn ring(&self, which: usize) -> (&Head, NonNull<u8>) {
        // SAFETY: `which` is 0 or 1, and the mapping holds two rings, each with `HEAD` bytes (room for the structure, page
        // aligned) and `capacity` bytes of data; all-zero bytes and anything else are valid values of its atomics, which
        // are all that is ever made of it; it lives as long as `self`.
        unsafe {
            let begin = self.base.cast::<u8>().add(which * (HEAD + self.capacity));
            (begin.cast::<Head>().as_ref(), begin.add(HEAD))
        }
    }

    /// Writes all of `message`.
    pub(crate) fn write(&self, mut message: &[u8]) -> io::Result<()> {
        let (head, data) = self.ring(self.own);
        let mut written = head.written.0.load(Ordering::Relaxed);
        while !message.is_empty() {
            let space = self.capacity - self.held(written, head.read.0.load(Ordering::Acquire))?;
            if space == 0 {
                let full = written - self.capacity as u64;
                self.wait(&head.read.0, full, &head.writer_sleeps.0)?;
                continue;
            }
            let place = (written % self.capacity as u64) as usize;
            let length = message.len().min(space).min(self.capacity - place);
            // SAFETY: `place + length` is within the ring, and the counters say that these bytes are the writer's; `message`
            // is this process's own memory.
            unsafe { ptr::copy_nonoverlapping(message.as_ptr(), data.add(place).as_ptr(), length) };
            written += length as u64;
            head.written.0.store(written, Ordering::Release);
            wake(&head.reader_sleeps.0);
            message = &message[length..];
        }
        Ok(())
    }

    /// Fills `room`.
    pub(crate) fn read(&self, room: &mut [u8]) -> io::Result<()> {
        let (head, data) = self.ring(1 - self.own);
        let (mut read, mut filled) = (head.read.0.load(Ordering::Relaxed), 0);
        while filled < room.len() {
            let there = self.held(head.written.0.load(Ordering::Acquire), read)?;
            if there == 0 {
                self.wait(&head.written.0, read, &head.reader_sleeps.0)?;
                continue;
            }
            let place = (read % self.capacity as u64) as usize;
            let length = (room.len() - filled).min(there).min(self.capacity - place);
            // SAFETY: `place + length` is within the ring, and the counters say that these bytes are the reader's;
            // `filled + length` is within `room`, this process's own memory.
            unsafe { ptr::copy_nonoverlapping(data.add(place).as_ptr(), room[filled..].as_mut_ptr(), length) };
            (read, filled) = (read + length as u64, filled + length);
            head.read.0.store(read, Ordering::Release);
            wake(&head.writer_sleeps.0);
        }
        Ok(())
    }

    /// Bytes between two counters, one of which is the peer's.
    fn held(&self, written: u64, read: u64) -> io::Result<usize> {
        let held = written.wrapping_sub(read);
        if held <= self.capacity as u64 {
            return Ok(held as usize);
        }
        Err(io::Error::new(ErrorKind::InvalidData, "the other end's counters make no sense"))
    }

    /// Waits until `counter` is no longer `stale`: looks, then sleeps.
    fn wait(&self, counter: &AtomicU64, stale: u64, sleeps: &AtomicU32) -> io::Result<()> {
        for _ in 0..self.looks {
            if counter.load(Ordering::Acquire) != stale {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        sleeps.store(1, Ordering::SeqCst);
        // Who changes the counter looks at `sleeps` afterwards: one of the two sees the other.
        fence(Ordering::SeqCst);
        if counter.load(Ordering::SeqCst) == stale {
            if self.ring(1 - self.own).0.gone.0.load(Ordering::SeqCst) != 0 {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone"));
            }
            sleep(sleeps);
        }
        sleeps.store(0, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        let (mine, theirs) = (self.ring(self.own).0, self.ring(1 - self.own).0);
        mine.gone.0.store(1, Ordering::SeqCst);
        [&mine.reader_sleeps.0, &theirs.writer_sleeps.0].into_iter().for_each(wake);
        // SAFETY: the mapping is this value's own, of this length, and nothing refers to it any more.
        unsafe { munmap(self.base, length(self.capacity)) }.ok();
    }
}

/// Wakes who sleeps on `word`, if anybody does.
fn wake(word: &AtomicU32) {
    fence(Ordering::SeqCst);
    if word.load(Ordering::Relaxed) != 0 {
        word.store(0, Ordering::Relaxed);
        // SAFETY: the word is a live, aligned 32-bit integer in memory that both processes map.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}

/// Sleeps on `word` while it is 1, for a tenth of a second at most.
fn sleep(word: &AtomicU32) {
    // SAFETY: as in `wake`; the time-out outlives the call. Whatever it returns, the caller looks again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, 1, &raw const LONGEST_SLEEP) };
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn pair(capacity: usize, looks: u32) -> (Rings, Rings) {
        let file = create(capacity).unwrap();
        let map = |is_maker| Rings::map(&file, capacity, is_maker, looks).unwrap();
        (map(true), map(false))
    }

    #[test]
    fn bytes_come_in_order_whatever_the_capacity_and_the_patience() {
        for (capacity, looks) in [(4096, 0), (4096, 1000), (8192, 0)] {
            let (one, other) = pair(capacity, looks);
            let message: Vec<u8> = (0..100_003u32).map(|n| (n % 251) as u8).collect();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut room = vec![0; message.len()];
                    other.read(&mut room).unwrap();
                    other.write(&room).unwrap();
                    let other = other;
                    drop(other);
                });
                one.write(&message).unwrap();
                let mut room = vec![0; message.len()];
                one.read(&mut room).unwrap();
                assert!(room == message);
            });
        }
    }

    #[test]
    fn an_end_that_is_gone_is_an_error_after_what_it_wrote() {
        let (one, other) = pair(4096, 0);
        other.write(b"last").unwrap();
        drop(other);
        let mut room = [0; 4];
        one.read(&mut room).unwrap();
        assert_eq!(&room, b"last");
        assert_eq!(one.read(&mut room).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(one.write(&[0; 5000]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn counters_out_of_reason_are_an_error() {
        let (one, other) = pair(4096, 0);
        other.ring(1).0.written.0.store(5000, Ordering::SeqCst);
        assert_eq!(one.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::InvalidData);
        one.ring(0).0.read.0.store(1, Ordering::SeqCst);
        assert_eq!(one.write(&[0; 1]).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn memory_that_can_be_taken_away_is_refused() {
        let file = memfd_create(c"t", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING).unwrap();
        ftruncate(&file, 16_384).unwrap();
        assert!(Rings::map(&file, 4096, false, 0).is_err());
        let larger = create(8192).unwrap();
        assert!(Rings::map(&larger, 4096, false, 0).is_err());
    }
}
