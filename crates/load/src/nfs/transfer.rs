//! Whole files, with several calls on their way at a time.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::answer::{Piece, Written};
use super::protocol::{Call, Handle, MOST_DATA, Stability};
use super::{NfsClient, NfsError};

/// The options for reading or writing a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Octets of one call, 1 to [`MOST_DATA`]: `rsize` and `wsize`.
    pub block: usize,
    /// Calls that may be on their way without an answer, 1 to [`Transfer::MOST_WINDOW`].
    pub window: usize,
    /// When a written block is on the server's device.
    pub stability: Stability,
}

impl Transfer {
    /// Most calls on their way. Their headers and answers fit into the buffers of the sockets, so
    /// that neither end can block the other.
    pub const MOST_WINDOW: usize = 256;

    fn bounded(self) -> Self {
        let (block, window) =
            (self.block.clamp(1, MOST_DATA), self.window.clamp(1, Self::MOST_WINDOW));
        Self { block, window, ..self }
    }
}

/// The written data that may need a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uncommitted {
    /// Octets of the file.
    pub octets: u64,
    verifier: Option<[u8; 8]>,
}

/// A call without an answer.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    transaction: u32,
    offset: u64,
    length: usize,
}

impl NfsClient {
    /// Writes all that `source` has to the beginning of `file`, `transfer.window` calls on their
    /// way at a time. Returns when the last WRITE is answered: by [`Stability::FileSync`] all is on
    /// the server's device then, by [`Stability::Unstable`] when [`NfsClient::commit_written`] has
    /// returned. The file keeps what it has beyond: create it before, which empties it.
    ///
    /// # Errors
    /// As of every call; [`NfsError::ThisEnd`] where `source` fails, [`NfsError::BeganAnew`] where
    /// the server was started again.
    pub fn write_file(
        &mut self,
        file: &Handle,
        source: &mut impl Read,
        transfer: Transfer,
    ) -> Result<Uncommitted, NfsError> {
        let transfer = transfer.bounded();
        let mut block = vec![0; transfer.block];
        let mut outstanding = VecDeque::with_capacity(transfer.window);
        let mut written = Uncommitted { octets: 0, verifier: None };
        loop {
            let length = fill(source, &mut block)
                .map_err(|source| NfsError::ThisEnd { operation: "read", source })?;
            if length == 0 {
                break;
            }
            if outstanding.len() == transfer.window {
                self.one_written(&mut outstanding, &mut written)?;
            }
            let (offset, stability) = (written.octets, transfer.stability);
            let call = Call::Write { node: *file, offset, stability, data: &block[..length] };
            let transaction = self.send("WRITE", &call)?;
            outstanding.push_back(Outstanding { transaction, offset, length });
            written.octets += length as u64;
        }
        while !outstanding.is_empty() {
            self.one_written(&mut outstanding, &mut written)?;
        }
        Ok(written)
    }

    /// COMMIT of what [`NfsClient::write_file`] has written.
    ///
    /// # Errors
    /// As of every call, and [`NfsError::BeganAnew`] where the server was started again in between:
    /// the written data may be lost.
    pub fn commit_written(&mut self, file: &Handle, written: &Uncommitted) -> Result<(), NfsError> {
        let verifier = self.commit(file)?;
        match written.verifier {
            Some(before) if before != verifier => {
                Err(NfsError::BeganAnew { server: self.server() })
            }
            _ => Ok(()),
        }
    }

    fn one_written(
        &mut self,
        outstanding: &mut VecDeque<Outstanding>,
        all: &mut Uncommitted,
    ) -> Result<(), NfsError> {
        let arrived = self.receive("WRITE")?;
        let call = self.take(outstanding, arrived.transaction, "WRITE")?;
        let written = self.body("WRITE", arrived, false, Written::read)?;
        self.all_written(written, call.length)?;
        if all.verifier.replace(written.verifier).is_some_and(|before| before != written.verifier) {
            return Err(NfsError::BeganAnew { server: self.server() });
        }
        Ok(())
    }

    /// Reads the first `size` octets of `file`, `transfer.window` calls on their way at a time, and
    /// gives each piece with its offset to `sink`; pieces come in any order and do not overlap.
    /// Returns the number of octets: fewer if the file is shorter.
    ///
    /// # Errors
    /// As of every call; [`NfsError::ThisEnd`] where `sink` fails.
    pub(crate) fn read_file(
        &mut self,
        file: &Handle,
        size: u64,
        sink: &mut impl FnMut(u64, &[u8]) -> io::Result<()>,
        transfer: Transfer,
    ) -> Result<u64, NfsError> {
        let transfer = transfer.bounded();
        let mut outstanding = VecDeque::with_capacity(transfer.window);
        let (mut asked, mut came) = (0, 0);
        while asked < size || !outstanding.is_empty() {
            if asked < size && outstanding.len() < transfer.window {
                let length = (size - asked).min(transfer.block as u64) as usize;
                self.ask(file, asked, length, &mut outstanding)?;
                asked += length as u64;
                continue;
            }
            came += self.one_read(file, sink, &mut outstanding)?;
        }
        Ok(came)
    }

    fn ask(
        &mut self,
        file: &Handle,
        offset: u64,
        length: usize,
        outstanding: &mut VecDeque<Outstanding>,
    ) -> Result<(), NfsError> {
        let transaction =
            self.send("READ", &Call::Read { node: *file, offset, count: length as u32 })?;
        outstanding.push_back(Outstanding { transaction, offset, length });
        Ok(())
    }

    /// Takes one answer; if a server sent less than requested before the file's end, the client
    /// requests the rest.
    fn one_read(
        &mut self,
        file: &Handle,
        sink: &mut impl FnMut(u64, &[u8]) -> io::Result<()>,
        outstanding: &mut VecDeque<Outstanding>,
    ) -> Result<u64, NfsError> {
        let arrived = self.receive("READ")?;
        let call = self.take(outstanding, arrived.transaction, "READ")?;
        let Piece { data, is_end } = self.body("READ", arrived, false, Piece::read)?;
        let length = data.len();
        if length > call.length || (length == 0 && !is_end) {
            return Err(self.garbled("READ"));
        }
        sink(call.offset, data)
            .map_err(|source| NfsError::ThisEnd { operation: "write", source })?;
        if length < call.length && !is_end {
            self.ask(file, call.offset + length as u64, call.length - length, outstanding)?;
        }
        Ok(length as u64)
    }

    /// The call that an answer is to: nearly always the oldest.
    fn take(
        &self,
        outstanding: &mut VecDeque<Outstanding>,
        transaction: u32,
        name: &'static str,
    ) -> Result<Outstanding, NfsError> {
        let place = outstanding.iter().position(|call| call.transaction == transaction);
        place.and_then(|place| outstanding.remove(place)).ok_or_else(|| self.garbled(name))
    }
}

/// Fills `block` as far as the source goes.
fn fill(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
