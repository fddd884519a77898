//! The two calls of the loops: one system call, nothing around it.
//!
//! They go by `syscall(2)`: the C library's own `send` and `recv` are cancellation points, which in
//! a process of several threads cost two atomic operations each time, and a worker has a thread
//! that listens to its agent.
#![allow(unsafe_code)]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use nix::sys::socket::{MsgFlags, recvmsg, sendmsg};

/// `send(2)` that reports a vanished peer as `EPIPE` and never as a signal.
#[inline]
pub(crate) fn send(socket: BorrowedFd<'_>, message: &[u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe `message`; the descriptor is borrowed and
    // therefore open; no address is given, which sendto(2) allows on a connected socket.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_raw_fd(),
            message.as_ptr(),
            message.len(),
            libc::MSG_NOSIGNAL | flags,
            ptr::null::<libc::sockaddr>(),
            0usize,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

/// `sendmsg(2)` of several pieces, as [`send`] does it with one.
pub(crate) fn send_parts(
    socket: BorrowedFd<'_>,
    parts: &[IoSlice<'_>],
    flags: i32,
) -> io::Result<usize> {
    let flags = MsgFlags::from_bits_retain(libc::MSG_NOSIGNAL | flags);
    Ok(sendmsg::<()>(socket.as_raw_fd(), parts, &[], flags, None)?)
}

/// `recvmsg(2)` into several pieces, filled in turn.
pub(crate) fn receive_parts(
    socket: BorrowedFd<'_>,
    parts: &mut [IoSliceMut<'_>],
    flags: i32,
) -> io::Result<usize> {
    Ok(recvmsg::<()>(socket.as_raw_fd(), parts, None, MsgFlags::from_bits_retain(flags))?.bytes)
}

/// Calls `recv(2)`.
#[inline]
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe `buffer`, writable through the call; the
    // descriptor is borrowed and therefore open; no address is asked for.
    let result = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            flags,
            ptr::null_mut::<libc::sockaddr>(),
            ptr::null_mut::<libc::socklen_t>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}
