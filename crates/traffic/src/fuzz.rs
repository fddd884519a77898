//! Entries for fuzzers: they return for any input from a peer.

use btu_contract::activity::Token;

use crate::tcp::acceptor::presents;
use crate::udp::header::{self, Header};

pub use crate::pipe::fuzz_frame as pipe_frame;
pub use crate::probe::fuzz_packet as probe_packet;

/// A datagram of a UDP flow: what is accepted must encode to what it was decoded from.
pub fn udp_header(datagram: &[u8]) {
    header::decode_any(datagram);
    if let Some(seed) = datagram.first_chunk::<{ header::HEADER }>() {
        // With correct magic numbers, so that the parser examines the rest of the header.
        let mut likely = *seed;
        let model = Header { kind: header::DatagramKind::Data, token: Token::default(), number: 0 }
            .encode();
        likely[..8].copy_from_slice(&model[..8]);
        likely[4] = seed[4] % 10;
        header::decode_any(&[&likely, &datagram[header::HEADER..]].concat());
    }
}

/// Any bytes of a caller of a TCP acceptor: only the whole token opens it.
pub fn tcp_token(said: &[u8]) {
    let token: Token = std::array::from_fn(|i| i as u8);
    let said = &said[..said.len().min(token.len())];
    assert_eq!(presents(said, &token), said == token);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            super::pipe_frame(&bytes);
            super::probe_packet(&bytes);
            super::tcp_token(&bytes);
            super::udp_header(&bytes);
        }
    }
}
