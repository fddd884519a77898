//! The verifiers of both sides: rustls's own, then role and pin.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::pin::Pin;
use crate::trust::{Card, Role};

/// Verifies controllers, at the agent.
#[derive(Debug)]
pub(super) struct ControllersOnly {
    inner: Arc<dyn ClientCertVerifier>,
    pin: Option<Arc<Pin>>,
}

impl ControllersOnly {
    pub(super) fn new(inner: Arc<dyn ClientCertVerifier>, pin: Option<Arc<Pin>>) -> Self {
        Self { inner, pin }
    }
}

impl ClientCertVerifier for ControllersOnly {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        check(end_entity, Role::Controller, self.pin.as_deref())?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = self.inner.verify_tls13_signature(message, certificate, signature)?;
        // The pin is checked only now: any process that has seen a certificate can show it.
        self.pin.as_ref().map_or(Ok(()), |pin| pin.proved(certificate))?;
        Ok(valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Verifies agents, at the controller.
#[derive(Debug)]
pub(super) struct AgentsOnly {
    inner: Arc<WebPkiServerVerifier>,
    pin: Option<Arc<Pin>>,
}

impl AgentsOnly {
    pub(super) fn new(inner: Arc<WebPkiServerVerifier>, pin: Option<Arc<Pin>>) -> Self {
        Self { inner, pin }
    }
}

impl ServerCertVerifier for AgentsOnly {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        check(end_entity, Role::Agent, self.pin.as_deref())?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = self.inner.verify_tls13_signature(message, certificate, signature)?;
        self.pin.as_ref().map_or(Ok(()), |pin| pin.proved(certificate))?;
        Ok(valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The checks in addition to the chain of signatures.
fn check(certificate: &CertificateDer<'_>, needed: Role, pin: Option<&Pin>) -> Result<(), Error> {
    let card = Card::read(certificate)
        .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    if card.role != needed {
        return Err(Error::InvalidCertificate(CertificateError::InvalidPurpose));
    }
    pin.map_or(Ok(()), |pin| pin.admits(certificate))
}
