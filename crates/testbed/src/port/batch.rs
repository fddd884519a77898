//! Many frames with one system call: `recvmmsg` and `sendmmsg`, without allocation.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use btu_units::Time;

use super::clock::Instants;
use super::{BATCH, Buffers, Received, Took};

/// Room for one `SCM_TIMESTAMPNS` message, with the alignment of control messages.
type ControlBuffer = [u64; 8];

/// The length of an Ethernet header.
const SHORTEST: usize = 14;

/// Reused message headers, and the buffers that wait for frames. One batch serves any number of
/// ports.
///
/// All pointers in here are set before each system call, from borrows that last across it.
pub struct Batch {
    headers: Box<[libc::mmsghdr; BATCH]>,
    vectors: Box<[libc::iovec; BATCH]>,
    controls: Box<[ControlBuffer; BATCH]>,
    waiting: Vec<u32>,
    received: Vec<Received>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// An empty batch, with no received frames and no waiting buffers.
    pub fn new() -> Self {
        Self {
            // SAFETY: all-zero is a valid `mmsghdr`: null pointers and integers.
            headers: Box::new([unsafe { std::mem::zeroed() }; BATCH]),
            vectors: Box::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH]),
            controls: Box::new([[0; 8]; BATCH]),
            waiting: Vec::with_capacity(BATCH),
            received: Vec::with_capacity(BATCH),
        }
    }

    /// The frames of the last receive; each buffer keeps its one owner while a caller reads this.
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// Fills as many buffers as there are frames, at most `most`, without waiting. Frames begin
    /// after `header` octets of the kernel's.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        header: usize,
        most: usize,
        buffers: &mut Buffers,
    ) -> io::Result<Took> {
        self.received.clear();
        let room = self.prepare_receive(most, buffers);
        if room == 0 {
            return Ok(Took { more: true, misfits: 0 });
        }
        // SAFETY: `prepare_receive` pointed the first `room` headers to vectors, controls and
        // distinct buffers that are borrowed mutably until this function ends; the kernel writes
        // within the lengths given there.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                room as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(count) {
            Ok(count) => {
                Ok(Took { more: count == room, misfits: self.collect(count, header, buffers) })
            }
            Err(_) => {
                nothing_yet(io::Error::last_os_error()).map(|()| Took { more: false, misfits: 0 })
            }
        }
    }

    /// Points at most `most` headers to buffers that wait to be filled; returns how many.
    fn prepare_receive(&mut self, most: usize, buffers: &mut Buffers) -> usize {
        while self.waiting.len() < most
            && let Some(buffer) = buffers.take()
        {
            self.waiting.push(buffer);
        }
        for (place, &buffer) in self.waiting.iter().take(most).enumerate() {
            let space = buffers.space(buffer);
            self.vectors[place] =
                libc::iovec { iov_base: space.as_mut_ptr().cast(), iov_len: space.len() };
            let header = &mut self.headers[place].msg_hdr;
            header.msg_name = std::ptr::null_mut();
            header.msg_namelen = 0;
            header.msg_iov = &raw mut self.vectors[place];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[place]).cast();
            header.msg_controllen = size_of::<ControlBuffer>();
            header.msg_flags = 0;
        }
        self.waiting.len().min(most)
    }

    /// Records the received frames; frees the buffers of frames that do not fit and returns their
    /// number.
    fn collect(&mut self, count: usize, header: usize, buffers: &mut Buffers) -> usize {
        let instants = Instants::now();
        let mut misfits = 0;
        for (place, buffer) in self.waiting.drain(..count).enumerate() {
            let message = &self.headers[place];
            let (bytes, truncated) =
                (message.msg_len as usize, message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0);
            if truncated || bytes < header + SHORTEST {
                misfits += 1;
                buffers.release(buffer);
                continue;
            }
            buffers.set_frame(buffer, header, bytes);
            let at = stamp(&message.msg_hdr).map_or(instants.monotonic, |stamp| instants.at(stamp));
            self.received.push(Received { buffer, at });
        }
        misfits
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
            header.msg_control = std::ptr::null_mut();
            header.msg_controllen = 0;
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

/// Passes on an error of receiving unless it only means that there is no frame. An interface that
/// is set down or removed reports it once (`ENETDOWN`); removal after that would go unnoticed, so
/// both end the port.
fn nothing_yet(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
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

/// The kernel's stamp among the control messages.
fn stamp(header: &libc::msghdr) -> Option<Time> {
    // SAFETY: the kernel filled `msg_control` up to `msg_controllen`, which the macro checks.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: the macros give null or a whole message within the control buffer.
    while let Some(found) = unsafe { message.as_ref() } {
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: a message of this type carries a `timespec`, perhaps unaligned.
            let time: libc::timespec =
                unsafe { libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned() };
            let nanoseconds =
                time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
            return Some(Time::from_nanoseconds(nanoseconds));
        }
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}
