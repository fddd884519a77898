//! Open files handed from one process to another over a Unix socket (`SCM_RIGHTS`, unix(7)).
#![allow(unsafe_code)]

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// The byte that accompanies control data, which cannot be sent alone.
const COMPANY: [u8; 1] = *b"f";

/// Hands `N` files over.
pub(crate) fn give<const N: usize>(socket: BorrowedFd<'_>, files: &[OwnedFd; N]) -> io::Result<()> {
    let raw = files.each_ref().map(AsRawFd::as_raw_fd);
    let rights = [ControlMessage::ScmRights(&raw)];
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(&COMPANY)],
        &rights,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// Takes `N` files; another number of them is an error, and all are closed.
pub(crate) fn take<const N: usize>(socket: BorrowedFd<'_>) -> io::Result<[OwnedFd; N]> {
    let mut company = COMPANY;
    let mut control = nix::cmsg_space!([RawFd; 8]);
    let mut parts = [IoSliceMut::new(&mut company)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let mut files = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = part {
            // SAFETY: the kernel has just opened these descriptors for this process, and no other
            // code knows them.
            files.extend(raw.into_iter().map(|file| unsafe { OwnedFd::from_raw_fd(file) }));
        }
    }
    let count = files.len();
    let wrong = move |_| {
        io::Error::new(ErrorKind::InvalidData, format!("{count} open files came instead of {N}"))
    };
    files.try_into().map_err(wrong)
}
