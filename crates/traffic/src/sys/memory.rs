//! Rings of bytes in memory that two processes map.
//!
//! One process writes a ring and the other reads it. Both count bytes for ever; the other one's
//! counts are checked before use, so that a faulty peer can never make this process access memory
//! outside of the ring. A waiting process polls for a while (waking a sleeping process takes longer
//! than most messages), then sleeps in futex(2).
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

use super::stream;

/// Bytes of a ring's counters, each on a cache line pair of its own.
const HEAD: usize = 4096;

/// The interval at which a sleeping process checks whether the other end is still there.
static LONGEST_SLEEP: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The shared state of a ring; all of it is zero at the start.
#[repr(C)]
struct RingState {
    written: CacheAligned<AtomicU64>,
    read: CacheAligned<AtomicU64>,
    reader_sleeps: CacheAligned<AtomicU32>,
    writer_sleeps: CacheAligned<AtomicU32>,
    gone: CacheAligned<AtomicU32>,
}

#[repr(C, align(128))]
struct CacheAligned<T>(T);

/// Memory for two rings, one each way, of `capacity` bytes each; sealed, so that neither process
/// can take it away from the other.
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
    /// Open as long as the other process lives.
    keep_alive: OwnedFd,
}

// SAFETY: the mapping belongs to this value alone within the process; what is shared with the other
// process is only touched through atomics, and through copies of bytes that the counters have given
// to this side.
unsafe impl Send for Rings {}

impl Rings {
    /// Maps what [`create`] made. The maker and the other process write different rings. `looks` is
    /// how often a waiting process looks before it sleeps, and `keep_alive` a socket to the other
    /// process.
    pub(crate) fn map(
        file: &OwnedFd,
        capacity: usize,
        is_maker: bool,
        looks: u32,
        keep_alive: OwnedFd,
    ) -> io::Result<Self> {
        let sealed = SealFlag::from_bits_truncate(fcntl(file, FcntlArg::F_GET_SEALS)?);
        if !sealed.contains(seals()) || fstat(file)?.st_size as usize != length(capacity) {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "the shared memory is not as agreed",
            ));
        }
        let whole = NonZeroUsize::new(length(capacity)).ok_or(ErrorKind::InvalidInput)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing; the file is
        // sealed, so that pages of it cannot vanish.
        let base = unsafe { mmap(None, whole, access, flags, file.as_fd(), 0) }?;
        Ok(Self { base, capacity, own: usize::from(!is_maker), looks, keep_alive })
    }

    fn ring(&self, which: usize) -> (&RingState, NonNull<u8>) {
        // SAFETY: `which` is 0 or 1, and the mapping holds two rings, each with `HEAD` bytes (room
        // for the structure, page aligned) and `capacity` bytes of data; all-zero bytes and
        // anything else are valid values of its atomics, which are all that is ever made of it; it
        // lives as long as `self`.
        unsafe {
            let begin = self.base.cast::<u8>().add(which * (HEAD + self.capacity));
            (begin.cast::<RingState>().as_ref(), begin.add(HEAD))
        }
    }

    /// Writes all of `message`.
    pub(crate) fn write(&self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match self.put(message)? {
                0 => self.wait(&[self.space()])?,
                written => message = &message[written..],
            }
        }
        Ok(())
    }

    /// Reads bytes until `room` is full.
    pub(crate) fn read(&self, room: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < room.len() {
            match self.get(&mut room[filled..])? {
                0 => self.wait(&[self.arrival()])?,
                read => filled += read,
            }
        }
        Ok(())
    }

    /// Both at the same time, whatever the rings hold.
    pub(crate) fn exchange(&self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        let (mut written, mut filled) = (0, 0);
        while written < message.len() || filled < room.len() {
            let moved = (self.put(&message[written..])?, self.get(&mut room[filled..])?);
            (written, filled) = (written + moved.0, filled + moved.1);
            match (written < message.len(), filled < room.len()) {
                _ if moved != (0, 0) => {}
                (true, true) => self.wait(&[self.space(), self.arrival()])?,
                (true, false) => self.wait(&[self.space()])?,
                (false, _) => self.wait(&[self.arrival()])?,
            }
        }
        Ok(())
    }

    /// Writes as much as there is space for; returns the number of bytes.
    #[inline]
    fn put(&self, message: &[u8]) -> io::Result<usize> {
        let (head, data) = self.ring(self.own);
        let written = head.written.0.load(Ordering::Relaxed);
        let space = self.capacity - self.held(written, head.read.0.load(Ordering::Acquire))?;
        let place = (written % self.capacity as u64) as usize;
        let length = message.len().min(space).min(self.capacity - place);
        if length > 0 {
            // SAFETY: `place + length` is within the ring, and the counters say that these bytes
            // are the writer's; `message` is this process's own memory.
            unsafe { ptr::copy_nonoverlapping(message.as_ptr(), data.add(place).as_ptr(), length) };
            head.written.0.store(written + length as u64, Ordering::Release);
            wake(&head.reader_sleeps.0);
        }
        Ok(length)
    }

    /// Reads the available bytes; returns their number.
    #[inline]
    fn get(&self, room: &mut [u8]) -> io::Result<usize> {
        let (head, data) = self.ring(1 - self.own);
        let read = head.read.0.load(Ordering::Relaxed);
        let there = self.held(head.written.0.load(Ordering::Acquire), read)?;
        let place = (read % self.capacity as u64) as usize;
        let length = room.len().min(there).min(self.capacity - place);
        if length > 0 {
            // SAFETY: `place + length` is within the ring, and the counters say that these bytes
            // are the reader's; `room` is this process's own memory.
            unsafe {
                ptr::copy_nonoverlapping(data.add(place).as_ptr(), room.as_mut_ptr(), length);
            };
            head.read.0.store(read + length as u64, Ordering::Release);
            wake(&head.writer_sleeps.0);
        }
        Ok(length)
    }

    /// That the other end reads.
    fn space(&self) -> CounterChange<'_> {
        let (head, _) = self.ring(self.own);
        let full = head.written.0.load(Ordering::Relaxed).wrapping_sub(self.capacity as u64);
        CounterChange { counter: &head.read.0, stale: full, sleeps: &head.writer_sleeps.0 }
    }

    /// That the other end writes.
    fn arrival(&self) -> CounterChange<'_> {
        let (head, _) = self.ring(1 - self.own);
        let empty = head.read.0.load(Ordering::Relaxed);
        CounterChange { counter: &head.written.0, stale: empty, sleeps: &head.reader_sleeps.0 }
    }

    /// Bytes between two counters, one of them the peer's.
    fn held(&self, written: u64, read: u64) -> io::Result<usize> {
        let held = written.wrapping_sub(read);
        if held <= self.capacity as u64 {
            return Ok(held as usize);
        }
        Err(io::Error::new(ErrorKind::InvalidData, "the other end's counters make no sense"))
    }

    /// Waits for one of these changes: looks, then sleeps.
    fn wait(&self, changes: &[CounterChange<'_>]) -> io::Result<()> {
        for _ in 0..self.looks {
            if changes.iter().any(CounterChange::has_come) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        for change in changes {
            change.sleeps.store(1, Ordering::SeqCst);
        }
        // The process that changes a counter reads `sleeps` afterwards: one of the two sees the
        // other.
        fence(Ordering::SeqCst);
        let is_over = !changes.iter().any(CounterChange::has_come)
            && (self.is_left() || sleep(changes) && self.is_cut());
        for change in changes {
            change.sleeps.store(0, Ordering::Relaxed);
        }
        // The other end may have changed a counter before its end.
        if is_over && !changes.iter().any(CounterChange::has_come) {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone"));
        }
        Ok(())
    }

    /// Whether the other end has announced its end.
    fn is_left(&self) -> bool {
        self.ring(1 - self.own).0.gone.0.load(Ordering::SeqCst) != 0
    }

    /// Whether the other end was killed: then the system has closed its end of the socket.
    fn is_cut(&self) -> bool {
        let mut nothing = [0; 1];
        let flags = libc::MSG_DONTWAIT | libc::MSG_PEEK;
        match stream::receive(self.keep_alive.as_fd(), &mut nothing, flags) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        let (mine, theirs) = (self.ring(self.own).0, self.ring(1 - self.own).0);
        mine.gone.0.store(1, Ordering::SeqCst);
        [&mine.reader_sleeps.0, &theirs.writer_sleeps.0].into_iter().for_each(wake);
        // SAFETY: the mapping is this value's own, of this length, and nothing refers to it any
        // more.
        let _ = unsafe { munmap(self.base, length(self.capacity)) };
    }
}

/// Wakes the process that sleeps on `word`, if one does.
fn wake(word: &AtomicU32) {
    fence(Ordering::SeqCst);
    if word.load(Ordering::Relaxed) != 0 {
        word.store(0, Ordering::Relaxed);
        // SAFETY: the word is a live, aligned 32-bit integer in memory that both processes map.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
}

/// The condition of a wait: a counter has changed.
struct CounterChange<'a> {
    counter: &'a AtomicU64,
    stale: u64,
    sleeps: &'a AtomicU32,
}

impl CounterChange<'_> {
    fn has_come(&self) -> bool {
        self.counter.load(Ordering::SeqCst) != self.stale
    }
}

/// Sleeps while every one of these is 1, for a tenth of a second at most; returns whether to check
/// for the other end.
fn sleep(changes: &[CounterChange<'_>]) -> bool {
    let slept = match changes {
        [change] => {
            let word = change.sleeps.as_ptr();
            // SAFETY: as in `wake`; the timeout outlives the call. Whatever it returns, the caller
            // looks again.
            unsafe {
                libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 1, &raw const LONGEST_SLEEP)
            }
        }
        _ => sleep_on_several(changes),
    };
    match (slept, io::Error::last_os_error().raw_os_error()) {
        (0.., _) | (_, Some(libc::EAGAIN | libc::EINTR)) => false,
        (_, Some(libc::ETIMEDOUT)) => true,
        // The call is missing (before Linux 5.16 that for several words) or forbidden: then all of
        // them are checked each time.
        _ => {
            std::thread::yield_now();
            true
        }
    }
}

/// The kernel's `struct futex_waitv` (linux/futex.h).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// `futex_waitv(2)`, since Linux 5.16.
fn sleep_on_several(changes: &[CounterChange<'_>]) -> libc::c_long {
    const SIZE_U32: u32 = 2;
    let mut waiters = [Waiter::default(); 2];
    for (waiter, change) in waiters.iter_mut().zip(changes) {
        let address = change.sleeps.as_ptr() as u64;
        *waiter = Waiter { value: 1, address, flags: SIZE_U32, reserved: 0 };
    }
    // SAFETY: all-zero is a valid time.
    let mut until: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the clock writes to a time on this stack.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut until) };
    until.tv_nsec += LONGEST_SLEEP.tv_nsec;
    if until.tv_nsec >= 1_000_000_000 {
        (until.tv_sec, until.tv_nsec) = (until.tv_sec + 1, until.tv_nsec - 1_000_000_000);
    }
    let count = changes.len().min(waiters.len());
    // SAFETY: the first `count` waiters are filled in and point to live, aligned words as in
    // `wake`; they and the time outlive the call, which keeps none of them.
    unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            waiters.as_ptr(),
            count,
            0,
            &raw const until,
            libc::CLOCK_MONOTONIC,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    fn pair(capacity: usize, looks: u32) -> (Rings, Rings) {
        let file = create(capacity).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let map = |is_maker, keep_alive: UnixStream| {
            Rings::map(&file, capacity, is_maker, looks, keep_alive.into()).unwrap()
        };
        (map(true, one), map(false, other))
    }

    #[test]
    fn both_directions_at_once_never_wait_for_each_other() {
        for looks in [0, 1000] {
            let (one, other) = pair(4096, looks);
            let message: Vec<u8> = (0..1_000_003u32).map(|n| (n % 251) as u8).collect();
            thread::scope(|scope| {
                for end in [one, other] {
                    let message = &message;
                    scope.spawn(move || {
                        let mut room = vec![0; message.len()];
                        end.exchange(message, &mut room).unwrap();
                        assert!(room == *message);
                    });
                }
            });
        }
    }

    #[test]
    fn an_end_whose_process_was_killed_is_found_out() {
        let (one, other) = pair(4096, 0);
        let begun = std::time::Instant::now();
        // The state after a killed process: its counters unchanged, its socket closed.
        let mut other = std::mem::ManuallyDrop::new(other);
        let gone = UnixStream::pair().unwrap().0;
        drop(std::mem::replace(&mut other.keep_alive, gone.into()));
        assert_eq!(one.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(
            one.exchange(&[0; 5000], &mut [0; 1]).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
        assert!(begun.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn bytes_come_in_order_whatever_the_capacity_and_the_timeout() {
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
        let keep_alive = || UnixStream::pair().unwrap().0.into();
        assert!(Rings::map(&file, 4096, false, 0, keep_alive()).is_err());
        let larger = create(8192).unwrap();
        assert!(Rings::map(&larger, 4096, false, 0, keep_alive()).is_err());
    }
}
