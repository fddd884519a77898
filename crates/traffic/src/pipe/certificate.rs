//! Certificates for one run. The listening end makes one for itself, and the other end does not
//! verify its owner.
//!
//! The token, sent inside, identifies the other end. That refuses other callers; it is no defence
//! against an attacker on the measured path, and need not be one, because the path carries only
//! test data.

use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};

/// The name in the certificate; never resolvable (RFC 6761).
pub(super) const NAME: &str = "pipe.btu.invalid";

/// TLS 1.3 with a new certificate, without tickets.
pub(super) fn server() -> io::Result<ServerConfig> {
    self_signed(vec![NAME.to_owned()])
}

/// TLS 1.3 of a server with a new certificate of these names, which has no authority; without tickets.
///
/// # Errors
/// A name that no certificate can have.
pub fn self_signed(names: Vec<String>) -> io::Result<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    with_certificate(vec![made.cert.der().clone()], key.into())
}

/// TLS 1.3 of a server with this chain of certificates, its own first; without tickets, since they would be
/// sent behind the handshake, and no session is resumed.
///
/// # Errors
/// The key is not that of the certificate.
pub fn with_certificate(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> io::Result<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(io::Error::other)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.map_err(io::Error::other)?;
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// TLS 1.3 with any server that proves to have the key of the certificate that it shows.
///
/// # Errors
/// The library knows no such protocol, which does not happen.
pub fn any_server() -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(io::Error::other)?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth())
}

/// Takes every certificate; the handshake's signature must still be its key's.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
