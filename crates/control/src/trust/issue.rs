//! Makes keys and certificates (RFC 5280), for an authority in a directory and for the temporary
//! one of a pairing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use btu_units::hexadecimal;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, PublicKeyData, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::{Identity, Role, TOP, TrustError, check_name};
use crate::octets;

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// A certificate is valid from a day before it is made: hosts' clocks need not agree.
const LEEWAY_S: i64 = DAY_S;

/// The last second of the year 9999, which RFC 5280 section 4.1.2.5 reserves for "no well-defined
/// end".
pub(super) const NEVER_UNIX_S: i64 = 253_402_300_799;

/// When a certificate is valid, in seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    pub(super) from_unix_s: i64,
    pub(super) to_unix_s: i64,
}

impl Validity {
    pub(super) fn days(days: u32) -> Self {
        let now = now_unix_s();
        Self {
            from_unix_s: now - LEEWAY_S,
            to_unix_s: now.saturating_add(i64::from(days) * DAY_S).min(NEVER_UNIX_S),
        }
    }

    /// Whatever the clock says.
    pub(super) fn always() -> Self {
        Self { from_unix_s: 0, to_unix_s: NEVER_UNIX_S }
    }

    fn apply(self, params: &mut CertificateParams) {
        params.not_before = date_time_ymd(1970, 1, 1) + seconds(self.from_unix_s);
        params.not_after = date_time_ymd(1970, 1, 1) + seconds(self.to_unix_s);
    }
}

/// This machine's clock, in seconds since 1970-01-01 UTC.
pub(super) fn now_unix_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(NEVER_UNIX_S)
}

pub(super) fn seconds(unix_s: i64) -> Duration {
    Duration::from_secs(u64::try_from(unix_s).unwrap_or(0))
}

/// The authority's key and certificate, with which it signs.
pub(super) struct Signer {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) issuer: Issuer<'static, KeyPair>,
}

impl Signer {
    /// A new authority with this key. Its subject names the key, so that a certificate of another
    /// authority differs from a forged one of this.
    pub(super) fn new(key: KeyPair, validity: Validity) -> Result<Self, TrustError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let digest = ring::digest::digest(&ring::digest::SHA256, key.der_bytes());
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(
            DnType::CommonName,
            format!("btu authority {}", hexadecimal(&digest.as_ref()[..8])),
        );
        params.serial_number = Some(SerialNumber::from_slice(&[1]));
        validity.apply(&mut params);
        let certificate = params.self_signed(&key).map_err(making())?.der().clone();
        Self::read(certificate, key)
    }

    /// An authority from the contents of its files.
    pub(super) fn read(
        certificate: CertificateDer<'static>,
        key: KeyPair,
    ) -> Result<Self, TrustError> {
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(making())?;
        Ok(Self { certificate, issuer })
    }

    /// A new key and a certificate for it.
    pub(super) fn issue(
        &self,
        name: &str,
        role: Role,
        validity: Validity,
    ) -> Result<Identity, TrustError> {
        let key = new_key()?;
        let mut params =
            CertificateParams::new([format!("{}{}", check_name(name)?, role.domain())])
                .map_err(|_| TrustError::Name { name: name.to_owned() })?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("{role} of {TOP}"));
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match role {
            Role::Agent => ExtendedKeyUsagePurpose::ServerAuth,
            Role::Controller => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.serial_number = Some(SerialNumber::from_slice(&serial()?));
        validity.apply(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).map_err(making())?;
        Identity::assemble(
            certificate.der().clone(),
            PrivatePkcs8KeyDer::from(key.serialize_der()),
            self.certificate.clone(),
        )
    }
}

/// A new Ed25519 key (RFC 8032).
pub(super) fn new_key() -> Result<KeyPair, TrustError> {
    KeyPair::generate_for(&PKCS_ED25519).map_err(making())
}

/// The Ed25519 key of a seed, by way of its PKCS#8 form.
pub(super) fn key_of_seed(seed: &[u8; 32]) -> Result<KeyPair, TrustError> {
    // RFC 8410 section 7: SEQUENCE { version 0, AlgorithmIdentifier { 1.3.101.112 }, OCTET STRING {
    // OCTET STRING seed } }.
    const PREFIX: [u8; 16] =
        [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let der = [PREFIX.as_slice(), seed].concat();
    KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(der), &PKCS_ED25519)
        .map_err(making())
}

/// Random octets from the system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], TrustError> {
    octets::random().map_err(TrustError::machinery("asking the system for random numbers"))
}

/// 126 random bits: RFC 5280 section 4.1.2.2 asks for a positive number; the set bit keeps it from
/// losing digits.
fn serial() -> Result<[u8; 16], TrustError> {
    let mut serial = random::<16>()?;
    serial[0] = serial[0] & 0x3f | 0x40;
    Ok(serial)
}

fn making() -> impl Fn(rcgen::Error) -> TrustError {
    TrustError::machinery("making a key or certificate")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032 section 7.1, test 1: secret key and public key.
    #[test]
    fn a_seed_gives_the_key_of_the_standard() {
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let bytes = (0..32)
            .map(|i| u8::from_str_radix(&seed[2 * i..2 * i + 2], 16).unwrap())
            .collect::<Vec<_>>();
        let key = key_of_seed(&bytes.try_into().unwrap()).unwrap();
        assert_eq!(
            hexadecimal(key.public_key_raw()),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        );
    }
}
