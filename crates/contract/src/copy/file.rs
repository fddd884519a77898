//! One file that is copied: what is ordered of each end, and what each end accounts for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{NfsWrites, PacketCount, ProgramError};
use crate::surroundings::TcpInfo;
use crate::text::stored_as_text;

/// The program that copies the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Program {
    /// No network: a copy on one host.
    Local,
    /// A share that is mounted already, by whatever client the kernel has for it: a copy into it,
    /// or out of it.
    Mount,
    /// One TCP connection with the file in it, and an octet back when it is durable.
    Bare,
    /// The protocol of rcp (1982), without rsh in front of it: a record with mode, size and name,
    /// each step answered.
    Rcp,
    /// FTP: login, passive data connection, STOR (RFC 959).
    Ftp,
    /// NFS version 3 over TCP: CREATE, WRITEs, COMMIT, or LOOKUP and READs (RFC 1813).
    Nfs(NfsWrites),
    /// HTTP/1.1 on a connection of its own: PUT or GET (RFC 9110, RFC 9112).
    Http,
    /// The system's scp, to the system's sshd.
    Scp,
    /// The system's sftp, to the system's sshd.
    Sftp,
    /// The system's rsync, to the system's rsync as a daemon.
    Rsync,
    /// Like `Ftp`, to the system's vsftpd.
    Vsftpd,
}

impl Program {
    /// The default programs.
    pub const USUAL: [Self; 5] =
        [Self::Local, Self::Bare, Self::Rcp, Self::Ftp, Self::Nfs(NfsWrites::USUAL)];

    /// The programs of the report of 1989. Its NFS was version 2, which makes each block durable
    /// before it is answered.
    pub const OF_THE_PAPER: [Self; 4] =
        [Self::Local, Self::Rcp, Self::Ftp, Self::Nfs(NfsWrites::SYNC)];

    /// The names of all.
    const KNOWN: &'static str = "local, bare, rcp, ftp, http, mount, scp, sftp, rsync, vsftpd, and nfs with -WINDOW, -BLOCKk and -sync, such as nfs-16-64k";

    /// Those that have no options.
    const PLAIN: [Self; 10] = [
        Self::Local,
        Self::Mount,
        Self::Bare,
        Self::Rcp,
        Self::Ftp,
        Self::Http,
        Self::Scp,
        Self::Sftp,
        Self::Rsync,
        Self::Vsftpd,
    ];

    /// The programs if a share is named.
    pub const AT_A_SHARE: [Self; 2] = [Self::Local, Self::Mount];

    /// Whether one process has source and copy: what network there is, is not one that this run
    /// knows.
    pub const fn is_on_one_host(self) -> bool {
        matches!(self, Self::Local | Self::Mount)
    }

    /// Whether an end is a program of the system, which it may not have.
    pub const fn is_the_systems(self) -> bool {
        matches!(self, Self::Scp | Self::Sftp | Self::Rsync | Self::Vsftpd)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.pad("local"),
            Self::Mount => f.pad("mount"),
            Self::Bare => f.pad("bare"),
            Self::Rcp => f.pad("rcp"),
            Self::Ftp => f.pad("ftp"),
            Self::Nfs(writes) => f.pad(&writes.to_string()),
            Self::Http => f.pad("http"),
            Self::Scp => f.pad("scp"),
            Self::Sftp => f.pad("sftp"),
            Self::Rsync => f.pad("rsync"),
            Self::Vsftpd => f.pad("vsftpd"),
        }
    }
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let plain = Self::PLAIN.into_iter().find(|one| one.to_string() == text);
        let known = || ProgramError {
            what: "program",
            name: text.to_owned(),
            known: Self::KNOWN.to_owned(),
        };
        plain.or_else(|| text.parse().ok().map(Self::Nfs)).ok_or_else(known)
    }
}

stored_as_text!(Program);

named! {
    "storage": {
        /// What the file stands on, at both ends.
        Storage {
            /// A file of the scratch directory, durable there at the end (`fdatasync`).
            Disk = "disk",
            /// Memory that looks like a file (`memfd`).
            Memory = "memory",
        }
    }
}

named! {
    "direction": {
        /// The end of a copy that connects and measures the time.
        #[derive(Default)]
        Direction {
            /// The one that has the file.
            #[default]
            Put = "put",
            /// The one that receives it.
            Get = "get",
        }
    }
}

named! {
    "cache": {
        /// Whether the source is in the page cache when the clock starts. Memory has no other place
        /// for it.
        #[derive(Default)]
        Cache {
            /// It is on the device alone.
            #[default]
            Cold = "cold",
            /// It has just been read.
            Warm = "warm",
        }
    }
}

/// The place of the file at one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlace {
    /// Its size: one byte at least.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Its hosts.
    pub storage: Storage,
    /// Whether a source is in the page cache.
    #[serde(default)]
    pub cache: Cache,
    /// Scratch directory, for files on disk; they have no name there, and are gone with the worker.
    /// Programs that open no file without a name get a directory of their own in it.
    #[serde(with = "crate::path")]
    pub directory: PathBuf,
}

/// The times of a copy's progress, in nanoseconds from its start; each is no earlier than the one
/// before it. A sender's start is the start of the command, a receiver's is when it let the sender
/// in.
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
    /// The receiver has made the whole file durable: it confirmed it, or is this end.
    #[serde(rename = "durable_ns")]
    pub durable: Span,
}

impl Marks {
    /// Whether each is no earlier than the one before it.
    pub fn ascend(&self) -> bool {
        [self.connected, self.first_byte, self.last_byte, self.durable].is_sorted()
    }
}

/// The account of one end of a copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEnd {
    /// Bytes of the file that it sent, or that it has stored.
    pub bytes: Bytes,
    /// When each step was done, since this end began.
    pub marks: Marks,
    /// SHA-256 of what was read, or of what is stored, in hexadecimal digits; computed when the
    /// clock has stopped.
    pub digest: String,
    /// The method: the program, the calls, the file system.
    pub method: String,
    /// The connection that carried the file, when all was over; of programs that let it be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInfo>,
    /// Time in calls that read the file, write it, or make it durable; of programs whose calls are btu's own.
    #[serde(rename = "file_calls_ns", default, skip_serializing_if = "Option::is_none")]
    pub file_calls: Option<Span>,
    /// The counts of the station's interfaces at each second, and at the end; of the end that
    /// measures the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<PacketCount>,
}

/// A copy on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileCopied {
    /// SHA-256 of the source, in hexadecimal digits.
    pub source_digest: String,
    /// The account of the copy: its bytes, its steps and its digest.
    pub copy: FileEnd,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn names_are_read_as_they_are_written() {
        for program in Program::USUAL.into_iter().chain(Program::PLAIN) {
            assert_eq!(program.to_string().parse(), Ok(program));
            assert_eq!(json::to_value(&program).unwrap(), program.to_string());
        }
        assert_eq!(serde_json::from_str::<Program>("\"nfs-16\"").unwrap().to_string(), "nfs-16");
        for storage in Storage::ALL {
            assert_eq!(storage.name().parse(), Ok(storage));
            assert_eq!(json::to_value(&storage).unwrap(), storage.name());
        }
        for direction in Direction::ALL {
            assert_eq!(direction.name().parse(), Ok(direction));
            assert_eq!(json::to_value(&direction).unwrap(), direction.name());
        }
        let error = "lukewarm".parse::<Cache>().unwrap_err().to_string();
        assert_eq!(error, "there is no cache `lukewarm`; there are cold, warm");
        let error = "cp".parse::<Program>().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no program `cp`; there are local, bare, rcp, ftp"),
            "{error}"
        );
    }

    #[test]
    fn marks_go_up() {
        let span = Span::from_microseconds;
        let marks =
            Marks { connected: span(1), first_byte: span(2), last_byte: span(2), durable: span(5) };
        assert!(marks.ascend() && Marks::default().ascend());
        assert!(!Marks { connected: span(3), ..marks }.ascend());
    }
}
