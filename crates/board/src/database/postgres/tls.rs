//! TLS to `PostgreSQL`: the database proves its name, or nothing is said to it.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Config;
use postgres::Socket;
use postgres::config::{Host, SslMode};
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// What an address of a database says of TLS, apart from the rest, which the library reads.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    mode: Option<String>,
    root: Option<String>,
}

/// Reads an address: `postgres://USER@HOST/NAME?sslmode=MODE&sslrootcert=FILE`, or `host=... sslmode=MODE`.
pub(super) fn read(address: &str) -> Result<(Config, Option<TlsToDatabase>), String> {
    let (rest, wanted) = split(address);
    let mut config: Config = rest.parse().map_err(|error| super::whole(&error))?;
    let is_needed = match wanted.mode.as_deref() {
        Some("disable") => false,
        Some("require" | "verify-full") => true,
        None => wanted.root.is_some() || !is_on_this_machine(&config),
        Some(other) => {
            return Err(format!(
                "there is no sslmode={other} here: say disable, or verify-full (require is the same)"
            ));
        }
    };
    config.ssl_mode(if is_needed { SslMode::Require } else { SslMode::Disable });
    let root = wanted.root.as_deref();
    let tls = if is_needed { Some(TlsToDatabase(connector(root)?)) } else { None };
    Ok((config, tls))
}

/// Takes out of an address what it says of TLS.
fn split(address: &str) -> (String, Wanted) {
    let (start, options, between) = match address.split_once('?') {
        Some((start, options)) if address.contains("://") => (format!("{start}?"), options, '&'),
        _ if address.contains("://") => return (address.to_owned(), Wanted::default()),
        _ => (String::new(), address, ' '),
    };
    let mut wanted = Wanted::default();
    let mut rest = Vec::new();
    for option in options.split(between) {
        match option.split_once('=') {
            Some(("sslmode", mode)) => wanted.mode = Some(mode.to_owned()),
            Some(("sslrootcert", file)) => wanted.root = Some(file.to_owned()),
            _ => rest.push(option),
        }
    }
    let rest = rest.join(&between.to_string());
    ((start + &rest).trim_end_matches('?').to_owned(), wanted)
}

/// Whether the way to the database is within this machine.
fn is_on_this_machine(config: &Config) -> bool {
    let is_here = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_here) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// By the certificates of this file, or of the system.
fn connector(root: Option<&str>) -> Result<TlsConnector, String> {
    let mut authorities = RootCertStore::empty();
    let found: Vec<CertificateDer<'static>> = match root {
        Some(file) => CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect)
            .map_err(|error| format!("reading the certificates in {file}: {error}"))?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    authorities.add_parsable_certificates(found);
    if authorities.is_empty() {
        let place = root.unwrap_or("this system");
        return Err(format!("there is no certificate in {place}: name a file by sslrootcert"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder =
        builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let config = builder.with_root_certificates(authorities).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What to do about a database that was refused, or refuses.
pub(super) fn advice(said: &str) -> &'static str {
    let known = [
        (
            "does not support TLS",
            "; switch TLS on there (ssl = on), or say sslmode=disable in its address",
        ),
        (
            "UnknownIssuer",
            "; no authority that is known here made its certificate: name the file of one by sslrootcert",
        ),
        ("not valid for", "; its certificate is of another name: use that name in the address"),
    ];
    known.iter().find(|(part, _)| said.contains(part)).map_or("", |(_, advice)| advice)
}

/// Makes connections with TLS.
#[derive(Clone)]
pub(super) struct TlsToDatabase(TlsConnector);

impl MakeTlsConnect<Socket> for TlsToDatabase {
    type Stream = DatabaseStream;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake(self.0.clone(), name))
    }
}

/// A connection that is to have TLS, to a database of this name.
pub(super) struct Handshake(TlsConnector, ServerName<'static>);

impl TlsConnect<Socket> for Handshake {
    type Stream = DatabaseStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<DatabaseStream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(DatabaseStream(Box::new(self.0.connect(self.1, stream).await?))) })
    }
}

/// A connection with TLS.
pub(super) struct DatabaseStream(Box<TlsStream<Socket>>);

impl postgres::tls::TlsStream for DatabaseStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for DatabaseStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for DatabaseStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_elsewhere_prove_their_name() {
        for (address, has_tls) in [
            ("postgres://board@/board?host=/run/postgresql", false),
            ("postgres://board@127.0.0.1/board", false),
            ("host=localhost user=board", false),
            ("postgres://board@db.example.org/board", true),
            ("postgres://board@localhost,db.example.org/board", true),
            ("host=localhost hostaddr=192.0.2.1 user=board", true),
            ("postgres://board@db.example.org/board?sslmode=disable", false),
            ("postgres://board@127.0.0.1/board?sslmode=require&connect_timeout=3", true),
            ("host=127.0.0.1 sslmode=verify-full user=board", true),
        ] {
            let (config, tls) = match read(address) {
                Ok(read) => read,
                // A machine without any authority.
                Err(why) if why.contains("sslrootcert") => continue,
                Err(why) => panic!("{address}: {why}"),
            };
            assert_eq!(tls.is_some(), has_tls, "{address}");
            assert_eq!(config.get_ssl_mode() == SslMode::Require, has_tls, "{address}");
        }
        for mode in ["prefer", "allow", "verify-ca", ""] {
            let refused = read(&format!("host=x sslmode={mode}")).err().unwrap_or_default();
            assert!(refused.contains("say disable, or verify-full"), "{mode}: {refused}");
        }
        let refused = read("host=x sslrootcert=/nowhere").err().unwrap_or_default();
        assert!(refused.contains("/nowhere"), "{refused}");
    }
}
