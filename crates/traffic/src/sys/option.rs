//! Socket options that have no safe wrapper elsewhere.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use btu_units::{Bytes, Span};

/// Index of the drop counter in the answer of `SO_MEMINFO` (`linux/sock_diag.h`,
/// `SK_MEMINFO_DROPS`).
const MEMINFO_DROPS: usize = 8;

/// Reads an option into `buffer` and returns the part the kernel filled, which is shorter on older
/// kernels.
fn read<'a>(
    socket: &impl AsFd,
    level: i32,
    name: i32,
    buffer: &'a mut [u8],
) -> io::Result<&'a [u8]> {
    let mut length = libc::socklen_t::try_from(buffer.len()).map_err(io::Error::other)?;
    // SAFETY: the pointer and the length describe `buffer`, which lives and is writable through the
    // whole call; the descriptor is borrowed and therefore open.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            buffer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(&buffer[..buffer.len().min(length as usize)])
}

/// `TCP_INFO` as the kernel wrote it.
pub(crate) fn tcp_info<'a>(socket: &impl AsFd, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    read(socket, libc::IPPROTO_TCP, libc::TCP_INFO, buffer)
}

/// Datagrams this socket has dropped since it was made because its buffer was full; wraps at 2^32.
pub(crate) fn drops(socket: &impl AsFd) -> io::Result<u32> {
    let mut buffer = [0; 4 * (MEMINFO_DROPS + 1)];
    let info = read(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut buffer)?;
    let field = info
        .get(4 * MEMINFO_DROPS..4 * (MEMINFO_DROPS + 1))
        .and_then(|bytes| bytes.try_into().ok());
    field
        .map(u32::from_ne_bytes)
        .ok_or_else(|| io::Error::other("the kernel does not tell SK_MEMINFO_DROPS"))
}

/// Sets the largest window this end will offer (`TCP_WINDOW_CLAMP`).
pub(crate) fn clamp_window(socket: &impl AsFd, bytes: i32) -> io::Result<()> {
    write(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Wakes a sender only when less than this waits in the socket to be sent (`TCP_NOTSENT_LOWAT`,
/// tcp(7)); sockets that a listener takes have it from there.
pub(crate) fn limit_unsent(socket: &impl AsFd, bytes: Bytes) -> io::Result<()> {
    let bytes = i32::try_from(bytes.count()).unwrap_or(i32::MAX);
    write(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Lets a blocking `recv` wait for so many bytes, or for its time-out (`SO_RCVLOWAT`, socket(7)).
pub(crate) fn receive_at_least(socket: &impl AsFd, bytes: i32) -> io::Result<()> {
    write(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Lets a receiver look into the driver's queue for about `span` before it sleeps (`SO_BUSY_POLL`,
/// socket(7)); more than the system's own value needs `CAP_NET_ADMIN`.
pub(crate) fn busy_poll(socket: &impl AsFd, span: Span) -> io::Result<()> {
    let microseconds = i32::try_from(span.nanoseconds().div_ceil(1000)).unwrap_or(i32::MAX);
    write(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds)
}

/// Allows `MSG_ZEROCOPY` on a socket (`SO_ZEROCOPY`, Linux's `networking/msg_zerocopy`).
pub(crate) fn zero_copy(socket: &impl AsFd) -> io::Result<()> {
    write(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
}

fn write(socket: &impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the pointer is to a live i32 and the length is its size; the descriptor is borrowed
    // and therefore open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(&value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
