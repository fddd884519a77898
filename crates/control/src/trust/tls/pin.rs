//! The one key that a pairing's peer has.

use std::sync::Mutex;
use std::time::Duration;

use btu_units::{Span, Time};
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, Error};

use crate::clock;

/// Remembers the first peer that has proved its key.
#[derive(Debug)]
pub(crate) struct Pin {
    /// SHA-256 of the first peer's certificate.
    first: Mutex<Option<[u8; 32]>>,
    /// When a pairing without a peer ends, by a clock that continues while the machine sleeps.
    lapses: Option<Time>,
}

impl Pin {
    /// The time by which an unused pairing lapses counts from now. Without a clock it lapses at
    /// once.
    pub(crate) fn new(lapse: Option<Duration>) -> Self {
        let lapses = |lapse| clock::since_boot().map_or(Time::ZERO, |now| now + Span::from(lapse));
        Self { first: Mutex::new(None), lapses: lapse.map(lapses) }
    }

    /// Whether a peer with this certificate may go on to prove its key.
    pub(super) fn admits(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        match self.first.lock().map_err(|_| refused())?.as_ref() {
            Some(first) if *first == fingerprint(certificate) => Ok(()),
            Some(_) => Err(refused()),
            None if self.has_lapsed() => Err(lapsed()),
            None => Ok(()),
        }
    }

    fn has_lapsed(&self) -> bool {
        self.lapses.is_some_and(|lapses| !clock::since_boot().is_ok_and(|now| now < lapses))
    }

    /// A peer has proved the key of this certificate: it is pinned, unless another one was faster.
    pub(super) fn proved(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let fingerprint = fingerprint(certificate);
        let mut first = self.first.lock().map_err(|_| refused())?;
        if *first.get_or_insert(fingerprint) == fingerprint { Ok(()) } else { Err(refused()) }
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    digest(&SHA256, certificate).as_ref().try_into().unwrap_or_default()
}

/// Arrives at the peer as `access_denied`.
fn refused() -> Error {
    Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
}

/// Arrives at the peer as `certificate_expired`.
fn lapsed() -> Error {
    Error::InvalidCertificate(CertificateError::Expired)
}
