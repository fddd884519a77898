//! TLS 1.3 with a certificate on both sides, and nothing else: no older version, no resumption, no
//! early data.

mod pin;
mod verify;

use std::sync::Arc;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use super::{Identity, Revocations, Role, TrustError};
pub(super) use pin::Pin;
use verify::{AgentsOnly, ControllersOnly};

/// The protocol of controllers and agents, and HTTP/2 (RFC 9113 section 3.2), which carried the
/// versions before it: their peers are not turned away here, but greeted with a sentence.
const ALPN: [&[u8]; 2] = [b"btu-control", b"h2"];

/// The configuration of an agent's end: accepts only controllers of its own authority.
pub fn server_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
) -> Result<Arc<ServerConfig>, TrustError> {
    identity.card().check_role(Role::Agent)?;
    let mut verifier = WebPkiClientVerifier::builder_with_provider(roots(identity)?, provider())
        .only_check_end_entity_revocation()
        // A caller without a certificate of this authority does not learn which authority it would
        // need.
        .clear_root_hint_subjects();
    if let Some(list) = checked(identity, revocations)? {
        verifier = verifier.with_crls([list]);
    }
    let verifier = verifier.build().map_err(preparing())?;
    let (chain, key) = own(identity);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(preparing())?
        .with_client_cert_verifier(Arc::new(ControllersOnly::new(verifier, identity.pin.clone())))
        .with_single_cert(chain, key)
        .map_err(preparing())?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    // A resumed session would pass a certificate that has been revoked since.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The configuration of a controller's end: accepts only agents of its own authority, by name.
pub fn client_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
) -> Result<Arc<ClientConfig>, TrustError> {
    identity.card().check_role(Role::Controller)?;
    let mut verifier = WebPkiServerVerifier::builder_with_provider(roots(identity)?, provider())
        .only_check_end_entity_revocation();
    if let Some(list) = checked(identity, revocations)? {
        verifier = verifier.with_crls([list]);
    }
    let verifier = verifier.build().map_err(preparing())?;
    let (chain, key) = own(identity);
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(preparing())?
        // rustls calls any custom verifier "dangerous"; this one only adds to rustls's.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AgentsOnly::new(verifier, identity.pin.clone())))
        .with_client_auth_cert(chain, key)
        .map_err(preparing())?;
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    config.resumption = Resumption::disabled();
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

fn checked(
    identity: &Identity,
    revocations: Option<&Revocations>,
) -> Result<Option<rustls::pki_types::CertificateRevocationListDer<'static>>, TrustError> {
    let Some(list) = revocations else { return Ok(None) };
    list.check(identity)?;
    Ok(Some(list.der.clone()))
}

fn own(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    (vec![identity.certificate.clone()], PrivateKeyDer::Pkcs8(identity.key.clone_key()))
}

fn preparing<E: std::fmt::Display>() -> impl Fn(E) -> TrustError {
    TrustError::machinery("preparing TLS")
}
