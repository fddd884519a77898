//! Sending and receiving through `io_uring(7)`: requests and completions in rings that the kernel
//! reads and writes.
#![allow(unsafe_code)]

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, squeue, types};
use socket2::SockRef;

/// Requests under way at a time: a send and a receive.
const ENTRIES: u32 = 2;

const SEND: u64 = 1;
const RECEIVE: u64 = 2;

/// A ring of one end. No request outlives the call that makes it.
pub(crate) struct IoUringInstance {
    ring: IoUring,
}

/// One direction of what is being moved.
struct MoveProgress {
    done: usize,
    whole: usize,
    asked: bool,
}

impl MoveProgress {
    fn new(whole: usize) -> Self {
        Self { done: 0, whole, asked: false }
    }

    fn is_due(&self) -> bool {
        !self.asked && self.done < self.whole
    }
}

impl IoUringInstance {
    /// Asks the kernel for a ring; if the kernel supports it, completions interrupt no process.
    pub(crate) fn new() -> io::Result<Self> {
        let ring = match IoUring::builder().setup_coop_taskrun().build(ENTRIES) {
            // Before Linux 5.19.
            Err(error) if error.kind() == ErrorKind::InvalidInput => IoUring::new(ENTRIES)?,
            other => other?,
        };
        Ok(Self { ring })
    }

    /// Sends all of `message` and fills `room`, both at the same time; either may be empty.
    #[inline]
    pub(crate) fn exchange(
        &mut self,
        socket: BorrowedFd<'_>,
        message: &[u8],
        room: &mut [u8],
    ) -> io::Result<()> {
        let file = types::Fd(socket.as_raw_fd());
        let (mut out, mut back, mut failure) =
            (MoveProgress::new(message.len()), MoveProgress::new(room.len()), None);
        loop {
            if failure.is_none() && out.is_due() {
                let rest = &message[out.done..];
                let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
                let request =
                    opcode::Send::new(file, rest.as_ptr(), length(rest)).flags(flags).build();
                self.submit(&request.user_data(SEND))?;
                out.asked = true;
            }
            if failure.is_none() && back.is_due() {
                let rest = &mut room[back.done..];
                let request = opcode::Recv::new(file, rest.as_mut_ptr(), length(rest))
                    .flags(libc::MSG_WAITALL)
                    .build();
                self.submit(&request.user_data(RECEIVE))?;
                back.asked = true;
            }
            if !out.asked && !back.asked {
                return failure.map_or(Ok(()), Err);
            }
            self.wait();
            for done in self.ring.completion() {
                let way = if done.user_data() == SEND { &mut out } else { &mut back };
                way.asked = false;
                match outcome(done.result(), done.user_data()) {
                    Ok(moved) => way.done += moved,
                    Err(error) => failure = Some(error),
                }
            }
            if failure.is_some() && (out.asked || back.asked) {
                // The other request must end, too, before its memory is given back.
                let _ = SockRef::from(&socket).shutdown(Shutdown::Both);
            }
        }
    }

    fn submit(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the request points into `message` or `room` of `exchange`, which does not return
        // before the kernel has said that it is done with both.
        unsafe { self.ring.submission().push(request) }.map_err(io::Error::other)
    }

    /// Submits new requests, and waits for a completion.
    fn wait(&self) {
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => return,
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)
                    ) => {}
                // To return would give back memory that the kernel may still write.
                Err(_) => std::process::abort(),
            }
        }
    }
}

fn length(part: &[u8]) -> u32 {
    u32::try_from(part.len()).unwrap_or(u32::MAX)
}

/// The result of a completion: bytes, or an error as a negative number. Zero received bytes are the
/// end.
fn outcome(result: i32, what: u64) -> io::Result<usize> {
    match usize::try_from(result) {
        Ok(0) if what == RECEIVE => {
            Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone"))
        }
        Ok(moved) => Ok(moved),
        Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => Ok(0),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}
