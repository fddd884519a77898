//! What messages lie in, what is in them, and how one sees that they are right.

use btu_suite::pipe::{Buffers, Cache, Check};

use crate::payload::Payload;

/// Buffers begin at a page, or as far behind one as the plan says.
const PAGE: usize = 4096;

/// In a pool, messages begin at a cache line.
const LINE: usize = 64;

/// Tags go from 1 to this (`NetPIPE` 5: 1 to 100).
const TAGS: u64 = 100;

/// Memory for messages of one direction, touched before it is used.
struct Pool {
    bytes: Vec<u8>,
    begin: usize,
    room: usize,
    at: usize,
    is_cold: bool,
}

impl Pool {
    fn new(buffers: &Buffers, largest: usize) -> Self {
        let (room, is_cold) = match buffers.cache {
            Cache::Warm => (largest, false),
            Cache::Cold { pool } => (largest.max(pool.count() as usize), true),
        };
        let offset = buffers.offset.count() as usize % PAGE;
        // A value other than zero, or the kernel would give one and the same page of zeros for all of it.
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
    outgoing: Pool,
    incoming: Pool,
    /// What whole messages are made of, where every byte is looked at.
    whole: Option<Payload>,
    last: usize,
}

/// Number `n` of a round, as its first and last byte say it.
#[inline]
fn tag(n: u64) -> u8 {
    (n % TAGS) as u8 + 1
}

/// Where in the stream of all payload the message `n` of a round begins.
fn offset(n: u64) -> u64 {
    n.wrapping_mul(4099)
}

impl Messages {
    /// Room for messages of up to `largest` bytes each way. Both ends must have the same seed.
    pub(super) fn new(buffers: &Buffers, largest: usize, seed: u64) -> Self {
        let whole = (buffers.check == Check::Whole).then(|| Payload::new(seed, largest));
        Self { outgoing: Pool::new(buffers, largest), incoming: Pool::new(buffers, largest), whole, last: 0 }
    }

    /// Message number `n`, and room for its counterpart.
    #[inline]
    pub(super) fn both(&mut self, n: u64, length: usize) -> (&[u8], &mut [u8]) {
        let Self { outgoing, incoming, whole, last } = self;
        *last = incoming.advance(length);
        (fill(outgoing, whole.as_ref(), n, length), &mut incoming.bytes[*last..*last + length])
    }

    /// Message number `n`.
    #[inline]
    pub(super) fn message(&mut self, n: u64, length: usize) -> &[u8] {
        fill(&mut self.outgoing, self.whole.as_ref(), n, length)
    }

    /// Room for a message.
    #[inline]
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        self.last = self.incoming.advance(length);
        &mut self.incoming.bytes[self.last..self.last + length]
    }

    /// Whether what came into the last room is message number `n`.
    #[inline]
    pub(super) fn is_right(&self, n: u64, length: usize) -> bool {
        let message = &self.incoming.bytes[self.last..self.last + length];
        match &self.whole {
            Some(payload) => message == payload.at(offset(n), length),
            None => message[0] == tag(n) && message[length - 1] == tag(n),
        }
    }
}

#[inline]
fn fill<'a>(pool: &'a mut Pool, whole: Option<&'a Payload>, n: u64, length: usize) -> &'a [u8] {
    let start = pool.advance(length);
    let message = &mut pool.bytes[start..start + length];
    if let Some(payload) = whole {
        message.copy_from_slice(payload.at(offset(n), length));
    } else {
        message[0] = tag(n);
        message[length - 1] = tag(n);
    }
    message
}

#[cfg(test)]
mod tests {
    use btu_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn messages(cache: Cache, offset: u64, check: Check) -> Messages {
        Messages::new(&Buffers { cache, offset: Bytes::new(offset), check }, 10_000, 7)
    }

    fn carry(messages: &mut Messages, n: u64, length: usize) {
        let (message, room) = messages.both(n, length);
        room.copy_from_slice(message);
    }

    #[test]
    fn a_warm_message_lies_where_it_was_told_and_a_cold_one_behind_the_last() {
        let mut warm = messages(Cache::Warm, 3, Check::Ends);
        let first = warm.message(0, 100).as_ptr();
        assert_eq!((first.addr() % PAGE, warm.message(1, 100).as_ptr()), (3, first));
        let mut cold = messages(Cache::Cold { pool: Bytes::new(20_000) }, 0, Check::Ends);
        let places: Vec<_> = (0..300).map(|n| cold.message(n, 100).as_ptr().addr()).collect();
        assert!(places.iter().all(|place| place % LINE == 0));
        assert_eq!(places[1] - places[0], 128);
        // 155 messages at 128 B, and 100 B: the 156th still fits, then it begins again.
        assert_eq!((places[156], places[157]), (places[0], places[1]));
    }

    proptest! {
        #[test]
        fn a_carried_message_is_right_and_another_is_not(n in any::<u64>(), length in 1usize..10_000, whole in any::<bool>()) {
            let check = if whole { Check::Whole } else { Check::Ends };
            let mut messages = messages(Cache::Warm, 1, check);
            carry(&mut messages, n, length);
            prop_assert!(messages.is_right(n, length));
            // A byte of the payload may be like another one, in a short message.
            prop_assert!(whole && length < 8 || !messages.is_right(n.wrapping_add(1), length));
        }

        #[test]
        fn every_wrong_byte_of_a_whole_message_is_seen(length in 1usize..10_000, at in any::<prop::sample::Index>()) {
            let mut messages = messages(Cache::Warm, 0, Check::Whole);
            carry(&mut messages, 5, length);
            let place = messages.last + at.index(length);
            messages.incoming.bytes[place] ^= 4;
            prop_assert!(!messages.is_right(5, length));
        }
    }
}
