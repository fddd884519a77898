//! Many frames at once: out of a ring, and by `sendmmsg`, without allocation.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use super::clock::Instants;
use super::ring::{FrameRing, RingFrame};
use super::{BATCH, Buffers, Received, Took};

/// The length of an Ethernet header.
const SHORTEST: usize = 14;

/// The frames of a receive, and message headers for sending. One batch serves any number of ports.
///
/// All pointers in here are set before each system call, from borrows that last across it.
pub struct Batch {
    headers: Box<[libc::mmsghdr; BATCH]>,
    vectors: Box<[libc::iovec; BATCH]>,
    received: Vec<Received>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("received", &self.received).finish_non_exhaustive()
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// An empty batch, with no received frames.
    pub fn new() -> Self {
        Self {
            // SAFETY: all-zero is a valid `mmsghdr`: null pointers and integers.
            headers: Box::new([unsafe { std::mem::zeroed() }; BATCH]),
            vectors: Box::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH]),
            received: Vec::with_capacity(BATCH),
        }
    }

    /// The frames of the last receive; each buffer keeps its one owner while a caller reads this.
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// Copies frames from the ring, and long ones from the queue of its socket, into free buffers, at
    /// most [`BATCH`]. They begin after `header` octets of the kernel's.
    ///
    /// # Errors
    /// The interface was set down, or is gone.
    pub(super) fn receive(
        &mut self,
        ring: &mut FrameRing,
        socket: BorrowedFd<'_>,
        header: usize,
        buffers: &mut Buffers,
    ) -> io::Result<Took> {
        self.received.clear();
        let (mut instants, mut took) = (None, Took { more: true, misfits: 0, dropped: 0 });
        for _ in 0..BATCH {
            let Some(arrived) = ring.oldest() else { return Ok(Took { more: false, ..took }) };
            let Some(buffer) = buffers.take() else { return Ok(took) };
            let bytes = fetch(&arrived, socket, header, buffers.space(buffer));
            let at = instants.get_or_insert_with(Instants::now).at(arrived.stamp);
            ring.free_oldest();
            match bytes {
                Ok(bytes) => {
                    buffers.set_frame(buffer, header, bytes);
                    self.received.push(Received { buffer, at });
                }
                Err(untaken) => {
                    match untaken {
                        Untaken::Misfit => took.misfits += 1,
                        Untaken::Dropped => took.dropped += 1,
                        Untaken::Failed(error) => return Err(error.into()),
                    }
                    buffers.release(buffer);
                }
            }
        }
        Ok(took)
    }

    /// Sends the content of `frames`, in order; returns the number that the kernel took; the others
    /// are lost.
    pub(super) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        buffers: &Buffers,
        frames: &[u32],
    ) -> io::Result<usize> {
        let mut taken = 0;
        for part in frames.chunks(BATCH) {
            taken += self.send_part(socket, buffers, part)?;
        }
        Ok(taken)
    }

    fn send_part(
        &mut self,
        socket: BorrowedFd<'_>,
        buffers: &Buffers,
        frames: &[u32],
    ) -> io::Result<usize> {
        for (place, &buffer) in frames.iter().enumerate() {
            let content = buffers.content(buffer);
            // The kernel only reads the data; the pointer is mutable because `iovec` serves both
            // directions.
            self.vectors[place] = libc::iovec {
                iov_base: content.as_ptr().cast_mut().cast(),
                iov_len: content.len(),
            };
            let header = &mut self.headers[place].msg_hdr;
            header.msg_iov = &raw mut self.vectors[place];
            header.msg_iovlen = 1;
        }
        let (mut next, mut taken) = (0, 0);
        while next < frames.len() {
            let rest = &mut self.headers[next..frames.len()];
            // SAFETY: the headers from `next` on were pointed above to vectors and to buffers that
            // stay borrowed.
            let count = unsafe {
                libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as libc::c_uint, 0)
            };
            match usize::try_from(count) {
                Ok(count) => (next, taken) = (next + count, taken + count),
                // The kernel refused the first frame: it is lost, but the others may pass.
                Err(_) => next += refused(io::Error::last_os_error())?,
            }
        }
        Ok(taken)
    }
}

/// Why a frame that arrived is not taken.
enum Untaken {
    /// It is longer than a buffer, or shorter than an Ethernet header.
    Misfit,
    /// It is longer than a slot, and the socket's queue had no room for it.
    Dropped,
    /// The interface was set down, or is gone, which the socket says before it gives a frame.
    Failed(Errno),
}

/// Copies a frame, after the `header` octets before it, to `space`, from its slot or from the queue;
/// returns the number of octets.
fn fetch(
    arrived: &RingFrame<'_>,
    socket: BorrowedFd<'_>,
    header: usize,
    space: &mut [u8],
) -> Result<usize, Untaken> {
    let octets = if arrived.is_queued {
        // It was queued before its slot was passed on; the length is that of the whole frame.
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        recv(socket.as_raw_fd(), space, flags).map_err(|error| match error {
            Errno::EAGAIN => Untaken::Dropped,
            other => Untaken::Failed(other),
        })?
    } else if arrived.is_cut {
        return Err(if header > 0 { Untaken::Dropped } else { Untaken::Misfit });
    } else {
        let content = space.get_mut(..arrived.content.len()).ok_or(Untaken::Misfit)?;
        content.copy_from_slice(arrived.content);
        content.len()
    };
    let fits = (header + SHORTEST..=space.len()).contains(&octets);
    if fits { Ok(octets) } else { Err(Untaken::Misfit) }
}

/// The number of frames to skip after an error of sending: one that was refused, none when the call
/// was interrupted.
fn refused(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(libc::EINTR) => Ok(0),
        Some(libc::ENXIO | libc::ENODEV | libc::EBADF) => Err(error),
        _ => Ok(1),
    }
}
