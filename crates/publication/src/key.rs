//! Keys and signatures in the forms of minisign (<https://jedisct1.github.io/minisign/>): Ed25519,
//! over the `BLAKE2b` of a text.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use blake2::{Blake2b256, Blake2b512, Digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use thiserror::Error;

/// A key, secret or public: the algorithm Ed25519.
const ED25519_KEY: &[u8; 2] = b"Ed";
/// A signature: Ed25519 over `BLAKE2b`.
const ED25519_OF_HASH: &[u8; 2] = b"ED";
/// What follows in the file of a secret key: no password, a checksum by `BLAKE2b`, and 48 octets that
/// only a password needs.
const NO_PASSWORD: [u8; 52] = {
    let mut octets = [0; 52];
    (octets[2], octets[3]) = (b'B', b'2');
    octets
};

const UNTRUSTED: &str = "untrusted comment: ";
const TRUSTED: &str = "trusted comment: ";
/// The comment of a signature.
const COMMENT: &str = "btu publication";

/// Why a key or a signature is refused.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The text is no public key.
    #[error("this is no public key of minisign: it has 56 letters, and begins with RW")]
    NoPublicKey,
    /// The text is no key that signs.
    #[error("this is no secret key that btu wrote")]
    NoSecretKey,
    /// The text is no signature.
    #[error("this is no signature of minisign")]
    NoSignature,
    /// The signature is not one of this key over this text.
    #[error("the signature is not one of key {key} over this text")]
    Forged {
        /// The identifier of the key.
        key: String,
    },
    /// The system gave no random numbers.
    #[error("making a key: the system gives no random numbers")]
    NotMade,
}

/// The number of a key pair, which is no proof of anything.
type KeyId = [u8; 8];

/// The key by which signatures are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    id: KeyId,
    key: [u8; 32],
}

impl PublicKey {
    /// The key's identifier as minisign shows it: 16 hexadecimal digits. It is no proof of anything.
    pub fn id(&self) -> String {
        format!("{:016X}", u64::from_le_bytes(self.id))
    }

    /// The content of a `.pub` file.
    pub fn file(&self) -> String {
        format!("{UNTRUSTED}minisign public key {}\n{self}\n", self.id())
    }

    /// Checks that `signature`, the content of a `.minisig` file, is this key's over `text`.
    ///
    /// # Errors
    /// It is not.
    pub fn verify(&self, text: &str, signature: &str) -> Result<(), KeyError> {
        let signature = Signature::parse(signature).ok_or(KeyError::NoSignature)?;
        let key = UnparsedPublicKey::new(&ED25519, self.key);
        let is_one = signature.id == self.id
            && key.verify(&Blake2b512::digest(text), &signature.of_text).is_ok()
            && key.verify(&signature.commented(), &signature.of_comment).is_ok();
        if is_one { Ok(()) } else { Err(KeyError::Forged { key: self.id() }) }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BASE64_STANDARD.encode([&ED25519_KEY[..], &self.id, &self.key].concat()))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// The 56 letters, or the content of a `.pub` file.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let letters = text.trim().lines().last().unwrap_or_default().trim();
        let parsed = || {
            let octets: [u8; 42] = decode(letters)?;
            let (id, key) = octets.strip_prefix(ED25519_KEY)?.split_first_chunk()?;
            Some(Self { id: *id, key: key.try_into().ok()? })
        };
        parsed().ok_or(KeyError::NoPublicKey)
    }
}

/// The content of a `.minisig` file.
struct Signature {
    id: KeyId,
    of_text: [u8; 64],
    comment: String,
    /// Of the signature of the text, and the comment.
    of_comment: [u8; 64],
}

impl Signature {
    fn parse(file: &str) -> Option<Self> {
        let lines: Vec<&str> = file.lines().collect();
        let [untrusted, of_text, trusted, of_comment] = lines[..] else { return None };
        untrusted.strip_prefix(UNTRUSTED)?;
        let octets: [u8; 74] = decode(of_text)?;
        let (id, of_text) = octets.strip_prefix(ED25519_OF_HASH)?.split_first_chunk()?;
        Some(Self {
            id: *id,
            of_text: of_text.try_into().ok()?,
            comment: trusted.strip_prefix(TRUSTED)?.to_owned(),
            of_comment: decode(of_comment)?,
        })
    }

    /// What the second signature is of.
    fn commented(&self) -> Vec<u8> {
        [&self.of_text[..], self.comment.as_bytes()].concat()
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_text = [&ED25519_OF_HASH[..], &self.id, &self.of_text].concat();
        writeln!(f, "{UNTRUSTED}{}\n{}", self.comment, BASE64_STANDARD.encode(of_text))?;
        writeln!(f, "{TRUSTED}{}\n{}", self.comment, BASE64_STANDARD.encode(self.of_comment))
    }
}

/// A key that signs.
pub struct SigningKey {
    id: KeyId,
    /// The seed, and the public key that belongs to it.
    halves: [u8; 64],
}

impl fmt::Debug for SigningKey {
    /// Without the key itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// The system gave no random numbers.
    pub fn new() -> Result<Self, KeyError> {
        let (mut id, mut seed) = (KeyId::default(), [0; 32]);
        let random = SystemRandom::new();
        random
            .fill(&mut id)
            .and_then(|()| random.fill(&mut seed))
            .map_err(|_| KeyError::NotMade)?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| KeyError::NotMade)?;
        let halves = [&seed[..], pair.public_key().as_ref()].concat();
        Ok(Self { id, halves: halves.try_into().map_err(|_| KeyError::NotMade)? })
    }

    /// The content of the key's file, which no other user may read.
    pub fn file(&self) -> String {
        let octets =
            [ED25519_KEY, &NO_PASSWORD[..], &self.id, &self.halves, &self.checksum()].concat();
        format!(
            "{UNTRUSTED}btu: the secret key of a publisher\n{}\n",
            BASE64_STANDARD.encode(octets)
        )
    }

    /// The key in the content of its file, as [`Self::file`] writes it. Files of `minisign -G -W` have
    /// no checksum, and are refused; minisign signs with these files too.
    ///
    /// # Errors
    /// It is no such file, or the key has a password.
    pub fn read(file: &str) -> Result<Self, KeyError> {
        let parsed = || {
            let octets: [u8; 158] = decode(file.lines().nth(1)?)?;
            let rest = octets.strip_prefix(ED25519_KEY)?.strip_prefix(&NO_PASSWORD)?;
            let (id, rest) = rest.split_first_chunk()?;
            let (halves, checksum) = rest.split_first_chunk()?;
            let key = Self { id: *id, halves: *halves };
            (key.checksum() == checksum).then_some(key)
        };
        parsed().ok_or(KeyError::NoSecretKey)
    }

    fn checksum(&self) -> Vec<u8> {
        Blake2b256::digest([&ED25519_KEY[..], &self.id, &self.halves].concat()).to_vec()
    }

    /// The key by which its signatures are checked.
    ///
    /// # Errors
    /// The key's two halves do not fit.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        let public = self.pair()?.public_key().as_ref().try_into();
        Ok(PublicKey { id: self.id, key: public.map_err(|_| KeyError::NoSecretKey)? })
    }

    /// Signs `text`: the content of a `.minisig` file.
    ///
    /// # Errors
    /// The key's two halves do not fit.
    pub fn sign(&self, text: &str) -> Result<String, KeyError> {
        let pair = self.pair()?;
        let sign = |octets: &[u8]| -> Result<[u8; 64], KeyError> {
            pair.sign(octets).as_ref().try_into().map_err(|_| KeyError::NoSecretKey)
        };
        let mut signature = Signature {
            id: self.id,
            of_text: sign(&Blake2b512::digest(text))?,
            comment: COMMENT.to_owned(),
            of_comment: [0; 64],
        };
        signature.of_comment = sign(&signature.commented())?;
        Ok(signature.to_string())
    }

    fn pair(&self) -> Result<Ed25519KeyPair, KeyError> {
        let (seed, public) = self.halves.split_at(32);
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed, public);
        pair.map_err(|_| KeyError::NoSecretKey)
    }
}

/// So many octets in base64.
fn decode<const N: usize>(letters: &str) -> Option<[u8; N]> {
    BASE64_STANDARD.decode(letters).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let (key, other) = (SigningKey::new().unwrap(), SigningKey::new().unwrap());
        let key = SigningKey::read(&key.file()).unwrap();
        let signature = key.sign("btu-manifest 1\n").unwrap();
        let public: PublicKey = key.public().unwrap().file().parse().unwrap();
        assert_eq!(public.to_string().parse::<PublicKey>().unwrap(), public);
        assert!(public.file().contains(&public.id()));
        public.verify("btu-manifest 1\n", &signature).unwrap();
        assert!(matches!(
            public.verify("btu-manifest 2\n", &signature),
            Err(KeyError::Forged { .. })
        ));
        let other = other.public().unwrap();
        assert!(matches!(
            other.verify("btu-manifest 1\n", &signature),
            Err(KeyError::Forged { .. })
        ));
        // The trusted comment is signed too.
        let changed = signature.replace("trusted comment: btu", "trusted comment: Btu");
        assert!(public.verify("btu-manifest 1\n", &changed).is_err());
        assert!(!format!("{key:?}").contains("sk"));
    }

    /// A signature that minisign itself made.
    #[test]
    fn a_signature_of_minisign_is_known() {
        let key: PublicKey =
            "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3".parse().unwrap();
        let signature = "untrusted comment: signature from minisign secret key\n\
            RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
            trusted comment: timestamp:1556193335\tfile:test\n\
            y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";
        assert_eq!(key.id(), "E7620F1842B4E81F");
        key.verify("test", signature).unwrap();
        assert!(key.verify("Test", signature).is_err());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "RW", "\n\n", &"R".repeat(56), &"é".repeat(28)] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
            assert!(SigningKey::read(text).is_err(), "{text}");
        }
        let key = SigningKey::new().unwrap();
        let public = key.public().unwrap();
        // Shorter, with every length of its last line, and longer.
        let whole = key.sign("").unwrap();
        public.verify("", &whole).unwrap();
        for length in 0..whole.trim_end().len() {
            assert!(public.verify("", &whole[..length]).is_err(), "{length}");
        }
        let (head, last) = whole.trim_end().rsplit_once('\n').unwrap();
        for cut in [4, 20, 60, 84] {
            let short = format!("{head}\n{}==\n", &last[..cut - 2]);
            assert!(public.verify("", &short).is_err(), "{short}");
        }
        for text in ["", "untrusted comment: x\nAAAA\ntrusted comment: y\nAAAA\n"] {
            assert!(public.verify("", text).is_err(), "{text}");
        }
    }
}
