//! The messages of the two ends between trials, over the pipe itself: frames of 72 bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `btup` |
//! | 4 | kind |
//! | 5 | pattern |
//! | 6..8 | zero |
//! | 8..16 | size of a message in bytes; of a further pair, the port at which the far end listens |
//! | 16..24 | repetitions; in an account: when the round began, in nanoseconds by the far end's clock |
//! | 24..32 | in an account: messages sent |
//! | 32..40 | in an account: messages received |
//! | 40..48 | in an account: messages of them with a wrong byte |
//! | 48..56 | in an account: nanoseconds by the far end's clock |
//! | 56..64 | in an account: messages sent again, so far |
//! | 64..72 | in an account: messages that had come before, so far |
//!
//! Numbers have their most significant byte first. The near end asks and the far end answers,
//! always in turn: the near end sends `Round`, the far one `Ready`; then messages flow; the near
//! end sends `Tell`, the far one `Account`. At the end both send `Farewell`. If several pairs are
//! measured together, both first send `Further` over the first, once for each other.

use btu_contract::pipe::Pattern;

/// Bytes of a frame.
pub(super) const FRAME: usize = 72;

const MAGIC: [u8; 4] = *b"btup";

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum PipeFrameKind {
    /// Messages of this size will follow, in this pattern, so often.
    Round = 1,
    /// The far end is ready to receive.
    Ready = 2,
    /// The near end requests the far end's account.
    Tell = 3,
    /// The account of the far end.
    Account = 4,
    /// The near end is done.
    Farewell = 5,
    /// The near end requests the meeting place of the next pair.
    Further = 6,
}

impl PipeFrameKind {
    const ALL: [Self; 6] =
        [Self::Round, Self::Ready, Self::Tell, Self::Account, Self::Farewell, Self::Further];
}

/// One of them, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PipeFrame {
    pub(super) kind: PipeFrameKind,
    pub(super) pattern: Pattern,
    pub(super) size: u64,
    pub(super) count: u64,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) wrong: u64,
    pub(super) elapsed_ns: u64,
    pub(super) repeated: u64,
    pub(super) duplicates: u64,
}

impl PipeFrame {
    /// A frame without numbers.
    pub(super) const fn plain(kind: PipeFrameKind) -> Self {
        Self {
            kind,
            pattern: Pattern::PingPong,
            size: 0,
            count: 0,
            sent: 0,
            received: 0,
            wrong: 0,
            elapsed_ns: 0,
            repeated: 0,
            duplicates: 0,
        }
    }

    /// As it goes over the pipe.
    pub(super) fn encode(&self) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[5] = self.pattern as u8;
        let Self { size, count, sent, received, wrong, elapsed_ns, repeated, duplicates, .. } =
            *self;
        let numbers = [size, count, sent, received, wrong, elapsed_ns, repeated, duplicates];
        for (room, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            room.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// The frame in `bytes`; `None` when it is not one.
    pub(super) fn decode(bytes: &[u8; FRAME]) -> Option<Self> {
        if bytes[..4] != MAGIC || bytes[6..8] != [0; 2] {
            return None;
        }
        let mut numbers = bytes[8..]
            .chunks_exact(8)
            .map(|number| number.try_into().map_or(0, u64::from_be_bytes));
        let mut next = || numbers.next().unwrap_or(0);
        Some(Self {
            kind: PipeFrameKind::ALL.into_iter().find(|kind| *kind as u8 == bytes[4])?,
            pattern: Pattern::ALL.into_iter().find(|pattern| *pattern as u8 == bytes[5])?,
            size: next(),
            count: next(),
            sent: next(),
            received: next(),
            wrong: next(),
            elapsed_ns: next(),
            repeated: next(),
            duplicates: next(),
        })
    }
}

/// Any bytes as a frame; whatever is accepted must encode to what it was decoded from.
#[doc(hidden)]
pub fn fuzz_frame(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk::<FRAME>() else { return };
    let mut likely = *bytes;
    likely[..4].copy_from_slice(b"btup");
    likely[6..8].fill(0);
    likely[4] %= 8;
    for bytes in [bytes, &likely] {
        if let Some(frame) = PipeFrame::decode(bytes) {
            assert_eq!(frame.encode(), *bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_said_is_heard(numbers in any::<[u64; 8]>(), kind in 0usize..6, pattern in 0usize..3) {
            let kind = PipeFrameKind::ALL[kind];
            let [size, count, sent, received, wrong, elapsed_ns, repeated, duplicates] = numbers;
            let pattern = Pattern::ALL[pattern];
            let frame = PipeFrame { kind, pattern, size, count, sent, received, wrong, elapsed_ns, repeated, duplicates };
            prop_assert_eq!(PipeFrame::decode(&frame.encode()), Some(frame));
        }

        #[test]
        fn garbage_is_no_frame_or_says_exactly_what_it_says(bytes in prop::array::uniform32(any::<u8>()), like in any::<bool>()) {
            let mut garbage = [0; FRAME];
            garbage[..32].copy_from_slice(&bytes);
            if like {
                garbage[..4].copy_from_slice(&MAGIC);
                garbage[6..8].fill(0);
            }
            if let Some(frame) = PipeFrame::decode(&garbage) {
                prop_assert_eq!(frame.encode(), garbage);
            }
        }
    }
}
