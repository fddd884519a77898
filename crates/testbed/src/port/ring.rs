//! Arriving frames in memory that the kernel fills and this process maps: `TPACKET_V2`
//! (`Documentation/networking/packet_mmap.rst`). Looking for a frame is no system call.
#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use btu_units::Time;
use libc::{c_int, c_uint, c_void, tpacket_req, tpacket_versions, tpacket2_hdr};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::socket;

/// The kernel takes memory for slots in blocks of at least this size, a multiple of every page's.
const BLOCK_BYTES: usize = 64 << 10;

/// Room before a frame in its slot: the kernel's header and address, and what aligns the packet's
/// own header (`tpacket_rcv` in `net/packet/af_packet.c`).
const BEFORE_FRAME: usize = libc::TPACKET2_HDRLEN + 32;

/// Slots for frames that have arrived and were not taken yet; the kernel drops and counts frames
/// for which none is free.
#[derive(Debug)]
pub(super) struct FrameRing {
    memory: NonNull<c_void>,
    layout: RingLayout,
    /// Octets of the kernel's header before each frame.
    header: usize,
    /// The slot of the oldest frame, or of the next one.
    next: usize,
}

// SAFETY: the mapping belongs to this value alone; the kernel's side of it is safe for any thread.
unsafe impl Send for FrameRing {}

/// Equal slots in equal blocks; no slot reaches over the end of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RingLayout {
    slot_bytes: usize,
    block_bytes: usize,
    blocks: usize,
}

impl RingLayout {
    /// Slots for contents of this size, in about so much memory, but for at least one block.
    fn of(content_bytes: usize, memory_bytes: usize) -> Self {
        let slot_bytes = (BEFORE_FRAME + content_bytes).next_multiple_of(libc::TPACKET_ALIGNMENT);
        let block_bytes = slot_bytes.next_multiple_of(BLOCK_BYTES);
        Self { slot_bytes, block_bytes, blocks: (memory_bytes / block_bytes).max(1) }
    }

    fn per_block(self) -> usize {
        self.block_bytes / self.slot_bytes
    }

    fn slots(self) -> usize {
        self.per_block() * self.blocks
    }

    fn bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    /// Where a slot begins.
    fn offset(self, slot: usize) -> usize {
        slot / self.per_block() * self.block_bytes + slot % self.per_block() * self.slot_bytes
    }

    fn request(self) -> io::Result<tpacket_req> {
        let number = |number| c_uint::try_from(number).map_err(io::Error::other);
        Ok(tpacket_req {
            tp_block_size: number(self.block_bytes)?,
            tp_block_nr: number(self.blocks)?,
            tp_frame_size: number(self.slot_bytes)?,
            tp_frame_nr: number(self.slots())?,
        })
    }
}

/// A frame in its slot.
pub(super) struct RingFrame<'a> {
    /// The frame, after a header of the kernel's if the socket has one.
    pub(super) content: &'a [u8],
    /// When it arrived, by the wall clock.
    pub(super) stamp: Time,
    /// Whether it was longer than the slot.
    pub(super) is_cut: bool,
    /// Whether the whole of it is also in the socket's queue, in the order of the slots.
    pub(super) is_queued: bool,
}

impl FrameRing {
    /// Gives an unbound packet socket a ring for contents of this size: the socket's header, and a
    /// frame.
    pub(super) fn new(
        socket: &OwnedFd,
        header: usize,
        content_bytes: usize,
        memory_bytes: usize,
    ) -> io::Result<Self> {
        let layout = RingLayout::of(content_bytes, memory_bytes);
        let version = tpacket_versions::TPACKET_V2 as c_int;
        socket::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        socket::set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &layout.request()?)?;
        let length = NonZeroUsize::new(layout.bytes()).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { mmap(None, length, protection, MapFlags::MAP_SHARED, socket.as_fd(), 0) }?;
        Ok(Self { memory, layout, header, next: 0 })
    }

    /// The oldest frame; `None` if there is none.
    pub(super) fn oldest(&self) -> Option<RingFrame<'_>> {
        let slot = self.slot();
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: until its status is set back the slot is this process's, and the kernel's header
        // in it is plain integers.
        let header = unsafe { slot.cast::<tpacket2_hdr>().read() };
        let (frame, captured) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let begin = frame.saturating_sub(self.header).min(self.layout.slot_bytes);
        let end = (frame + captured).clamp(begin, self.layout.slot_bytes);
        // SAFETY: the range is within the slot, whatever the header says.
        let content = unsafe { std::slice::from_raw_parts(slot.add(begin).as_ptr(), end - begin) };
        let stamp = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        Some(RingFrame {
            content,
            stamp: Time::from_nanoseconds(stamp),
            is_cut: header.tp_snaplen < header.tp_len,
            is_queued: status & libc::TP_STATUS_COPY != 0,
        })
    }

    /// Frees the slot of the oldest frame.
    pub(super) fn free_oldest(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.layout.slots();
    }

    fn slot(&self) -> NonNull<u8> {
        // SAFETY: slots are within the mapping.
        unsafe { self.memory.cast::<u8>().add(self.layout.offset(self.next)) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot is aligned for the kernel's header, which begins with the status, and both
        // sides access that as a whole.
        unsafe { self.slot().cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for FrameRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory, self.layout.bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `packet_set_ring` in `net/packet/af_packet.c` demands, and what this process relies on.
    #[test]
    fn slots_are_aligned_and_never_reach_over_their_block() {
        for content in [1, 1536, 9216, 66_560] {
            for memory in [0, 1 << 20, 8 << 20] {
                let layout = RingLayout::of(content, memory);
                assert_eq!(layout.block_bytes % BLOCK_BYTES, 0);
                assert!(layout.bytes() <= memory.max(layout.block_bytes), "{layout:?}");
                for slot in 0..layout.slots() {
                    let (begin, last) =
                        (layout.offset(slot), layout.offset(slot) + layout.slot_bytes - 1);
                    assert_eq!(begin % libc::TPACKET_ALIGNMENT, 0);
                    assert_eq!(begin / layout.block_bytes, last / layout.block_bytes);
                    assert!(slot == 0 || begin >= layout.offset(slot - 1) + layout.slot_bytes);
                }
            }
        }
    }
}
