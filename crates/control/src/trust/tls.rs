//! TLS 1.3 with a certificate of the job's authority on both sides, and nothing else.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::{Identity, TrustError};

/// The protocol of controllers and agents, and HTTP/2 (RFC 9113 section 3.2), which carried the
/// versions before it: their peers are not turned away here, but greeted with a sentence.
const ALPN: [&[u8]; 2] = [b"btu-control", b"h2"];

/// The configuration of an agent's end: accepts only the controller of its own job.
pub fn server_config(identity: &Identity) -> Result<Arc<ServerConfig>, TrustError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(identity)?, provider())
        // A caller without a certificate of this authority does not learn which authority it would
        // need.
        .clear_root_hint_subjects()
        .build()
        .map_err(preparing())?;
    let (chain, key) = own(identity);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(preparing())?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(preparing())?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

/// The configuration of a controller's end: accepts only agents of its own job, by name.
pub fn client_config(identity: &Identity) -> Result<Arc<ClientConfig>, TrustError> {
    let (chain, key) = own(identity);
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(preparing())?
        .with_root_certificates(roots(identity)?)
        .with_client_auth_cert(chain, key)
        .map_err(preparing())?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

/// Named explicitly: the process's default fails as soon as two dependencies bring different ones.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(identity: &Identity) -> Result<Arc<RootCertStore>, TrustError> {
    let mut roots = RootCertStore::empty();
    roots.add(identity.authority.clone()).map_err(preparing())?;
    Ok(Arc::new(roots))
}

fn own(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    (vec![identity.certificate.clone()], PrivateKeyDer::Pkcs8(identity.key.clone_key()))
}

fn preparing<E: std::fmt::Display>() -> impl Fn(E) -> TrustError {
    TrustError::machinery("preparing TLS")
}
