//! Files at a server.

use std::net::SocketAddr;

use super::{Files, Open};
use crate::LoadError;
use crate::nfs::{Handle, NfsClient, NfsError, Stability};

/// The root directory of an NFS server. A call each: LOOKUP opens and looks at a file, CREATE makes
/// one, READ and WRITE take up to 1 MiB at a time, COMMIT flushes; nothing is closed, since the
/// server keeps no open files.
#[derive(Debug)]
pub struct RemoteFiles {
    client: NfsClient,
    root: Handle,
}

impl RemoteFiles {
    /// The files of the server that `client` is connected to.
    pub fn new(client: NfsClient) -> Self {
        Self { root: client.root(), client }
    }

    /// The IP address and port of the NFS server.
    pub fn server(&self) -> SocketAddr {
        self.client.server()
    }
}

impl Files for RemoteFiles {
    type File = Handle;

    fn open(&mut self, name: &str, open: Open) -> Result<Handle, LoadError> {
        let found = match open {
            Open::Existing => self.client.look_up(&self.root, name),
            Open::Empty => self.client.create(&self.root, name),
        };
        Ok(found?.handle)
    }

    fn read_at(&mut self, file: &Handle, offset: u64, into: &mut [u8]) -> Result<usize, LoadError> {
        let mut filled = 0;
        while filled < into.len() {
            let (read, is_end) =
                self.client.read_at(file, offset + filled as u64, &mut into[filled..])?;
            filled += read;
            if is_end {
                break;
            }
            if read == 0 {
                let server = self.client.server();
                return Err(NfsError::Garbled { server, call: "READ" }.into());
            }
        }
        Ok(filled)
    }

    fn write_at(&mut self, file: &Handle, offset: u64, octets: &[u8]) -> Result<(), LoadError> {
        Ok(self.client.write_at(file, offset, octets, Stability::Unstable)?)
    }

    fn flush(&mut self, file: &Handle) -> Result<(), LoadError> {
        self.client.commit(file)?;
        Ok(())
    }

    fn stat(&mut self, name: &str) -> Result<u64, LoadError> {
        let found = self.client.look_up(&self.root, name)?;
        Ok(match found.attributes {
            Some(attributes) => attributes.size,
            None => self.client.attributes(&found.handle)?.size,
        })
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), LoadError> {
        Ok(self.client.rename((&self.root, from), (&self.root, to))?)
    }

    fn remove(&mut self, name: &str) -> Result<(), LoadError> {
        Ok(self.client.remove(&self.root, name)?)
    }

    fn operations(&self) -> u64 {
        self.client.calls()
    }
}
