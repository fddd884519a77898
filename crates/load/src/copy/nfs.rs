//! A copy over NFS: the calls of a client without a cache, and the server as the target of the
//! file.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use btu_contract::activity::Token;
use btu_contract::copy::{FilePlace, NfsWrites, Storage};
use btu_contract::peers::Callers;
use btu_traffic::Limit;
use btu_units::{Span, Time};

use super::store::{Stored, digest};
use super::{Moved, Over};
use crate::LoadError;
use crate::account::now;
use crate::nfs::{MovedAt, NfsClient, NfsServer, Stability, Transfer};
use crate::volume::{ROOT, Volume};

/// The name of the file.
const NAME: &str = "copy";

/// The source, as it is read by a client; it notes when.
struct Reading<'a> {
    source: &'a Stored,
    offset: u64,
    first: Option<Time>,
}

impl Read for Reading<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if self.offset == self.source.size() {
            return Ok(0);
        }
        let length = self.source.read(block, self.offset).map_err(io::Error::other)?.len();
        self.offset += length as u64;
        if self.first.is_none() {
            self.first = now().ok();
        }
        Ok(length)
    }
}

/// The options of a copy's calls; a copy that reads makes no data durable.
fn transfer(calls: NfsWrites) -> Transfer {
    let stability = if calls.is_sync() { Stability::FileSync } else { Stability::Unstable };
    Transfer { block: calls.block().count() as usize, window: calls.window(), stability }
}

/// Connects, looks the file up, reads it, and makes the copy durable.
pub(super) fn nfs_get(
    from: SocketAddr,
    token: &Token,
    copy: &Stored,
    reads: NfsWrites,
    timeout: Span,
) -> Result<Over, LoadError> {
    let mut client = NfsClient::connect(from, token, 0, timeout)?;
    let connected = now()?;
    let root = client.root();
    let file = client.look_up(&root, NAME)?.handle;
    let mut first = None;
    let mut sink = |offset, octets: &[u8]| {
        if first.is_none() {
            first = now().ok();
        }
        copy.write(octets, offset).map_err(io::Error::other)
    };
    let came = client.read_file(&file, copy.size(), &mut sink, transfer(reads))?;
    let last = now()?;
    if came != copy.size() {
        return Err(LoadError::FileSize {
            peer: from,
            expected: copy.size(),
            told: format!("{came} came"),
        });
    }
    copy.make_durable()?;
    Ok(Over {
        connected,
        moved: Moved { first: first.unwrap_or(last), last },
        durable: now()?,
        tcp: None,
    })
}

/// Connects, makes the file, writes it, and has it made durable. The last mark is the answer to the
/// last WRITE.
pub(super) fn nfs_put(
    to: SocketAddr,
    token: &Token,
    source: &Stored,
    writes: NfsWrites,
    timeout: Span,
) -> Result<Over, LoadError> {
    let mut client = NfsClient::connect(to, token, 0, timeout)?;
    let connected = now()?;
    let root = client.root();
    let file = client.create(&root, NAME)?.handle;
    let mut reading = Reading { source, offset: 0, first: None };
    let written = client.write_file(&file, &mut reading, transfer(writes))?;
    let last = now()?;
    if !writes.is_sync() {
        client.commit_written(&file, &written)?;
    }
    let durable = now()?;
    let first = reading.first.unwrap_or(last);
    Ok(Over { connected, moved: Moved { first, last }, durable, tcp: None })
}

/// The server with room for one file.
#[derive(Debug)]
pub(super) struct NfsPlace {
    server: NfsServer,
    size: u64,
}

impl NfsPlace {
    /// Listens on any free port of `address`; the file is there if it is the source.
    pub(super) fn open(
        address: IpAddr,
        token: &Token,
        place: &FilePlace,
        source: Option<Stored>,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let volume = match place.storage {
            Storage::Disk => Volume::new(&place.directory, place.size, Span::ZERO)?,
            Storage::Memory => Volume::in_memory(place.size, Span::ZERO),
        };
        if let Some(source) = source {
            let size = source.size();
            let failed =
                |fault| LoadError::File { operation: "serve", name: NAME.to_owned(), fault };
            volume.adopt(NAME.as_bytes(), source.into_file(), size).map_err(failed)?;
        }
        Ok(Self {
            server: NfsServer::serve(volume, address, *token, callers)?,
            size: place.size.count(),
        })
    }

    /// The address on which it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves until `stop`, and then returns the transferred file's account, with its digest.
    pub(super) fn wait(
        self,
        limit: &Limit<'_>,
        is_source: bool,
    ) -> Result<(Over, String), LoadError> {
        let (peer, expected) = (self.server.address(), self.size);
        while !limit.stopped() {
            limit.check_time(now()?, "serve a file by NFS", peer)?;
            std::thread::sleep(super::TICK);
        }
        let other = |told: String| LoadError::FileSize { peer, expected, told };
        let look = |volume: &Volume| -> Result<String, LoadError> {
            let found = volume
                .look_up(ROOT, NAME.as_bytes())
                .map_err(|_| other("no file was made".to_owned()))?;
            if found.size != expected {
                return Err(other(format!("{} came", found.size)));
            }
            digest(expected, |block, offset| {
                let failed = |_| {
                    if is_source {
                        let what = format!("it cannot be read at byte {offset}");
                        return LoadError::SourceChanged { what };
                    }
                    other(format!("what came cannot be read back at {offset}"))
                };
                Ok(volume.read_at(found.node, offset, block).map_err(failed)?.0)
            })
        };
        let (moved, looked) = self.server.stop_and_look(look);
        let digest = looked?;
        let MovedAt { admitted, first, last, durable } =
            moved.ok_or_else(|| other("it was neither read nor written".to_owned()))?;
        let durable = match durable {
            Some(durable) => durable,
            None if is_source => last,
            None => return Err(other("it was never made durable".to_owned())),
        };
        Ok((Over { connected: admitted, moved: Moved { first, last }, durable, tcp: None }, digest))
    }
}
