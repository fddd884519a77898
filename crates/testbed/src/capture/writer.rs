//! The thread that writes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};

use btu_units::Time;

use super::format::{self, PACKET_OVERHEAD, Statistics};
use super::{CaptureError, FrameDirection, Tapped};

/// A file's blocks are collected up to this number of octets, while more are arriving.
const FLUSH_BYTES: usize = 128 << 10;

/// Blocks of any ports, in the order in which frames passed.
#[derive(Debug)]
pub(super) struct Chunk {
    octets: Vec<u8>,
    /// Port and length of each block.
    blocks: Vec<(u32, u32)>,
}

impl Chunk {
    pub(super) fn new(octets: usize) -> Self {
        Self { octets: Vec::with_capacity(octets), blocks: Vec::with_capacity(octets / 128) }
    }

    pub(super) fn push(&mut self, port: u32, at: Time, direction: FrameDirection, frame: &[u8]) {
        let before = self.octets.len();
        format::packet(&mut self.octets, at, direction, frame);
        self.blocks.push((port, (self.octets.len() - before) as u32));
    }

    /// Whether the longest frame of an Ethernet might not fit without growing, nor one more block's
    /// entry. A superframe may make it grow once.
    pub(super) fn is_full(&self) -> bool {
        let longest = PACKET_OVERHEAD + 1536;
        self.octets.len() + longest > self.octets.capacity()
            || self.blocks.len() == self.blocks.capacity()
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.blocks.clear();
    }
}

/// An order to the writer.
#[derive(Debug)]
pub(super) enum WriterOrder {
    /// The thread writes this chunk.
    Write(Chunk),
    /// End all files at this time with these counts, and end.
    Close(Time, Vec<Statistics>),
}

/// The files, and the way back for chunks.
pub(super) struct Writer {
    files: Vec<PortFile>,
    give_back: Sender<Chunk>,
    failure: Arc<OnceLock<String>>,
}

impl Writer {
    /// Makes the directory and the files, each with its head.
    pub(super) fn open(
        directory: &Path,
        ports: &[Tapped],
        give_back: Sender<Chunk>,
        failure: Arc<OnceLock<String>>,
    ) -> Result<Self, CaptureError> {
        std::fs::create_dir_all(directory).map_err(|source| CaptureError {
            operation: "making the directory",
            path: directory.to_owned(),
            source,
        })?;
        let files =
            ports.iter().map(|port| PortFile::create(directory, port)).collect::<Result<_, _>>()?;
        Ok(Self { files, give_back, failure })
    }

    /// Writes arriving chunks until it gets the order to close.
    pub(super) fn work(mut self, orders: &Receiver<WriterOrder>) {
        while let Ok(order) = orders.try_recv().or_else(|_| {
            // No more chunks for now: the collected blocks go to disk.
            self.flush();
            orders.recv()
        }) {
            match order {
                WriterOrder::Write(chunk) => self.write(chunk),
                WriterOrder::Close(at, statistics) => return self.close(at, &statistics),
            }
        }
        self.flush();
    }

    fn write(&mut self, mut chunk: Chunk) {
        let mut rest = chunk.octets.as_slice();
        for &(port, length) in &chunk.blocks {
            let (block, after) = rest.split_at(length as usize);
            let file = &mut self.files[port as usize];
            file.append(block);
            if file.unwritten.len() >= FLUSH_BYTES {
                file.flush(&self.failure);
            }
            rest = after;
        }
        chunk.clear();
        // The capture may be closing and no longer need the chunk.
        let _ = self.give_back.send(chunk);
    }

    fn flush(&mut self) {
        self.files.iter_mut().for_each(|file| file.flush(&self.failure));
    }

    fn close(&mut self, at: Time, statistics: &[Statistics]) {
        for (file, statistics) in self.files.iter_mut().zip(statistics) {
            format::statistics(&mut file.unwritten, at, statistics);
            file.flush(&self.failure);
        }
    }
}

/// The file of one port.
pub(super) struct PortFile {
    file: File,
    path: PathBuf,
    /// Complete blocks that are not written yet.
    unwritten: Vec<u8>,
}

impl PortFile {
    fn create(directory: &Path, port: &Tapped) -> Result<Self, CaptureError> {
        let path = directory.join(format!("{}.pcapng", port.file));
        let failed =
            |source| CaptureError { operation: "making the file", path: path.clone(), source };
        let mut file = File::create(&path).map_err(failed)?;
        let mut head = Vec::new();
        format::head(&mut head, &port.interface, &port.file);
        file.write_all(&head).map_err(failed)?;
        Ok(Self::new(file, path))
    }

    pub(super) fn new(file: File, path: PathBuf) -> Self {
        Self { file, path, unwritten: Vec::new() }
    }

    /// Keeps whole blocks for the next flush.
    pub(super) fn append(&mut self, blocks: &[u8]) {
        self.unwritten.extend_from_slice(blocks);
    }

    /// Writes whole blocks. The first failure of all files is kept; after it a file may end in the
    /// middle of a block.
    pub(super) fn flush(&mut self, failure: &OnceLock<String>) {
        if self.unwritten.is_empty() {
            return;
        }
        if failure.get().is_none()
            && let Err(error) = self.file.write_all(&self.unwritten)
        {
            // Another file's failure may have been first; that one is reported.
            let _ = failure.set(format!("{}: {error}", self.path.display()));
        }
        self.unwritten.clear();
    }
}
