//! Pairing, for a quick try: a code that the user reads on one screen and types at the other
//! replaces an authority.
//!
//! Both sides derive the same authority's key from the code and issue themselves certificates of
//! it, each with a key of its own. The connection uses an ordinary mutual TLS handshake. A guess
//! can be checked against the signature of the certificate that is shown to every process that
//! connects; with 2^100 codes guessing is hopeless, but a shorter code would be too weak. Anyone
//! who learns the code before its use can act as either side; once the two have connected, each has
//! pinned the other's key and accepts no other.

use std::sync::Arc;
use std::time::Duration;

use ring::hkdf;

use super::code::Bits;
use super::issue::{Signer, Validity, key_of_seed, random};
use super::tls::Pin;
use super::{Identity, Role, TrustError};

/// The name of both ends of a pairing: what a controller passes to [`super::server_name`].
pub const PAIRED: &str = "paired";

/// A code that no controller has used lapses.
pub const LAPSE: Duration = Duration::from_mins(10);

/// The label of this use of the code; another version of the derivation would have another.
const SALT: &[u8] = b"btu pairing, version 1";
const AUTHORITY: &[u8] = b"Ed25519 seed of the authority";

/// A one-time code and the values that both sides derive from it.
pub struct Pairing {
    bits: Bits,
    /// One for all identities of this side: the first peer of any is the peer of all.
    pin: Arc<Pin>,
}

impl Pairing {
    /// A new code, for the agent that shows it. It lapses [`LAPSE`] from now unless a controller
    /// has used it.
    pub fn new() -> Result<Self, TrustError> {
        Ok(Self { bits: Bits::of(random()?), pin: Arc::new(Pin::new(Some(LAPSE))) })
    }

    /// A code that the user typed, for the controller.
    pub fn from_code(code: &str) -> Result<Self, TrustError> {
        Ok(Self { bits: Bits::parse(code)?, pin: Arc::new(Pin::new(None)) })
    }

    /// The code as it is shown, such as `K7QF-9M2R-T0XA-3BCD-5EFGH`.
    pub fn code(&self) -> String {
        self.bits.to_string()
    }

    /// An agent's identity of this pairing.
    pub fn agent(&self) -> Result<Identity, TrustError> {
        self.identity(Role::Agent)
    }

    /// A controller's identity of this pairing.
    pub fn controller(&self) -> Result<Identity, TrustError> {
        self.identity(Role::Controller)
    }

    fn identity(&self, role: Role) -> Result<Identity, TrustError> {
        // The clocks of the two sides need not agree; the agent's own clock ends the code.
        let signer = Signer::new(key_of_seed(&self.seed()?)?, Validity::always())?;
        let mut identity = signer.issue(PAIRED, role, Validity::always())?;
        identity.pin = Some(Arc::clone(&self.pin));
        Ok(identity)
    }

    /// HKDF-SHA256 (RFC 5869) of the code.
    fn seed(&self) -> Result<[u8; 32], TrustError> {
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, SALT).extract(self.bits.as_bytes());
        let mut seed = [0; 32];
        secret
            .expand(&[AUTHORITY], hkdf::HKDF_SHA256)
            .and_then(|derived| derived.fill(&mut seed))
            .map_err(TrustError::machinery("deriving a key from the pairing code"))?;
        Ok(seed)
    }

    #[cfg(test)]
    pub(super) fn lapsed() -> Self {
        Self { bits: Bits::of(random().unwrap()), pin: Arc::new(Pin::new(Some(Duration::ZERO))) }
    }
}

impl std::fmt::Debug for Pairing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pairing").finish_non_exhaustive()
    }
}
