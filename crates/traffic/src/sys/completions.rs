//! The kernel's completion messages for memory that it sends from with `MSG_ZEROCOPY` (Linux's
//! `networking/msg_zerocopy`). They are in the socket's error queue, each for a range of calls.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` (`linux/errqueue.h`).
const ORIGIN_ZEROCOPY: u8 = 5;
const CODE_COPIED: u8 = 1;

/// Calls with memory that the program may use again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Completed {
    /// The number of calls.
    pub(crate) calls: u32,
    /// Whether the kernel has copied after all.
    pub(crate) copied: bool,
}

/// The next note, if there is one.
pub(crate) fn next(socket: BorrowedFd<'_>) -> io::Result<Option<Completed>> {
    let mut control = nix::cmsg_space!([u8; 128]);
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message =
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut [], Some(&mut control), flags) {
            Ok(message) => message,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    for part in message.cmsgs()? {
        if let ControlMessageOwned::Ipv4RecvErr(error, _)
        | ControlMessageOwned::Ipv6RecvErr(error, _) = part
        {
            return read(&error).map(Some);
        }
    }
    Ok(None)
}

fn read(error: &libc::sock_extended_err) -> io::Result<Completed> {
    if error.ee_errno != 0 || error.ee_origin != ORIGIN_ZEROCOPY {
        return Err(io::Error::from_raw_os_error(
            i32::try_from(error.ee_errno).unwrap_or(libc::EIO),
        ));
    }
    let calls = error.ee_data.wrapping_sub(error.ee_info).wrapping_add(1);
    let copied = error.ee_code & CODE_COPIED != 0;
    Ok(Completed { calls, copied })
}
