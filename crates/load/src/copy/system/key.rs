//! Keys of ssh that both ends make from the token.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use btu_contract::activity::Token;
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha256};

use crate::LoadError;

/// Algorithm of all of them (RFC 8709).
const ALGORITHM: &[u8] = b"ssh-ed25519";

/// Characters of a line of a key.
const LINE: usize = 70;

/// A pair of keys.
pub(super) struct Key {
    seed: [u8; 32],
    public: [u8; 32],
}

impl Key {
    /// The key of the host, or of the user: both ends derive the same key, and a process that does
    /// not know the token cannot derive it.
    pub(super) fn of(token: &Token, whose: &str) -> Result<Self, LoadError> {
        let mut hash = Sha256::new();
        hash.update(b"btu ssh key: ");
        hash.update(whose.as_bytes());
        hash.update(token);
        let seed: [u8; 32] = hash.finalize().into();
        let refused = || LoadError::Order { what: "no key can be made from the token" };
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| refused())?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| refused())?;
        Ok(Self { seed, public })
    }

    /// The public one, as in `authorized_keys` and `known_hosts`.
    pub(super) fn public_line(&self) -> String {
        format!("ssh-ed25519 {}", STANDARD.encode(self.public_blob()))
    }

    fn public_blob(&self) -> Vec<u8> {
        [string(ALGORITHM), string(&self.public)].concat()
    }

    /// The private one, as ssh-keygen writes it (PROTOCOL.key of OpenSSH), without a passphrase.
    pub(super) fn private_text(&self) -> String {
        let both = [self.seed, self.public].concat();
        let check = [0; 8];
        let mut private = [
            &check[..],
            &string(ALGORITHM),
            &string(&self.public),
            &string(&both),
            &string(b"btu"),
        ]
        .concat();
        private.extend((1..=8).take((8 - private.len() % 8) % 8));
        let key = [
            &b"openssh-key-v1\0"[..],
            &string(b"none"),
            &string(b"none"),
            &string(b""),
            &1u32.to_be_bytes(),
            &string(&self.public_blob()),
            &string(&private),
        ];
        let text = STANDARD.encode(key.concat());
        let lines: Vec<&str> =
            (0..text.len()).step_by(LINE).map(|at| &text[at..text.len().min(at + LINE)]).collect();
        format!(
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
            lines.join("\n")
        )
    }
}

/// A string of ssh (RFC 4251, section 5).
fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::super::ends::MemoryFile;
    use super::*;

    /// Sizes and beginning are those of what ssh-keygen writes, and ssh-keygen reads it.
    #[test]
    fn keys_are_those_of_openssh() {
        let key = Key::of(&[7; 16], "host").expect("a key");
        assert_eq!(key.public_blob().len(), 51);
        assert!(
            key.public_line().starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"),
            "{}",
            key.public_line()
        );
        assert_ne!(key.public, Key::of(&[7; 16], "user").expect("a key").public);
        assert_ne!(key.public, Key::of(&[8; 16], "host").expect("a key").public);
        let held = MemoryFile::new(key.private_text()).expect("held");
        let told =
            std::process::Command::new("ssh-keygen").arg("-y").arg("-f").arg(held.path()).output();
        // Where there is one, the real program reads it.
        let Ok(told) = told else { return };
        assert_eq!(
            String::from_utf8_lossy(&told.stdout).trim(),
            format!("{} btu", key.public_line()),
            "{told:?}"
        );
    }
}
