//! Memory that direct I/O accepts.

/// The alignment of addresses, offsets and lengths for direct I/O; 4096 is enough for every usual
/// device (open(2)).
pub(crate) const ALIGNMENT: usize = 4096;

/// A buffer that starts at a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    /// Allocates a buffer of `length` zeros.
    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        // The heap block stays where it is as long as the vector is not resized, and it never is.
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start }
    }

    /// The first `length` bytes; at most what was asked for in `new`.
    pub(crate) fn slice(&mut self, length: usize) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_wherever_they_come_from() {
        for length in [1, 512, 4096, 1 << 20] {
            let mut moved = Box::new(Aligned::new(length));
            let slice = moved.slice(length);
            assert_eq!(slice.as_ptr().addr() % ALIGNMENT, 0);
            assert_eq!(slice.len(), length);
        }
    }
}
