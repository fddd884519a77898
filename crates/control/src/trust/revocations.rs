//! The list of revoked certificates (RFC 5280 section 5). The authority signs it, so any host may
//! forward it.

use std::path::Path;

use btu_units::hexadecimal;
use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use super::card;
use super::issue::{DAY_S, Signer, now_unix_s, seconds};
use super::{Identity, Issued, Peer, TrustError, files};

/// A list must name the day of the next (RFC 5280 section 5.1.2.5). Old lists are accepted: an
/// agent cannot fetch a new one, and refusing a list has no benefit.
const NEXT_DAYS: i64 = 365;

/// A signed list of revoked certificates.
#[derive(Debug, Clone)]
pub struct Revocations {
    pub(super) der: CertificateRevocationListDer<'static>,
    number: u64,
    /// Serial numbers as lower-case hexadecimal digits, in order.
    serials: Vec<String>,
}

impl Revocations {
    /// Reads the file `revoked.crl` of an authority. The users of the list check its signature.
    pub fn load(path: &Path) -> Result<Self, TrustError> {
        Self::parse(&path.display().to_string(), files::read_public(path)?.as_bytes())
    }

    /// Reads the text of such a file; errors call it `what`.
    pub fn parse(what: &str, pem: &[u8]) -> Result<Self, TrustError> {
        let malformed = |why: &str| TrustError::Malformed {
            what: what.to_owned(),
            expected: "an authority's list of revoked certificates",
            why: why.to_owned(),
        };
        let der = CertificateRevocationListDer::from_pem_slice(pem)
            .map_err(|_| malformed("it is cut off or damaged"))?;
        let Ok(([], list)) = CertificateRevocationList::from_der(&der) else {
            return Err(malformed("it cannot be read"));
        };
        let number = list.crl_number().ok_or_else(|| malformed("it has no number"))?;
        let number = u64::try_from(number).map_err(|_| malformed("its number is too large"))?;
        let mut serials = list
            .iter_revoked_certificates()
            .map(|entry| hexadecimal(entry.raw_serial()))
            .collect::<Vec<_>>();
        serials.sort_unstable();
        Ok(Self { number, serials, der: der.clone() })
    }

    /// Signs list `number` of the revoked certificates in `issued`.
    pub(super) fn sign(
        signer: &Signer,
        number: u64,
        issued: &[Issued],
    ) -> Result<Self, TrustError> {
        let epoch = date_time_ymd(1970, 1, 1);
        let revoked = issued.iter().filter_map(|issued| {
            let at = issued.revoked_at_unix_s?;
            Some(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&bytes(&issued.card.serial)),
                revocation_time: epoch + seconds(at),
                reason_code: None,
                invalidity_date: None,
            })
        });
        let now = now_unix_s();
        let params = CertificateRevocationListParams {
            this_update: epoch + seconds(now),
            next_update: epoch + seconds(now + NEXT_DAYS * DAY_S),
            crl_number: SerialNumber::from_slice(&number.to_be_bytes()),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let signing = TrustError::machinery("signing the list of revoked certificates");
        let list = params.signed_by(&signer.issuer).map_err(signing)?;
        Self::parse("the new list", files::pem("X509 CRL", list.der()).as_bytes())
    }

    /// The text of its file.
    pub fn to_pem(&self) -> String {
        files::pem("X509 CRL", &self.der)
    }

    /// Its number: a later list of the same authority has a larger one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The serial numbers in it, as lower-case hexadecimal digits.
    pub fn serials(&self) -> &[String] {
        &self.serials
    }

    /// Whether `peer`'s certificate is in it.
    pub fn names(&self, peer: &Peer) -> bool {
        self.serials.binary_search(&peer.serial).is_ok()
    }

    /// The later of two lists of the same authority.
    #[must_use]
    pub fn newer(self, other: Self) -> Self {
        if other.number > self.number { other } else { self }
    }

    /// Whether `identity`'s authority has signed it.
    pub fn check(&self, identity: &Identity) -> Result<(), TrustError> {
        let foreign = || TrustError::ForeignList { name: identity.name().to_owned() };
        let (_, list) = CertificateRevocationList::from_der(&self.der).map_err(|_| foreign())?;
        let authority = card::parse(&identity.authority)?;
        list.verify_signature(authority.public_key()).map_err(|_| foreign())
    }
}

fn bytes(serial: &str) -> Vec<u8> {
    let digits = |i: usize| serial.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..serial.len()).step_by(2).filter_map(digits).collect()
}
