//! The content of a certificate: name, role, serial number and days.

use std::time::Duration;

use btu_units::{hexadecimal, shell_word};
use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::issue::{DAY_S, now_unix_s};
use super::{Role, TrustError, check_name};

/// A certificate that expires within this time gives a message.
const WARNING_DAYS: i64 = 3;

/// The content of a certificate of btu. Times are seconds since 1970-01-01 UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The name of the certificate's holder.
    pub name: String,
    /// What the holder is.
    pub role: Role,
    /// The serial number, as lower-case hexadecimal digits.
    pub serial: String,
    /// The first second in which it is valid.
    pub not_before_unix_s: i64,
    /// The last second in which it is valid.
    pub not_after_unix_s: i64,
}

/// The other end of a connection, from its verified certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The name of the peer, from its certificate.
    pub name: String,
    /// Its certificate's serial number, as lower-case hexadecimal digits.
    pub serial: String,
    /// The last second in which its certificate is valid.
    pub not_after_unix_s: i64,
}

impl Peer {
    /// The time for which its certificate is still valid by this machine's clock; `None` when it
    /// has expired.
    pub fn left(&self) -> Option<Duration> {
        let left = self.not_after_unix_s.saturating_add(1).saturating_sub(now_unix_s());
        u64::try_from(left).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// The peer of a finished handshake, which has verified its certificate chain.
    pub fn of(chain: Option<&[CertificateDer<'_>]>) -> Result<Self, TrustError> {
        let Some([first, ..]) = chain else {
            return Err(malformed("it shows none"));
        };
        let Card { name, serial, not_after_unix_s, .. } = Card::read(first)?;
        Ok(Self { name, serial, not_after_unix_s })
    }
}

impl Card {
    /// Reads a certificate. It verifies neither the signature nor the days.
    pub fn read(der: &[u8]) -> Result<Self, TrustError> {
        let certificate = parse(der)?;
        let (name, role) = holder(&certificate)?;
        if usage(&certificate) != Some(role) {
            return Err(malformed("its extended key usage is not that of its name"));
        }
        Ok(Self {
            name,
            role,
            serial: hexadecimal(certificate.raw_serial()),
            not_before_unix_s: certificate.validity().not_before.timestamp(),
            not_after_unix_s: certificate.validity().not_after.timestamp(),
        })
    }

    /// Whether it is valid at `unix_s`.
    pub fn check_time(&self, unix_s: i64) -> Result<(), TrustError> {
        let (name, role) = (self.name.clone(), self.role);
        if unix_s < self.not_before_unix_s {
            return Err(TrustError::Early { name, role, date: day(self.not_before_unix_s) });
        }
        if unix_s > self.not_after_unix_s {
            return Err(TrustError::Expired { name, role, date: day(self.not_after_unix_s) });
        }
        Ok(())
    }

    /// Days until it lapses, rounded down; below zero when it has.
    pub fn days_left(&self) -> i64 {
        (self.not_after_unix_s - now_unix_s()).div_euclid(DAY_S)
    }

    /// The last day in UTC, as 2026-12-21.
    pub fn last_day(&self) -> String {
        day(self.not_after_unix_s)
    }

    /// The message in the last three days.
    pub fn warning(&self) -> Option<String> {
        let Self { name, role, .. } = self;
        let when = match self.days_left() {
            ..0 => "has lapsed".to_owned(),
            0 => "lapses within a day".to_owned(),
            1 => "lapses in a day".to_owned(),
            days @ 2..WARNING_DAYS => format!("lapses in {days} days"),
            _ => return None,
        };
        Some(format!(
            "the certificate of {role} {name} {when}, on {}: issue a new one with `btu hosts keys issue {} --role {role}`",
            self.last_day(),
            shell_word(name)
        ))
    }

    /// Whether the holder is a `needed`.
    pub fn check_role(&self, needed: Role) -> Result<(), TrustError> {
        if self.role == needed {
            return Ok(());
        }
        Err(TrustError::WrongRole { name: self.name.clone(), is: self.role, needed })
    }
}

/// The certificate in `der`, and nothing behind it.
pub(super) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, TrustError> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(malformed("something follows it")),
        Err(_) => Err(malformed("it cannot be read")),
    }
}

/// Exactly one DNS name, below one role's domain.
fn holder(certificate: &X509Certificate<'_>) -> Result<(String, Role), TrustError> {
    let names = certificate
        .subject_alternative_name()
        .map_err(|_| malformed("it has two lists of names"))?;
    let Some([GeneralName::DNSName(full)]) =
        names.as_ref().map(|names| names.value.general_names.as_slice())
    else {
        return Err(malformed("it does not have exactly one name"));
    };
    let split = |role: Role| full.strip_suffix(role.domain().as_str()).map(|name| (name, role));
    let found = split(Role::Agent).or_else(|| split(Role::Controller));
    let (name, role) = found.ok_or_else(|| malformed("its name is not one of btu's"))?;
    Ok((check_name(name)?.to_owned(), role))
}

fn usage(certificate: &X509Certificate<'_>) -> Option<Role> {
    let mut found =
        certificate.iter_extensions().filter_map(|extension| match extension.parsed_extension() {
            ParsedExtension::ExtendedKeyUsage(usage) => Some(usage),
            _ => None,
        });
    let (Some(usage), None) = (found.next(), found.next()) else { return None };
    match (usage.server_auth, usage.client_auth, usage.any) {
        (true, false, false) => Some(Role::Agent),
        (false, true, false) => Some(Role::Controller),
        _ => None,
    }
}

fn malformed(why: &str) -> TrustError {
    TrustError::Malformed {
        what: "a certificate".to_owned(),
        expected: "one of btu's",
        why: why.to_owned(),
    }
}

/// The day in UTC, as 2026-12-21.
pub fn day(unix_s: i64) -> String {
    ASN1Time::from_timestamp(unix_s)
        .map_or_else(|_| unix_s.to_string(), |time| time.to_datetime().date().to_string())
}
