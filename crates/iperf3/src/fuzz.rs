//! Entry points for fuzzers. They must return for whatever a peer says of its test.

use crate::protocol::Parameters;
use crate::results::PeerResults;
use crate::settings::Limits;

/// What a client asks for.
pub fn parameters(octets: &[u8]) {
    drop(Parameters::read(octets, &Limits::STANDARD));
}

/// What a peer counted.
pub fn results(octets: &[u8]) {
    if let Ok(results) = PeerResults::read(octets) {
        let said = results.of(1);
        assert!(said.seconds.is_finite() && said.seconds >= 0.0);
    }
}
