//! Captures the frames of each port in pcapng files that Wireshark reads, without delaying frames.
//!
//! The wire copies frames into chunks of memory and hands full ones, or ones that are a tenth of a
//! second old, to a thread that writes. Memory is bounded: when the writer has all chunks, frames
//! are carried as usual and counted as missed. Each port has a file of its own, closed with its
//! counts (Interface Statistics Block). A process that is killed leaves files that can be read up
//! to the last whole block; frames of the last tenth of a second are then missing.

mod format;
mod read;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use btu_contract::record::CaptureAccount;
use btu_units::{Span, Time};
use thiserror::Error;

use crate::port::Instants;
pub use format::Statistics;
#[doc(hidden)]
pub use read::fuzz_capture;
pub use read::{Block, NotACapture, read};
use writer::{Chunk, Writer, WriterOrder};

/// A chunk is handed over when it is as full as this, or as old.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNK_AGE: Span = Span::from_milliseconds(100);

/// Memory for all chunks together: a quarter of a second at 2 Gb/s.
const MOST_CHUNKS: usize = (64 << 20) / CHUNK_BYTES;

/// The direction in which a frame passed a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameDirection {
    /// From the station into the network.
    Inbound,
    /// From the network to the station.
    Outbound,
}

impl FrameDirection {
    /// The two lowest bits of `epb_flags`.
    fn flags(self) -> u32 {
        match self {
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }

    fn from_flags(flags: u32) -> Option<Self> {
        match flags & 3 {
            1 => Some(Self::Inbound),
            2 => Some(Self::Outbound),
            _ => None,
        }
    }
}

/// A port that is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// The name of the file, without `.pcapng`; a file of that name is replaced.
    pub file: String,
    /// The name of the network interface to capture.
    pub interface: String,
}

/// A capture could not be started.
#[derive(Debug, Error)]
#[error("{operation} {path}: {source}; name a directory of your own, on a file system with room")]
pub struct CaptureError {
    operation: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// A running capture, on the side of the wire. Only closing waits.
#[derive(Debug)]
pub struct Capture {
    filling: Option<Chunk>,
    /// The time of the chunk's first frame.
    since: Option<Time>,
    /// Chunks that may still be made.
    unmade: usize,
    empty: Receiver<Chunk>,
    full: Sender<WriterOrder>,
    clocks: Instants,
    ports: Vec<Statistics>,
    failure: Arc<OnceLock<String>>,
    writer: Option<JoinHandle<()>>,
}

impl Capture {
    /// Opens a file for each port in `directory`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory or a file cannot be made.
    pub fn start(directory: &Path, ports: &[Tapped]) -> Result<Self, CaptureError> {
        let (give_back, empty) = channel();
        let (full, orders) = channel();
        let failure = Arc::new(OnceLock::new());
        let writer = Writer::open(directory, ports, give_back, Arc::clone(&failure))?;
        let thread =
            thread::Builder::new().name("capture".to_owned()).spawn(move || writer.work(&orders));
        let thread = thread.map_err(|source| CaptureError {
            operation: "starting a thread to write to",
            path: directory.to_owned(),
            source,
        })?;
        Ok(Self {
            filling: None,
            since: None,
            unmade: MOST_CHUNKS,
            empty,
            full,
            clocks: Instants::now(),
            ports: vec![Statistics::default(); ports.len()],
            failure,
            writer: Some(thread),
        })
    }

    /// Notes a frame that passed `port` at `at`, by the monotonic clock.
    pub fn frame(&mut self, port: u32, direction: FrameDirection, at: Time, frame: &[u8]) {
        let statistics = &mut self.ports[port as usize];
        statistics.seen += 1;
        let Some(chunk) = self.filling.take().or_else(|| self.fresh_chunk()) else {
            self.ports[port as usize].missed += 1;
            return;
        };
        let chunk = self.filling.insert(chunk);
        chunk.push(port, self.clocks.wall(at), direction, frame);
        self.ports[port as usize].written += 1;
        self.since.get_or_insert(at);
        if chunk.is_full() {
            self.hand_over();
        }
    }

    /// The time of the next call of [`Self::tend`].
    pub fn due(&self) -> Option<Time> {
        self.since.map(|since| since + CHUNK_AGE)
    }

    /// Hands over the chunks that are old enough by `now`.
    pub fn tend(&mut self, now: Time) {
        if self.due().is_some_and(|due| due <= now) {
            self.hand_over();
            self.clocks = Instants::now();
        }
    }

    /// The counts of written frames so far; frames that were handed to a writer that had failed
    /// count as written.
    pub fn account(&self) -> CaptureAccount {
        CaptureAccount {
            frames: self.ports.iter().map(|port| port.written).sum(),
            missed: self.ports.iter().map(|port| port.missed).sum(),
            failure: self.failure.get().cloned(),
        }
    }

    /// Ends the files with their counts and waits until they are written. `dropped` has the number
    /// of frames that the kernel dropped at each port. Closing again does nothing.
    pub fn close(&mut self, dropped: &[u64]) {
        let Some(writer) = self.writer.take() else { return };
        self.hand_over();
        for (port, &dropped) in self.ports.iter_mut().zip(dropped) {
            port.dropped = dropped;
        }
        let at = self.clocks.wall(crate::port::now());
        // A writer that is gone has panicked, which joining reports.
        let _ = self.full.send(WriterOrder::Close(at, self.ports.clone()));
        if writer.join().is_err() {
            let _ = self.failure.set("the writing thread panicked".to_owned());
        }
    }

    fn hand_over(&mut self) {
        self.since = None;
        if let Some(chunk) = self.filling.take() {
            // The writer runs until it gets the order to close, so it receives this order.
            let _ = self.full.send(WriterOrder::Write(chunk));
        }
    }

    fn fresh_chunk(&mut self) -> Option<Chunk> {
        self.empty.try_recv().ok().or_else(|| {
            self.unmade = self.unmade.checked_sub(1)?;
            Some(Chunk::new(CHUNK_BYTES))
        })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.close(&[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::now;

    fn tapped(file: &str) -> Tapped {
        Tapped { file: file.to_owned(), interface: format!("{file}-port") }
    }

    fn packets(directory: &Path, file: &str) -> (Vec<Block>, Statistics) {
        let octets = std::fs::read(directory.join(file).with_extension("pcapng")).unwrap();
        let (mut blocks, rest) = read(&octets).unwrap();
        assert_eq!(rest, 0);
        let Some(Block::Statistics(statistics)) = blocks.pop() else {
            panic!("no counts at the end")
        };
        assert_eq!(blocks.remove(0), Block::Section);
        let Block::Interface { name, description } = blocks.remove(0) else {
            panic!("no interface")
        };
        assert_eq!((name, description.as_str()), (format!("{file}-port"), file));
        (blocks, statistics)
    }

    #[test]
    fn every_frame_is_in_its_ports_file_with_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("made/on/the/way");
        let mut capture = Capture::start(&place, &[tapped("a"), tapped("b")]).unwrap();
        let start = now();
        for number in 0..2000u32 {
            let frame = [number.to_le_bytes().as_slice(), &[7; 1000]].concat();
            let direction =
                if number % 3 == 0 { FrameDirection::Inbound } else { FrameDirection::Outbound };
            capture.frame(
                number % 2,
                direction,
                start + Span::from_microseconds(u64::from(number)),
                &frame,
            );
        }
        capture.close(&[5, 0]);
        assert_eq!(capture.account(), CaptureAccount { frames: 2000, missed: 0, failure: None });
        for (file, odd) in [("a", 0), ("b", 1)] {
            let (blocks, statistics) = packets(&place, file);
            assert_eq!(blocks.len(), 1000);
            let dropped = if odd == 0 { 5 } else { 0 };
            assert_eq!(statistics, Statistics { seen: 1000, dropped, missed: 0, written: 1000 });
            let Block::Packet { at: first, .. } = blocks[0] else { panic!("no packet") };
            for (place, block) in (0u32..).zip(blocks) {
                let number = 2 * place + odd;
                let Block::Packet { at, direction, frame } = block else { panic!("no packet") };
                assert_eq!(frame[..4], number.to_le_bytes());
                assert_eq!(at.since(first), Span::from_microseconds(u64::from(2 * place)));
                assert_eq!(direction == FrameDirection::Inbound, number % 3 == 0);
            }
        }
    }

    #[test]
    fn memory_is_bounded_and_what_does_not_fit_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = Capture::start(directory.path(), &[tapped("a")]).unwrap();
        capture.unmade = 0;
        capture.frame(0, FrameDirection::Inbound, now(), &[0; 60]);
        capture.unmade = 1;
        capture.frame(0, FrameDirection::Inbound, now(), &[1; 60]);
        capture.close(&[]);
        let (blocks, statistics) = packets(directory.path(), "a");
        assert_eq!(blocks.len(), 1);
        assert_eq!(statistics, Statistics { seen: 2, dropped: 0, missed: 1, written: 1 });
    }

    #[test]
    fn old_frames_reach_the_disk_without_being_followed() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = Capture::start(directory.path(), &[tapped("a")]).unwrap();
        let start = now();
        capture.frame(0, FrameDirection::Inbound, start, &[3; 60]);
        capture.tend(start);
        assert_eq!(capture.due(), Some(start + CHUNK_AGE));
        capture.tend(start + CHUNK_AGE);
        assert_eq!(capture.due(), None);
        let file = directory.path().join("a.pcapng");
        let end = now() + Span::from_seconds(5);
        while read(&std::fs::read(&file).unwrap()).unwrap().0.len() < 3 {
            assert!(now() < end, "a chunk that was handed over is written");
            thread::sleep(Span::from_milliseconds(1).into());
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = Capture::start(Path::new("/proc/nowhere"), &[]).unwrap_err().to_string();
        assert!(
            error.contains("/proc/nowhere") && error.contains("directory of your own"),
            "{error}"
        );
    }

    #[test]
    fn a_full_disk_is_told_and_ends_nothing() {
        let failure = OnceLock::new();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut file = writer::PortFile::new(full, PathBuf::from("/dev/full"));
        file.append(&[0; 100]);
        file.flush(&failure);
        file.append(&[0; 100]);
        file.flush(&failure);
        assert!(failure.get().unwrap().starts_with("/dev/full: "), "{failure:?}");
    }
}
