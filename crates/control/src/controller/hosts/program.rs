//! The program that is copied to hosts without an agent.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::ssh;

/// A program in a file: read when it is first needed, and once for all hosts and calls.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    read: Arc<OnceLock<Copied>>,
}

/// The octets for the connection.
pub(super) struct Copied {
    pub(super) octets: Vec<u8>,
    /// The length for the remote shell, which reads exactly these octets.
    pub(super) script: String,
}

/// The largest program that is copied, in bytes; btu's has some ten million.
const LARGEST: u64 = 1 << 30;

impl Program {
    /// The program in this file.
    pub fn at(path: PathBuf) -> Self {
        Self { path, read: Arc::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> io::Result<&Copied> {
        if let Some(copied) = self.read.get() {
            return Ok(copied);
        }
        let mut octets = Vec::new();
        fs::File::open(&self.path)?.take(LARGEST + 1).read_to_end(&mut octets)?;
        if octets.len() as u64 > LARGEST {
            return Err(io::Error::other("it is too large for a program"));
        }
        let script = ssh::script(&octets);
        Ok(self.read.get_or_init(|| Copied { octets, script }))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_once_however_often_it_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("btu");
        fs::write(&file, "one").unwrap();
        let program = Program::at(file.clone());
        let again = program.clone();
        assert_eq!(program.read().unwrap().octets, b"one");
        fs::remove_file(&file).unwrap();
        assert_eq!(again.read().unwrap().octets, b"one");
        assert!(Program::at(file).read().is_err());
    }
}
