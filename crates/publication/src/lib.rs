//! What a published run is signed with: the manifest, the request for a challenge, and the keys.
//!
//! A publisher signs a [`Manifest`], a few lines of text that name one archive by its digest. The
//! board, a laboratory and every reader check the same lines; a signature is one of minisign
//! (<https://jedisct1.github.io/minisign/>), so that `minisign -V` checks it without this program.

#![forbid(unsafe_code)]

mod address;
mod challenge;
mod key;
mod lines;
mod manifest;

pub use address::check_address;
pub use challenge::{Challenge, ChallengeRequest};
pub use key::{KeyError, PublicKey, SigningKey};
pub use lines::{TextError, plain};
pub use manifest::{Manifest, Visibility};

use btu_units::hexadecimal;
use sha2::{Digest, Sha256};

/// The SHA-256 of `octets`, as 64 hexadecimal digits.
pub fn sha256(octets: &[u8]) -> String {
    hexadecimal(&Sha256::digest(octets))
}
