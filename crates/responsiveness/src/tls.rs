//! TLS at both ends.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, ServerConfig};

use crate::error::{ResponsivenessError, ServerError};

/// HTTP/2's name in TLS (RFC 9113, section 3.2).
const HTTP2: &[u8] = b"h2";

/// Which servers a client believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Those with a certificate of an authority that this system knows.
    Authorities,
    /// Any. Nothing secret is sent, but a host in between can answer in place of the server.
    Anyone,
}

/// The client's settings.
pub(crate) fn client(trust: Trust) -> Result<ClientConfig, ResponsivenessError> {
    let mut config = match trust {
        Trust::Authorities => with_authorities()?,
        Trust::Anyone => btu_traffic::any_server()
            .map_err(|source| ResponsivenessError::System { operation: "prepare TLS", source })?,
    };
    config.alpn_protocols = vec![HTTP2.to_vec()];
    // A resumed session would save a new connection a part of its handshake, and some of them only.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn with_authorities() -> Result<ClientConfig, ResponsivenessError> {
    let found = rustls_native_certs::load_native_certs();
    let mut authorities = RootCertStore::empty();
    authorities.add_parsable_certificates(found.certs);
    if authorities.is_empty() {
        let why =
            found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(ResponsivenessError::Authorities(why));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| ResponsivenessError::Authorities(error.to_string()))?;
    Ok(builder.with_root_certificates(authorities).with_no_client_auth())
}

/// How many round trips the handshake took, by the version that both agreed on.
pub(crate) const fn round_trips(version: Option<ProtocolVersion>) -> u32 {
    match version {
        Some(ProtocolVersion::TLSv1_3) => 1,
        _ => 2,
    }
}

/// The name that the server has to prove.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

/// A certificate and its key from PEM files.
pub(crate) fn from_files(certificate: &Path, key: &Path) -> Result<ServerConfig, ServerError> {
    let unreadable = |path: &Path, why: &dyn std::fmt::Display| {
        ServerError::Certificate(format!("reading {}: {why}", path.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(certificate, &error))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, &"it holds no certificate in PEM form"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    server(btu_traffic::with_certificate(chain, secret))
}

/// A new certificate, without an authority.
pub(crate) fn self_signed(address: IpAddr) -> Result<ServerConfig, ServerError> {
    server(btu_traffic::self_signed(vec!["localhost".to_owned(), address.to_string()]))
}

fn server(config: io::Result<ServerConfig>) -> Result<ServerConfig, ServerError> {
    let mut config = config.map_err(|error| ServerError::Certificate(error.to_string()))?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(config)
}
