//! The authority of one job (RFC 5280). It exists in memory alone, until it has issued the job's
//! certificates.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, SerialNumber, date_time_ymd,
};

use super::{Role, TOP, TrustError, check_name};
use crate::octets;

const DAY: Duration = Duration::from_hours(24);

/// A certificate is valid from a day before it is made: hosts' clocks need not agree.
const LEEWAY: Duration = DAY;

/// The time for which a certificate is valid: no job's agents live longer than a day, and a job may
/// have to wait for its nodes.
const VALID: Duration = DAY.saturating_mul(2);

/// An authority's key, and its own certificate.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    made: SystemTime,
}

impl Authority {
    /// A new one. Its certificates are valid for two days.
    pub(super) fn new() -> Result<Self, TrustError> {
        Self::made(SystemTime::now())
    }

    /// One that was made at this time.
    pub(super) fn made(made: SystemTime) -> Result<Self, TrustError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "authority of a job of btu");
        params.serial_number = Some(serial()?);
        validity(&mut params, made);
        let issuer = CertifiedIssuer::self_signed(params, key()?).map_err(making())?;
        Ok(Self { issuer, made })
    }

    /// A new key and a certificate for it, as the text of an identity: certificate, private key, and
    /// the authority's certificate (PEM, RFC 7468).
    pub(super) fn issue(&self, name: &str, role: Role) -> Result<String, TrustError> {
        let key = key()?;
        let full = format!("{}{}", check_name(name)?, role.domain());
        let mut params = CertificateParams::new([full])
            .map_err(|_| TrustError::Name { name: name.to_owned() })?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("{} of {TOP}", role.name()));
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match role {
            Role::Agent => ExtendedKeyUsagePurpose::ServerAuth,
            Role::Controller => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.serial_number = Some(serial()?);
        validity(&mut params, self.made);
        let certificate = params.signed_by(&key, &self.issuer).map_err(making())?;
        Ok([certificate.pem(), key.serialize_pem(), self.issuer.pem()].concat())
    }
}

fn validity(params: &mut CertificateParams, made: SystemTime) {
    let made = made.duration_since(UNIX_EPOCH).unwrap_or_default();
    let after = |time: Duration| date_time_ymd(1970, 1, 1) + time;
    params.not_before = after(made.saturating_sub(LEEWAY));
    params.not_after = after(made + VALID);
}

/// A new Ed25519 key (RFC 8032).
fn key() -> Result<KeyPair, TrustError> {
    KeyPair::generate_for(&PKCS_ED25519).map_err(making())
}

/// 126 random bits: RFC 5280 section 4.1.2.2 asks for a positive number; the set bit keeps it from
/// losing digits.
fn serial() -> Result<SerialNumber, TrustError> {
    let mut serial: [u8; 16] =
        octets::random().map_err(TrustError::machinery("asking the system for random numbers"))?;
    serial[0] = serial[0] & 0x3f | 0x40;
    Ok(SerialNumber::from_slice(&serial))
}

fn making() -> impl Fn(rcgen::Error) -> TrustError {
    TrustError::machinery("making a key or certificate")
}
