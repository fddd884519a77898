//! Buffers for frames in flight, shared by copies of a frame.

use std::ops::Range;

use super::Carriage;

/// Memory is taken in pieces of this size, so that growing is rare and never moves a buffer.
const PIECE_BYTES: usize = 1 << 20;

/// Memory for all frames together; when it is used up, ports take no more frames until some have
/// left.
const MOST_BYTES: usize = 256 << 20;

/// Equal buffers with reference counts; free at zero.
#[derive(Debug)]
pub struct Buffers {
    buffer_bytes: usize,
    per_piece: usize,
    pieces: Vec<Box<[u8]>>,
    free: Vec<u32>,
    slots: Vec<BufferSlot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct BufferSlot {
    holders: u32,
    /// The offset of the Ethernet header; a header of the kernel may precede it.
    frame: u32,
    /// The end of the frame.
    end: u32,
}

impl Buffers {
    /// Buffers of `buffer_bytes` each, one piece of memory to begin with.
    pub fn new(buffer_bytes: usize) -> Self {
        let buffer_bytes = buffer_bytes.max(1);
        let per_piece = (PIECE_BYTES / buffer_bytes).max(super::BATCH);
        let mut buffers = Self {
            buffer_bytes,
            per_piece,
            pieces: Vec::new(),
            free: Vec::new(),
            slots: Vec::new(),
        };
        buffers.grow();
        buffers
    }

    /// A free buffer with its first reference; `None` when memory for frames is used up.
    pub fn take(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            self.grow();
        }
        let buffer = self.free.pop()?;
        self.slots[buffer as usize].holders = 1;
        Some(buffer)
    }

    /// Whether [`Self::take`] has a buffer.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty() || self.may_grow()
    }

    /// A copy of a given frame, in a free buffer; `None` when memory is used up.
    ///
    /// # Panics
    /// When the frame is longer than a buffer.
    pub fn put(&mut self, carriage: Carriage, frame: &[u8]) -> Option<u32> {
        let buffer = self.take()?;
        let (start, end) = (carriage.header(), carriage.header() + frame.len());
        let space = self.space(buffer);
        // Before it, a kernel header that requests no offload.
        space[..start].fill(0);
        space[start..end].copy_from_slice(frame);
        self.set_frame(buffer, start, end);
        Some(buffer)
    }

    /// Adds one reference to `buffer`.
    pub fn hold(&mut self, buffer: u32) {
        self.slots[buffer as usize].holders += 1;
    }

    /// Removes one reference; the buffer is free when it was the last.
    ///
    /// # Panics
    /// When the buffer is free already: the accounts of the network are wrong, which is a bug of
    /// btu.
    pub fn release(&mut self, buffer: u32) {
        let slot = &mut self.slots[buffer as usize];
        slot.holders =
            slot.holders.checked_sub(1).expect("a buffer has a holder until it is released");
        if slot.holders == 0 {
            self.free.push(buffer);
        }
    }

    /// The number of buffers with references.
    #[cfg(test)]
    pub fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Sets the place of the frame in a buffer.
    pub(super) fn set_frame(&mut self, buffer: u32, start: usize, end: usize) {
        let slot = &mut self.slots[buffer as usize];
        (slot.frame, slot.end) = (start as u32, end as u32);
    }

    /// The frame in a buffer, from its destination address on.
    pub fn frame(&self, buffer: u32) -> &[u8] {
        let slot = self.slots[buffer as usize];
        &self.whole(buffer)[slot.frame as usize..slot.end as usize]
    }

    /// Inverts one bit of a frame, counted from the highest of its first octet.
    ///
    /// # Panics
    /// When the frame has no such bit.
    pub(crate) fn invert(&mut self, buffer: u32, bit: u64) {
        let start = self.slots[buffer as usize].frame as usize;
        let place = start + (bit / 8) as usize;
        assert!(place < self.slots[buffer as usize].end as usize, "bit {bit} is beyond the frame");
        self.space(buffer)[place] ^= 0x80 >> (bit % 8);
    }

    /// The octets to send for a buffer: the frame and the kernel's header before it.
    pub(super) fn content(&self, buffer: u32) -> &[u8] {
        &self.whole(buffer)[..self.slots[buffer as usize].end as usize]
    }

    /// The whole of a buffer, to be filled.
    pub(super) fn space(&mut self, buffer: u32) -> &mut [u8] {
        let (piece, range) = self.place(buffer);
        &mut self.pieces[piece][range]
    }

    fn whole(&self, buffer: u32) -> &[u8] {
        let (piece, range) = self.place(buffer);
        &self.pieces[piece][range]
    }

    fn place(&self, buffer: u32) -> (usize, Range<usize>) {
        let (piece, within) = (buffer as usize / self.per_piece, buffer as usize % self.per_piece);
        (piece, within * self.buffer_bytes..(within + 1) * self.buffer_bytes)
    }

    fn may_grow(&self) -> bool {
        let piece_bytes = self.per_piece * self.buffer_bytes;
        (self.pieces.len() + 1) * piece_bytes <= MOST_BYTES.max(piece_bytes)
    }

    fn grow(&mut self) {
        if !self.may_grow() {
            return;
        }
        let piece_bytes = self.per_piece * self.buffer_bytes;
        self.pieces.push(vec![0; piece_bytes].into_boxed_slice());
        let first = self.slots.len();
        self.slots.resize(first + self.per_piece, BufferSlot::default());
        self.free.extend((first..self.slots.len()).rev().map(|buffer| buffer as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_when_its_last_holder_lets_go() {
        let mut buffers = Buffers::new(2048);
        let buffer = buffers.take().unwrap();
        buffers.hold(buffer);
        buffers.release(buffer);
        assert_eq!(buffers.in_use(), 1);
        buffers.release(buffer);
        assert_eq!(buffers.in_use(), 0);
        assert_eq!(buffers.take(), Some(buffer));
    }

    #[test]
    fn a_bit_is_inverted_and_back_again() {
        let mut buffers = Buffers::new(2048);
        let buffer = buffers.take().unwrap();
        buffers.set_frame(buffer, 10, 74);
        buffers.invert(buffer, 8 * 63 + 7);
        assert_eq!(buffers.frame(buffer)[63], 1);
        assert_eq!(buffers.frame(buffer).iter().map(|octet| octet.count_ones()).sum::<u32>(), 1);
        buffers.invert(buffer, 8 * 63 + 7);
        assert!(buffers.frame(buffer).iter().all(|&octet| octet == 0));
    }

    #[test]
    fn buffers_do_not_overlap_and_memory_has_a_limit() {
        let mut buffers = Buffers::new(1 << 20);
        assert!(buffers.has_room());
        let taken: Vec<u32> = std::iter::from_fn(|| buffers.take()).collect();
        assert_eq!((taken.len(), buffers.has_room()), (256, false));
        for &buffer in &taken {
            buffers.space(buffer)[0] = buffer as u8;
            buffers.space(buffer)[(1 << 20) - 1] = !buffer as u8;
            buffers.set_frame(buffer, 0, 1 << 20);
        }
        for &buffer in &taken {
            let frame = buffers.frame(buffer);
            assert_eq!((frame[0], frame[frame.len() - 1]), (buffer as u8, !buffer as u8));
        }
    }
}
