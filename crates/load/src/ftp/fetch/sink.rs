//! The target of fetched bytes: a file in the scratch directory that never grows beyond a limit.

use std::path::Path;

pub use btu_contract::needs::FETCH_ROOM;

use crate::scratch::ScratchFile;
use crate::{LoadError, content};

/// When the file has reached this size, it is synced and begun again: so a fetch of any size costs
/// the device every byte, and little is left to clean up when the clock has stopped.
const LARGEST: u64 = FETCH_ROOM.count();

/// Bytes compared at each place that is looked at.
const SAMPLE: u64 = 4096;

/// A user's file, as an FTP client writes it: through the page cache, synced at the end.
#[derive(Debug)]
pub(super) struct Sink {
    file: ScratchFile,
    /// Offset in the fetched file of the first byte in btu's file.
    base: u64,
    /// Bytes in btu's file.
    length: u64,
}

impl Sink {
    pub(super) fn create(directory: &Path) -> Result<Self, LoadError> {
        Ok(Self { file: ScratchFile::create(directory, false)?, base: 0, length: 0 })
    }

    /// Begins a new file; earlier data are synced first.
    pub(super) fn restart(&mut self) -> Result<(), LoadError> {
        self.turn_over()?;
        self.base = 0;
        Ok(())
    }

    /// Takes the next bytes that arrived.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            if self.length == LARGEST {
                self.turn_over()?;
            }
            let room = usize::try_from(LARGEST - self.length).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.file.write("write the fetched file", now, self.length)?;
            self.length += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Waits until all is on the device.
    pub(super) fn sync(&self) -> Result<(), LoadError> {
        self.file.sync()
    }

    fn turn_over(&mut self) -> Result<(), LoadError> {
        if self.length > 0 {
            self.file.sync()?;
            self.file.clear()?;
        }
        self.base += self.length;
        self.length = 0;
        Ok(())
    }

    /// Compares samples of the stored data with the embedded server's content: 16 evenly spread,
    /// and the end. Returns the offset of the first wrong one.
    pub(super) fn first_wrong(&self) -> Result<Option<u64>, LoadError> {
        let last = self.length.saturating_sub(SAMPLE);
        let mut bytes = [0; SAMPLE as usize];
        let bytes = &mut bytes[..self.length.min(SAMPLE) as usize];
        for place in (0..=16).map(|sixteenth| last / 16 * sixteenth).chain([last]) {
            self.file.read(bytes, place)?;
            if !content::matches(self.base + place, bytes) {
                return Ok(Some(self.base + place));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_begun_anew_at_the_limit() {
        let directory = tempfile::tempdir().expect("tempdir");
        let mut sink = Sink::create(directory.path()).expect("created");
        // A hole replaces the earlier data, so that the test does not write them all.
        (sink.base, sink.length) = (0, LARGEST - 1000);
        let bytes: Vec<u8> = (LARGEST - 1000..LARGEST + 2000)
            .map(|offset| content::from_offset(offset)[0])
            .collect();
        sink.take(&bytes).expect("written");
        assert_eq!((sink.base, sink.length), (LARGEST, 2000));
        assert_eq!(sink.first_wrong().expect("readable"), None);
        sink.take(b"this is not what the server holds").expect("written");
        assert_eq!(sink.first_wrong().expect("readable"), Some(LARGEST));
    }

    #[test]
    fn a_new_file_counts_from_its_own_start() {
        let directory = tempfile::tempdir().expect("tempdir");
        let mut sink = Sink::create(directory.path()).expect("created");
        for _ in 0..2 {
            sink.restart().expect("restarted");
            sink.take(&content::from_offset(0)[..10_000]).expect("written");
            assert_eq!(sink.first_wrong().expect("readable"), None);
        }
        sink.restart().expect("restarted");
        assert_eq!(sink.first_wrong().expect("nothing is not wrong"), None);
    }
}
