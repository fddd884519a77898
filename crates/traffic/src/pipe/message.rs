//! The memory of messages, their content, and their check.
//!
//! In warm ping-pong, answers arrive in the memory from which questions are sent, as in `NetPIPE`
//! 3: a processor's cache then has to hold one message, not two, which decides what a message half
//! as large as the cache takes.

use btu_contract::pipe::{Buffers, Cache, Check, End, Pattern};

use crate::payload::Payload;

/// Buffers begin at a page, or as far behind one as the plan says.
const PAGE: usize = 4096;

/// In a pool, messages begin at a cache line.
const LINE: usize = 64;

/// Tags go from 1 to this (`NetPIPE` 5: 1 to 100).
const TAGS: u64 = 100;

/// Memory for messages of one direction, touched before it is used.
struct MessageBuffer {
    bytes: Vec<u8>,
    begin: usize,
    room: usize,
    at: usize,
    is_cold: bool,
}

impl MessageBuffer {
    fn new(buffers: &Buffers, largest: usize) -> Self {
        let (room, is_cold) = match buffers.cache {
            Cache::Warm => (largest, false),
            Cache::Cold { pool } => (largest.max(pool.count() as usize), true),
        };
        let offset = buffers.offset.count() as usize % PAGE;
        // A value other than zero, or the kernel would give one and the same page of zeros for all
        // of it.
        let bytes = vec![0x5a; room + 2 * PAGE];
        let begin = bytes.as_ptr().align_offset(PAGE) + offset;
        Self { bytes, begin, room, at: 0, is_cold }
    }

    /// Where the next message of this length lies.
    #[inline]
    fn advance(&mut self, length: usize) -> usize {
        if !self.is_cold {
            return self.begin;
        }
        let start = if self.at + length <= self.room { self.at } else { 0 };
        self.at = start + length.next_multiple_of(LINE);
        self.begin + start
    }
}

/// Messages on their way out and in at one end.
pub(super) struct Messages {
    outgoing: MessageBuffer,
    /// Absent where messages come into the memory from which they go.
    incoming: Option<MessageBuffer>,
    end: End,
    /// The payload of whole messages, if every byte is checked.
    whole: Option<Payload>,
    last: usize,
}

/// The tag of message `n` of a round, in the first and last byte of the message that `end` sends.
/// The ends have different tags, so that a message which never came cannot be taken for one by what
/// was sent from the same memory.
#[inline]
fn tag(n: u64, end: End) -> u8 {
    let first = if matches!(end, End::Near) { 1 } else { 1 + TAGS as u8 };
    (n % TAGS) as u8 + first
}

/// Where in the stream of all payload the message `n` of a round begins.
fn offset(n: u64) -> u64 {
    n.wrapping_mul(4099)
}

impl Messages {
    /// Room for messages of up to `largest` bytes each way at this `end`. Both ends must have the
    /// same seed.
    pub(super) fn new(
        buffers: &Buffers,
        pattern: Pattern,
        largest: usize,
        seed: u64,
        end: End,
    ) -> Self {
        let whole = (buffers.check == Check::Whole).then(|| Payload::new(seed, largest));
        let is_shared =
            pattern == Pattern::PingPong && buffers.cache == Cache::Warm && whole.is_none();
        let incoming = (!is_shared).then(|| MessageBuffer::new(buffers, largest));
        Self { outgoing: MessageBuffer::new(buffers, largest), incoming, end, whole, last: 0 }
    }

    /// Message number `n`, and room for its counterpart; there is none in warm ping-pong, where no
    /// caller asks for both.
    #[inline]
    pub(super) fn both(&mut self, n: u64, length: usize) -> (&[u8], &mut [u8]) {
        let tag = tag(n, self.end);
        let room: &mut [u8] = match &mut self.incoming {
            Some(incoming) => {
                self.last = incoming.advance(length);
                &mut incoming.bytes[self.last..self.last + length]
            }
            None => &mut [],
        };
        (fill(&mut self.outgoing, self.whole.as_ref(), n, tag, length), room)
    }

    /// Makes the message with the number `n`.
    #[inline]
    pub(super) fn message(&mut self, n: u64, length: usize) -> &[u8] {
        fill(&mut self.outgoing, self.whole.as_ref(), n, tag(n, self.end), length)
    }

    /// Room for a message.
    #[inline]
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        let incoming = self.incoming.as_mut().unwrap_or(&mut self.outgoing);
        self.last = incoming.advance(length);
        &mut incoming.bytes[self.last..self.last + length]
    }

    /// Whether the last received data are message number `n`.
    #[inline]
    pub(super) fn is_right(&self, n: u64, length: usize) -> bool {
        let message =
            &self.incoming.as_ref().unwrap_or(&self.outgoing).bytes[self.last..self.last + length];
        let tag = tag(n, if matches!(self.end, End::Near) { End::Far } else { End::Near });
        match &self.whole {
            Some(payload) => message == payload.at(offset(n), length),
            None => message[0] == tag && message[length - 1] == tag,
        }
    }
}

#[inline]
fn fill<'a>(
    pool: &'a mut MessageBuffer,
    whole: Option<&'a Payload>,
    n: u64,
    tag: u8,
    length: usize,
) -> &'a [u8] {
    let start = pool.advance(length);
    let message = &mut pool.bytes[start..start + length];
    if let Some(payload) = whole {
        message.copy_from_slice(payload.at(offset(n), length));
    } else {
        message[0] = tag;
        message[length - 1] = tag;
    }
    message
}

#[cfg(test)]
mod tests {
    use btu_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn messages(cache: Cache, offset: u64, check: Check, end: End) -> Messages {
        let buffers = Buffers { cache, offset: Bytes::new(offset), check };
        Messages::new(&buffers, Pattern::Bidirectional, 10_000, 7, end)
    }

    #[test]
    fn a_warm_message_lies_where_it_was_told_and_a_cold_one_behind_the_last() {
        let mut warm = messages(Cache::Warm, 3, Check::Ends, End::Near);
        let first = warm.message(0, 100).as_ptr();
        assert_eq!((first.addr() % PAGE, warm.message(1, 100).as_ptr()), (3, first));
        let mut cold =
            messages(Cache::Cold { pool: Bytes::new(20_000) }, 0, Check::Ends, End::Near);
        let places: Vec<_> = (0..300).map(|n| cold.message(n, 100).as_ptr().addr()).collect();
        assert!(places.iter().all(|place| place % LINE == 0));
        assert_eq!(places[1] - places[0], 128);
        // 155 messages at 128 B, and 100 B: the 156th still fits, then it begins again.
        assert_eq!((places[156], places[157]), (places[0], places[1]));
    }

    #[test]
    fn warm_ping_pong_has_one_buffer_and_its_own_question_is_no_answer() {
        let mut near = Messages::new(&Buffers::PLAIN, Pattern::PingPong, 100, 7, End::Near);
        for n in 0..300 {
            let sent = near.message(n, 100).as_ptr();
            assert_eq!(near.room(100).as_ptr(), sent);
            assert!(!near.is_right(n, 100), "{n}: nothing has come");
        }
    }

    proptest! {
        #[test]
        fn a_carried_message_is_right_and_another_is_not(n in any::<u64>(), length in 1usize..10_000, whole in any::<bool>()) {
            let check = if whole { Check::Whole } else { Check::Ends };
            let (mut near, mut far) = (messages(Cache::Warm, 1, check, End::Near), messages(Cache::Warm, 2, check, End::Far));
            far.room(length).copy_from_slice(near.message(n, length));
            prop_assert!(far.is_right(n, length));
            // A byte of the payload may be like another one, in a short message.
            prop_assert!(whole && length < 8 || !far.is_right(n.wrapping_add(1), length));
        }

        #[test]
        fn every_wrong_byte_of_a_whole_message_is_seen(length in 1usize..10_000, at in any::<prop::sample::Index>()) {
            let mut near = messages(Cache::Warm, 0, Check::Whole, End::Near);
            let mut far = messages(Cache::Warm, 0, Check::Whole, End::Far);
            let room = far.room(length);
            room.copy_from_slice(near.message(5, length));
            room[at.index(length)] ^= 4;
            prop_assert!(!far.is_right(5, length));
        }
    }
}
