//! The errors of certificates, keys, lists and codes. None of these ever holds a key.

use std::path::PathBuf;

use btu_units::shell_word;
use thiserror::Error;

use super::Role;

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
        "{path} holds a private key and others can read or change it (mode {mode:04o}): `chmod 600 {}`, and issue a new \
         one if another user may have copied it", shell_word(&path.to_string_lossy())
    )]
    Exposed {
        /// The path of the file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// A file that exists is never overwritten.
    #[error("{path} exists already and is not overwritten: move it away, or name another file")]
    Exists {
        /// The path of the file.
        path: PathBuf,
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
    /// A certificate is too old.
    #[error(
        "the certificate of {role} {name} lapsed on {date}: issue a new one with `btu hosts keys issue {} --role {role}`",
        shell_word(name)
    )]
    Expired {
        /// The name in the certificate.
        name: String,
        /// The role in the certificate.
        role: Role,
        /// The last day on which it is valid.
        date: String,
    },
    /// A certificate is too new.
    #[error(
        "the certificate of {role} {name} is valid from {date}, and this machine's clock is before that: set the clock"
    )]
    Early {
        /// The name in the certificate.
        name: String,
        /// The role in the certificate.
        role: Role,
        /// The first day on which it is valid.
        date: String,
    },
    /// An agent's certificate where a controller's is needed, or the other way round.
    #[error(
        "{name} is the identity of {}, and {} is needed here: `btu hosts keys issue NAME --role {needed}`",
        article(*.is), article(*.needed)
    )]
    WrongRole {
        /// The name in the certificate.
        name: String,
        /// The role in the certificate.
        is: Role,
        /// The expected form.
        needed: Role,
    },
    /// A name that cannot be in a certificate.
    #[error(
        "`{name}` is no name for a host or a controller: use lower-case letters, digits and hyphens, as in host names"
    )]
    Name {
        /// The name in question.
        name: String,
    },
    /// A list of another authority.
    #[error(
        "the list of revoked certificates is not signed by the authority of {name}: take `revoked.crl` of the authority that issued it"
    )]
    ForeignList {
        /// The identity with which it was used.
        name: String,
    },
    /// No authority where one was looked for.
    #[error("there is no authority in {path}: make one with `btu hosts keys init`")]
    NoAuthority {
        /// The path of the file or directory.
        path: PathBuf,
    },
    /// Neither the user nor the environment gives the place of keys.
    #[error("there is no HOME to keep keys in: name a directory with --keys or BTU_KEYS")]
    NoHome,
    /// There is no such certificate.
    #[error(
        "the authority in {path} has issued no certificate {what} that could be revoked: see `btu hosts keys list`"
    )]
    Unknown {
        /// The path of the file or directory.
        path: PathBuf,
        /// What was asked for.
        what: String,
    },
    /// A pairing code was mistyped.
    #[error("this is no pairing code: {0}")]
    Code(&'static str),
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

fn article(role: Role) -> &'static str {
    match role {
        Role::Agent => "an agent",
        Role::Controller => "a controller",
    }
}
