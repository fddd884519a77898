//! Keys and signatures in the forms of minisign.

use std::fmt;
use std::io::Cursor;
use std::str::FromStr;

use minisign::{KeyPair, SecretKey, SecretKeyBox, SignatureBox};
use thiserror::Error;

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
    #[error("making a key: {0}")]
    NotMade(String),
}

/// The key by which signatures are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(minisign::PublicKey);

impl PublicKey {
    /// The key's identifier as minisign shows it: 16 hexadecimal digits. It is no proof of anything.
    pub fn id(&self) -> String {
        let octets: Vec<u8> = self.0.keynum().iter().rev().copied().collect();
        btu_units::hexadecimal(&octets).to_ascii_uppercase()
    }

    /// The content of a `.pub` file.
    pub fn file(&self) -> String {
        format!("untrusted comment: minisign public key {}\n{self}\n", self.id())
    }

    /// Checks that `signature`, the content of a `.minisig` file, is this key's over `text`.
    ///
    /// # Errors
    /// It is not.
    pub fn verify(&self, text: &str, signature: &str) -> Result<(), KeyError> {
        if !is_signature(signature) {
            return Err(KeyError::NoSignature);
        }
        let signature = SignatureBox::from_string(signature).map_err(|_| KeyError::NoSignature)?;
        let checked = minisign::verify(&self.0, &signature, Cursor::new(text), true, false, false);
        checked.map_err(|_| KeyError::Forged { key: self.id() })
    }
}

/// Whether the two signatures in the content of a `.minisig` file have their lengths, which the library
/// takes for granted: 74 and 64 octets in base64.
fn is_signature(file: &str) -> bool {
    let has_length = |text: &str, letters, padding| {
        text.len() == letters
            && text.bytes().rev().take_while(|byte| *byte == b'=').count() == padding
    };
    let lines: Vec<&str> = file.lines().collect();
    match lines.as_slice() {
        [_, of_text, _, of_comment] => has_length(of_text, 100, 1) && has_length(of_comment, 88, 2),
        _ => false,
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_base64())
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// The 56 letters, or the content of a `.pub` file.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let letters = text.trim().lines().last().unwrap_or_default().trim();
        let key = minisign::PublicKey::from_base64(letters).map_err(|_| KeyError::NoPublicKey)?;
        // The algorithm is the only one that there is, and one key has one text.
        let is_one = letters.starts_with("RW") && key.to_base64() == letters;
        if is_one { Ok(Self(key)) } else { Err(KeyError::NoPublicKey) }
    }
}

/// A key that signs.
pub struct SigningKey(SecretKey);

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
        let made = KeyPair::generate_unencrypted_keypair();
        made.map(|pair| Self(pair.sk)).map_err(|error| KeyError::NotMade(error.to_string()))
    }

    /// The content of the key's file, which no other user may read.
    ///
    /// # Errors
    /// None that is known.
    pub fn file(&self) -> Result<String, KeyError> {
        let text = self.0.to_box(Some("btu: the secret key of a publisher"));
        text.map(Into::into).map_err(|error| KeyError::NotMade(error.to_string()))
    }

    /// The key in the content of its file, as [`Self::file`] writes it. Files of `minisign -G -W` have
    /// no checksum, and are refused; minisign signs with these files too.
    ///
    /// # Errors
    /// It is no such file, or the key has a password.
    pub fn read(file: &str) -> Result<Self, KeyError> {
        let key = SecretKeyBox::from_string(file);
        let key = key.and_then(SecretKeyBox::into_unencrypted_secret_key);
        key.map(Self).map_err(|_| KeyError::NoSecretKey)
    }

    /// The key by which its signatures are checked.
    ///
    /// # Errors
    /// The key's two halves do not fit.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        let public = minisign::PublicKey::from_secret_key(&self.0);
        public.map(PublicKey).map_err(|_| KeyError::NoSecretKey)
    }

    /// Signs `text`: the content of a `.minisig` file.
    ///
    /// # Errors
    /// The key's two halves do not fit.
    pub fn sign(&self, text: &str) -> Result<String, KeyError> {
        let comment = "btu publication";
        let signed = minisign::sign(None, &self.0, Cursor::new(text), Some(comment), Some(comment));
        signed.map(SignatureBox::into_string).map_err(|_| KeyError::NoSecretKey)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let (key, other) = (SigningKey::new().unwrap(), SigningKey::new().unwrap());
        let key = SigningKey::read(&key.file().unwrap()).unwrap();
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
