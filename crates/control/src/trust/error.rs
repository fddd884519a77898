//! The errors of keys and certificates. None of these ever holds a key.

use std::path::PathBuf;

use btu_units::shell_word;
use thiserror::Error;

/// Why a peer cannot be trusted, or an identity cannot be made.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A file could not be read.
    #[error("reading {path}: {source}")]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("writing {path}: {source}")]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// A file that holds a key is open to others.
    #[error(
        "{path} holds a private key and others can read or change it (mode {mode:04o}): `chmod 600 {}`, and start a new \
         job if another user may have copied it", shell_word(&path.to_string_lossy())
    )]
    Exposed {
        /// The path of the file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// A text has the wrong form.
    #[error("{what} is not {expected}: {why}")]
    Malformed {
        /// The file, or the name of the text.
        what: String,
        /// The expected form.
        expected: &'static str,
        /// The description of the mistake.
        why: String,
    },
    /// A name that cannot be in a certificate.
    #[error(
        "`{name}` is not a name for a host: use lower-case letters, digits and hyphens, as in host names"
    )]
    Name {
        /// The name in question.
        name: String,
    },
    /// An operation on keys and certificates failed.
    #[error("{operation}: {message}")]
    Machinery {
        /// The operation that failed.
        operation: &'static str,
        /// The text of its message.
        message: String,
    },
}

impl TrustError {
    /// An error of one of the libraries, named by the operation.
    pub(super) fn machinery<E: std::fmt::Display>(operation: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Machinery { operation, message: error.to_string() }
    }
}
