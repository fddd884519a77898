//! The server of the file transfer: the embedded one on active, or one outside the testbed.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_suite::script::FtpSource;
use btu_testbed::note;
use thiserror::Error;

use super::error::CoordinatorError;
use super::secret;

/// An external FTP server, as users write it: `host:port`, or `user:password@host:port/file`.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalFtp {
    /// The address of its control port.
    pub server: SocketAddr,
    user: String,
    password: String,
    /// The file that is fetched.
    pub file: String,
}

impl std::fmt::Debug for ExternalFtp {
    /// Formats the address without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ftp://{}@{}/{}", self.user, self.server, self.file)
    }
}

/// Why an FTP server's address is refused.
#[derive(Debug, Error)]
pub enum FtpAddressError {
    /// Its parts are missing or in the wrong order.
    #[error("`{0}` is not an FTP server: write host:port, or user:password@host:port/file")]
    Form(String),
    /// Its host is not known.
    #[error("finding the FTP server {host}: {source}; check the name and the port")]
    Unknown {
        /// The host and port.
        host: String,
        /// The reason that the system gives.
        source: std::io::Error,
    },
}

/// Fetched from an external server when no file is named.
const DEFAULT_FILE: &str = "btu.bin";

impl FromStr for ExternalFtp {
    type Err = FtpAddressError;

    fn from_str(text: &str) -> Result<Self, FtpAddressError> {
        let form = || FtpAddressError::Form(without_password(text));
        let bare = text.strip_prefix("ftp://").unwrap_or(text);
        let (credentials, place) =
            bare.rsplit_once('@').unwrap_or(("anonymous:btu@example.org", bare));
        let (user, password) = credentials.split_once(':').ok_or_else(form)?;
        let (host, file) = place.split_once('/').unwrap_or((place, DEFAULT_FILE));
        let (_, port) = host.rsplit_once(':').ok_or_else(form)?;
        port.parse::<u16>().map_err(|_| form())?;
        let mut found = host
            .to_socket_addrs()
            .map_err(|source| FtpAddressError::Unknown { host: host.to_owned(), source })?;
        let server = found.next().ok_or_else(form)?;
        Ok(Self {
            server,
            user: user.to_owned(),
            password: password.to_owned(),
            file: file.to_owned(),
        })
    }
}

/// Passwords are never shown, not even in an error about the rest.
fn without_password(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => text.to_owned(),
    }
}

/// Lets the relay on active reach the external server; nothing else can be reached through it.
pub(super) struct EgressProxy {
    outside: Option<(ExternalFtp, PathBuf)>,
    stop: Arc<AtomicBool>,
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl EgressProxy {
    /// Opens the egress proxy in the directory `runtime` when there is an external server; it
    /// closes when dropped.
    pub(super) fn open(
        external: Option<&ExternalFtp>,
        runtime: &Path,
    ) -> Result<Self, CoordinatorError> {
        let Some(external) = external.cloned() else {
            return Ok(Self { outside: None, stop: Arc::default() });
        };
        let path = runtime.join("egress_proxy.sock");
        let listener = UnixListener::bind(&path).map_err(|source| CoordinatorError::System {
            operation: "opening the FTP egress proxy",
            source,
        })?;
        let server = external.server;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("ftp egress proxy".to_owned())
            .spawn(move || {
                if let Err(error) = btu_load::serve_egress_proxy(listener, server, &stopped) {
                    note!("btu: the egress proxy to the FTP server closed: {error}");
                }
            })
            .map_err(|source| CoordinatorError::System {
                operation: "starting the FTP egress proxy",
                source,
            })?;
        Ok(Self { outside: Some((external, path)), stop })
    }

    /// The settings of the file transfer.
    pub(super) fn source(&self) -> Result<FtpSource, CoordinatorError> {
        Ok(match &self.outside {
            None => FtpSource::Embedded { password: secret::password()? },
            Some((external, egress_proxy)) => FtpSource::External {
                user: external.user.clone(),
                password: external.password.clone(),
                file: external.file.clone(),
                egress_proxy: egress_proxy.clone(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_people_write_them() {
        let plain: ExternalFtp = "127.0.0.1:21".parse().unwrap();
        assert_eq!((plain.user.as_str(), plain.file.as_str()), ("anonymous", "btu.bin"));
        let full: ExternalFtp = "ftp://me:secret@127.0.0.1:2121/pub/big.iso".parse().unwrap();
        assert_eq!(full.server.port(), 2121);
        assert_eq!((full.user.as_str(), full.file.as_str()), ("me", "pub/big.iso"));
    }

    #[test]
    fn a_password_is_never_shown() {
        let full: ExternalFtp = "me:secret@127.0.0.1:21/x".parse().unwrap();
        assert!(!format!("{full:?}").contains("secret"));
        let error = "me:secret@127.0.0.1/x".parse::<ExternalFtp>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn bad_addresses_say_what_is_wanted() {
        for text in ["", "host", "host:port", "127.0.0.1:99999"] {
            let message = text.parse::<ExternalFtp>().unwrap_err().to_string();
            assert!(message.contains("host:port"), "{message}");
        }
    }
}
