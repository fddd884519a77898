//! One file that is copied: what is ordered of each end, and what each end accounts for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::NfsWrites;
use crate::record::TcpInfo;
use crate::text::stored_as_text;

/// What copies the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Program {
    /// No network: a copy on one host.
    Local,
    /// One TCP connection with the file in it, and an octet back when it is durable.
    Bare,
    /// The protocol of rcp (1982), without rsh in front of it: a record with mode, size and name, each step answered.
    Rcp,
    /// FTP: login, passive data connection, STOR (RFC 959).
    Ftp,
    /// NFS version 3 over TCP: CREATE, WRITEs, COMMIT (RFC 1813).
    Nfs(NfsWrites),
}

impl Program {
    /// What is measured where none is named.
    pub const USUAL: [Self; 5] = [Self::Local, Self::Bare, Self::Rcp, Self::Ftp, Self::Nfs(NfsWrites::USUAL)];

    /// How all are written.
    const KNOWN: &'static str = "local, bare, rcp, ftp, and nfs with -WINDOW, -BLOCKk and -sync, such as nfs-16-64k";
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.pad("local"),
            Self::Bare => f.pad("bare"),
            Self::Rcp => f.pad("rcp"),
            Self::Ftp => f.pad("ftp"),
            Self::Nfs(writes) => f.pad(&writes.to_string()),
        }
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let plain = [Self::Local, Self::Bare, Self::Rcp, Self::Ftp].into_iter().find(|one| one.to_string() == text);
        plain.or_else(|| text.parse().ok().map(Self::Nfs)).ok_or_else(|| ProgramError {
            what: "program",
            name: text.to_owned(),
            known: Self::KNOWN,
        })
    }
}

stored_as_text!(Program);

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no {what} `{name}`; there are {known}")]
pub struct ProgramError {
    what: &'static str,
    name: String,
    known: &'static str,
}

/// What the file stands on, at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// A file of the scratch directory, read from the device and durable there at the end (`fdatasync`).
    Disk,
    /// Memory that looks like a file (`memfd`).
    Memory,
}

impl Storage {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Disk, Self::Memory];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Memory => "memory",
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Storage {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| ProgramError { what: "storage", name: text.to_owned(), known: "disk, memory" })
    }
}

/// Where one end has the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// How large it is: one byte at least.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// What it stands on.
    pub storage: Storage,
    /// Scratch directory, for files on disk; they have no name there, and are gone with the worker.
    pub directory: PathBuf,
}

/// How far a copy had come when, in nanoseconds from its start; each is no earlier than the one before it. A sender's start
/// is the start of the command, a receiver's is when it let the sender in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Marks {
    /// Connected, and known to the other end.
    #[serde(rename = "connected_ns")]
    pub connected: Span,
    /// The first bytes of the file were handed to the kernel, or had come from it.
    #[serde(rename = "first_byte_ns")]
    pub first_byte: Span,
    /// The last bytes were.
    #[serde(rename = "last_byte_ns")]
    pub last_byte: Span,
    /// The receiver has the whole file durable: it said so, or did so.
    #[serde(rename = "durable_ns")]
    pub durable: Span,
}

impl Marks {
    /// Whether each is no earlier than the one before it.
    pub fn ascend(&self) -> bool {
        [self.connected, self.first_byte, self.last_byte, self.durable].is_sorted()
    }
}

/// What one end of a copy accounts for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEnd {
    /// Bytes of the file that it sent, or that it has stored.
    pub bytes: Bytes,
    /// When each step was done, since this end began.
    pub marks: Marks,
    /// SHA-256 of what was read, or of what is stored, in hexadecimal digits; computed when the clock has stopped.
    pub digest: String,
    /// How it was done: the program, the calls, the file system.
    pub method: String,
    /// The connection that carried the file, when all was over; of programs that let it be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
}

/// A copy on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileCopied {
    /// SHA-256 of the source, in hexadecimal digits.
    pub source_digest: String,
    /// The copy.
    pub copy: FileEnd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for program in Program::USUAL {
            assert_eq!(program.to_string().parse(), Ok(program));
            assert_eq!(serde_json::to_value(program).unwrap(), program.to_string());
        }
        assert_eq!(serde_json::from_str::<Program>("\"nfs-16\"").unwrap().to_string(), "nfs-16");
        for storage in Storage::ALL {
            assert_eq!(storage.name().parse(), Ok(storage));
            assert_eq!(serde_json::to_value(storage).unwrap(), storage.name());
        }
        let error = "cp".parse::<Program>().unwrap_err().to_string();
        assert!(error.starts_with("there is no program `cp`; there are local, bare, rcp, ftp"), "{error}");
    }

    #[test]
    fn marks_go_up() {
        let span = Span::from_microseconds;
        let marks = Marks { connected: span(1), first_byte: span(2), last_byte: span(2), durable: span(5) };
        assert!(marks.ascend() && Marks::default().ascend());
        assert!(!Marks { connected: span(3), ..marks }.ascend());
    }
}
