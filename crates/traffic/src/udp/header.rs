//! The header of btu's datagrams.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `btu1` |
//! | 4 | kind |
//! | 5..8 | zero |
//! | 8..24 | the flow's token |
//! | 24..32 | a number, most significant byte first |
//!
//! Greeting, challenge, welcome, farewell and goodbye end here; a count is followed by eight bytes,
//! the others by payload.

use btu_contract::activity::Token;

/// Bytes of a header.
pub(crate) const HEADER: usize = 32;

const MAGIC: [u8; 4] = *b"btu1";

/// The kind of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DatagramKind {
    /// The caller's greeting, repeated until it is answered; the number is that of the listener's
    /// challenge, 0 before it.
    Hello = 1,
    /// The listener has taken the caller.
    Welcome = 2,
    /// A datagram of a stream; the number is its place in the schedule, from 0.
    Data = 3,
    /// A request; the number is its own, from 0.
    Request = 4,
    /// The answer to the request of that number.
    Answer = 5,
    /// The caller of a request, or the sender of a stream, is done; the number is how many
    /// datagrams went out.
    Farewell = 6,
    /// The farewell was received.
    Goodbye = 7,
    /// The listener's challenge: the caller must send this number back from its address.
    Challenge = 8,
    /// The receiver of a stream has this number of datagrams; behind the header is the time for
    /// which it has received, in nanoseconds.
    Count = 9,
}

impl DatagramKind {
    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Hello,
            Self::Welcome,
            Self::Data,
            Self::Request,
            Self::Answer,
            Self::Farewell,
            Self::Goodbye,
            Self::Challenge,
            Self::Count,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == byte)
    }
}

/// The head of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its kind.
    pub(crate) kind: DatagramKind,
    /// To which flow it belongs.
    pub(crate) token: Token,
    /// Its number; the meaning depends on the kind.
    pub(crate) number: u64,
}

impl Header {
    /// As it goes over the wire.
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[8..24].copy_from_slice(&self.token);
        bytes[24..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// The header and the payload of `datagram`; `None` when it is not one of btu's.
    pub(crate) fn decode(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, payload) = datagram.split_first_chunk::<HEADER>()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (&[kind, 0, 0, 0], rest) = rest.split_first_chunk::<4>()? else { return None };
        let (&token, number) = rest.split_first_chunk::<16>()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        (*magic == MAGIC).then_some(())?;
        Some((Self { kind: DatagramKind::from_byte(kind)?, token, number }, payload))
    }
}

/// For fuzzers: any bytes; whatever is accepted must encode to what it was decoded from.
pub(crate) fn decode_any(datagram: &[u8]) {
    if let Some((header, payload)) = Header::decode(datagram) {
        assert_eq!([&header.encode(), payload].concat(), datagram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = DatagramKind> {
        (1u8..=8).prop_map(|byte| DatagramKind::from_byte(byte).unwrap())
    }

    proptest! {
        #[test]
        fn a_header_comes_back_as_it_was(kind in kinds(), token in any::<Token>(), number in any::<u64>(),
                                         payload in prop::collection::vec(any::<u8>(), 0..50)) {
            let header = Header { kind, token, number };
            let datagram = [&header.encode()[..], &payload].concat();
            prop_assert_eq!(Header::decode(&datagram), Some((header, &payload[..])));
        }

        #[test]
        fn garbage_is_refused_or_meant(garbage in prop::collection::vec(any::<u8>(), 0..80)) {
            decode_any(&garbage);
        }

        #[test]
        fn damage_to_a_header_is_refused_or_meant(kind in kinds(), at in 0usize..HEADER, bit in 0u8..8, cut in 0usize..=HEADER) {
            let mut bytes = Header { kind, token: [7; 16], number: 5 }.encode();
            bytes[at] ^= 1 << bit;
            decode_any(&bytes);
            decode_any(&bytes[..cut]);
            prop_assert!(cut == HEADER || Header::decode(&bytes[..cut]).is_none());
        }
    }
}
