//! The two calls of the bulk loops: one system call, nothing around it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `send(2)` that reports a vanished peer as `EPIPE` and never as a signal.
#[inline]
pub(crate) fn send(socket: BorrowedFd<'_>, message: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe `message`; the descriptor is borrowed and therefore open.
    let result = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

/// `recv(2)`.
#[inline]
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe `buffer`, writable through the call; the descriptor is borrowed.
    let result = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}
