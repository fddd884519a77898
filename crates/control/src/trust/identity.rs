//! The private text with which an agent or a controller proves that it is of a job.

use std::fmt;
use std::path::Path;

use rustls::pki_types::pem::{PemObject, SectionKind};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::{TrustError, files};

const EXPECTED: &str = "an identity that btu made for a job";

/// A certificate, its private key, and the certificate of the job's authority. Whether they belong
/// together shows in the handshake.
pub struct Identity {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
    pub(super) authority: CertificateDer<'static>,
}

impl Identity {
    /// Reads an identity file, refusing one that other users can read or that is damaged.
    pub fn load(path: &Path) -> Result<Self, TrustError> {
        Self::parse(&path.display().to_string(), files::read_private(path)?.as_bytes())
    }

    /// Reads the text of an identity; errors call it `what`.
    pub fn parse(what: &str, pem: &[u8]) -> Result<Self, TrustError> {
        let malformed = |why: &str| TrustError::Malformed {
            what: what.to_owned(),
            expected: EXPECTED,
            why: why.to_owned(),
        };
        let (mut certificates, mut keys) = (Vec::new(), Vec::new());
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
            match section.map_err(|_| malformed("it is cut off or damaged"))? {
                (SectionKind::Certificate, der) => certificates.push(CertificateDer::from(der)),
                (SectionKind::PrivateKey, der) => keys.push(PrivatePkcs8KeyDer::from(der)),
                _ => {
                    return Err(malformed("it holds something else than certificates and a key"));
                }
            }
        }
        let [certificate, authority] = certificates.try_into().map_err(|_| {
            malformed("it does not hold two certificates, the holder's and the authority's")
        })?;
        let [key] = keys.try_into().map_err(|_| malformed("it does not hold one private key"))?;
        Ok(Self { certificate, key, authority })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::super::authority::Authority;
    use super::*;
    use crate::trust::client_config;

    #[test]
    fn a_damaged_identity_is_named_and_its_key_never() {
        let authority = Authority::new().unwrap();
        let text = authority.issue("controller", Role::Controller).unwrap();
        let key = text.lines().skip_while(|line| !line.contains("PRIVATE")).nth(1).unwrap();
        let (whole, begin) = (text.len(), "PRIVATE KEY-----\n");
        let (head, rest) = text.split_once(begin).unwrap();
        for damaged in [
            String::new(),
            "garbage".to_owned(),
            text[..whole / 3].to_owned(),
            text[..whole - 40].to_owned(),
            text.clone() + &text,
            // The first octets of the key, which say what follows.
            format!("{head}{begin}AAA{}", &rest[3..]),
        ] {
            let identity = Identity::parse("me.pem", damaged.as_bytes());
            let error = identity.and_then(|identity| client_config(&identity)).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("me.pem is not") || error.contains("preparing TLS"), "{error}");
            assert!(!error.contains(&key[20..40]), "{error}");
        }
        let debug = format!("{:?}", Identity::parse("it", text.as_bytes()).unwrap());
        assert!(!debug.contains(&key[20..40]), "{debug}");
    }
}
