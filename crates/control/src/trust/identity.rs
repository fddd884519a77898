//! The private file with which a host or a controller proves its identity.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::pem::{PemObject, SectionKind};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::issue::now_unix_s;
use super::tls::Pin;
use super::{Card, TrustError, card, files};

const EXPECTED: &str = "an identity made by `btu hosts keys issue`";

/// A certificate, its private key, and the certificate of the authority that issued it, checked
/// against each other.
pub struct Identity {
    card: Card,
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: PrivatePkcs8KeyDer<'static>,
    pub(super) authority: CertificateDer<'static>,
    /// For a pairing: the first peer is the only one.
    pub(super) pin: Option<Arc<Pin>>,
}

impl Identity {
    /// Reads an identity file, refusing one that other users can read, that is damaged, or that has
    /// expired.
    pub fn load(path: &Path) -> Result<Self, TrustError> {
        let identity = Self::load_lapsed(path)?;
        identity.card.check_time(now_unix_s())?;
        Ok(identity)
    }

    /// Like `load`, but also accepts an identity that has lapsed, to show it.
    pub fn load_lapsed(path: &Path) -> Result<Self, TrustError> {
        Self::parse(&path.display().to_string(), files::read_private(path)?.as_bytes())
    }

    /// Reads the text of an identity file; errors call it `what`. The days are not checked.
    pub fn parse(what: &str, pem: &[u8]) -> Result<Self, TrustError> {
        let malformed = |why: &str| malformed(what, why);
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
        let mut certificates = certificates.into_iter();
        let (Some(certificate), Some(authority), None) =
            (certificates.next(), certificates.next(), certificates.next())
        else {
            return Err(malformed(
                "it does not hold two certificates, the holder's and the authority's",
            ));
        };
        let (Some(key), None) = (keys.pop(), keys.pop()) else {
            return Err(malformed("it does not hold one private key"));
        };
        Self::assemble(certificate, key, authority).map_err(|error| match error {
            TrustError::Malformed { why, .. } => malformed(&why),
            other => malformed(&other.to_string()),
        })
    }

    /// Checks the three against each other.
    pub(super) fn assemble(
        certificate: CertificateDer<'static>,
        key: PrivatePkcs8KeyDer<'static>,
        authority: CertificateDer<'static>,
    ) -> Result<Self, TrustError> {
        let malformed = |why: &str| malformed("an identity", why);
        let card = Card::read(&certificate)?;
        let (leaf, root) = (card::parse(&certificate)?, card::parse(&authority)?);
        leaf.verify_signature(Some(root.public_key())).map_err(|_| {
            malformed("its certificate is not signed by the authority in the same file")
        })?;
        // The library's error is left out: it must not be able to reveal the key.
        let pair =
            KeyPair::try_from(&key).map_err(|_| malformed("its private key cannot be read"))?;
        if pair.der_bytes() != leaf.public_key().subject_public_key.data.as_ref() {
            return Err(malformed("its private key is not that of the certificate"));
        }
        Ok(Self { card, certificate, key, authority, pin: None })
    }

    /// Whether one authority issued both.
    pub fn is_of_the_authority_of(&self, other: &Self) -> bool {
        self.authority == other.authority
    }

    /// The text of its file. It holds the private key.
    pub fn to_pem(&self) -> String {
        let section = |label: &str, der: &[u8]| files::pem(label, der);
        [
            section("CERTIFICATE", &self.certificate),
            section("PRIVATE KEY", self.key.secret_pkcs8_der()),
            section("CERTIFICATE", &self.authority),
        ]
        .concat()
    }

    /// The content of its certificate.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The name of the certificate's holder.
    pub fn name(&self) -> &str {
        &self.card.name
    }

    /// The authority's name: equal for all identities that can connect to each other.
    pub fn authority(&self) -> String {
        authority_name(&self.authority)
    }
}

/// The common name of an authority's certificate.
pub(super) fn authority_name(der: &[u8]) -> String {
    let name = card::parse(der).ok().and_then(|certificate| {
        let mut names = certificate.subject().iter_common_name();
        names.next().and_then(|name| name.as_str().ok().map(ToOwned::to_owned))
    });
    name.unwrap_or_else(|| "an authority without a name".to_owned())
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("card", &self.card).finish_non_exhaustive()
    }
}

fn malformed(what: &str, why: &str) -> TrustError {
    TrustError::Malformed { what: what.to_owned(), expected: EXPECTED, why: why.to_owned() }
}
