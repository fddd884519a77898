//! Many datagrams per system call, with every buffer and header made once, before the measurement.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Most datagrams moved by one system call.
pub(crate) const BATCH: usize = 32;

/// A zeroed message header. All-zero is how an empty header is written in C.
fn empty_header() -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is made of integers and raw pointers, for all of which zero bytes are a
    // valid value.
    unsafe { std::mem::zeroed() }
}

/// An I/O vector over `bytes`; the kernel only reads through it when it is used for sending.
fn vector(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Datagrams gathered for one `sendmmsg(2)`; each is a head and a body that are not copied.
pub(crate) struct Outgoing<'a> {
    vectors: [[libc::iovec; 2]; BATCH],
    filled: usize,
    parts: PhantomData<&'a [u8]>,
}

impl<'a> Outgoing<'a> {
    /// Makes an empty batch.
    pub(crate) fn new() -> Self {
        let none = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        Self { vectors: [[none; 2]; BATCH], filled: 0, parts: PhantomData }
    }

    /// Adds a datagram; more than [`BATCH`] is a programming error and panics.
    pub(crate) fn push(&mut self, head: &'a [u8], body: &'a [u8]) {
        self.vectors[self.filled] = [vector(head), vector(body)];
        self.filled += 1;
    }

    /// Hands the batch to the kernel without waiting; returns how many datagrams, from the first
    /// on, it took.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut headers = [empty_header(); BATCH];
        for (header, vectors) in headers.iter_mut().zip(&mut self.vectors[..self.filled]) {
            header.msg_hdr.msg_iov = vectors.as_mut_ptr();
            header.msg_hdr.msg_iovlen = vectors.len() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the first `filled` headers point to vectors in `self`, and these to slices that
        // the lifetime 'a keeps alive; no name and no control data are set; the descriptor is
        // borrowed and therefore open.
        let result = unsafe {
            libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), self.filled as u32, flags as _)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
    }
}

/// Room for datagrams that come in, filled by one `recvmmsg(2)`.
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    slot: usize,
    lengths: [usize; BATCH],
}

impl Incoming {
    /// Room for [`BATCH`] datagrams of at most `largest` bytes; longer ones are told apart by one
    /// byte more.
    pub(crate) fn new(largest: usize) -> Self {
        let slot = largest + 1;
        Self { bytes: vec![0; slot * BATCH], slot, lengths: [0; BATCH] }
    }

    /// Waits for one datagram (as long as the socket's timeout says) and takes what else is there.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
        let mut headers = [empty_header(); BATCH];
        for ((header, vector), slot) in
            headers.iter_mut().zip(&mut vectors).zip(self.bytes.chunks_exact_mut(self.slot))
        {
            *vector = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: every header points to a vector on this stack, and that to its own slot of
        // `self.bytes`; both outlive the call; the timeout is null, which the call allows; the
        // descriptor is borrowed and therefore open.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_WAITFORONE as _,
                ptr::null_mut(),
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        for (length, header) in self.lengths.iter_mut().zip(&headers) {
            *length = (header.msg_len as usize).min(self.slot);
        }
        Ok(result as usize)
    }

    /// The datagram at `index` of the last batch.
    pub(crate) fn datagram(&self, index: usize) -> &[u8] {
        let start = index * self.slot;
        &self.bytes[start..start + self.lengths[index]]
    }
}
