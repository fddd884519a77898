//! The disk activity: read a large file and copy it to another, reaching the device (the paper's
//! I/O load, section 4.2).
//!
//! Blocks of 1 MiB go past the page cache both ways (`O_DIRECT`). If the file system refuses that,
//! they go through it, and both files are removed from the cache after every pass. Either way a
//! pass ends with fdatasync(2), and the next one makes the copy again, so a byte costs the same in
//! every pass.

mod source;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use btu_contract::activity::{self, Performance, Performed, Tell, Work};
use btu_contract::needs::on_disk;
use btu_contract::record::{Host, Outcome};
use btu_units::Bytes;
use rand_pcg::rand_core::Rng;

use crate::account::{self, Account};
use crate::scratch::{ALIGNMENT, Aligned, ScratchFile, scratch_check};
use crate::{LoadError, content};

pub use source::DiskSource;
use source::Source;
pub(crate) use source::write_random;

/// Bytes in one read and one write.
const BLOCK: u64 = 1 << 20;

/// Blocks of [`ALIGNMENT`] compared after the copy.
const SAMPLES: u64 = 8;

/// The space of a file of `size` in whole aligned blocks.
fn whole_blocks(size: Bytes) -> u64 {
    on_disk(size).count()
}

/// The disk activity, ready to go.
#[derive(Debug)]
pub(crate) struct Copying {
    source: Source,
    copy: ScratchFile,
    block: Aligned,
    directory: PathBuf,
    filesystem: String,
    /// Length of the source file.
    size: u64,
    work: Work,
    seed: u64,
}

/// The progress of the copy.
#[derive(Debug, Clone, Copy, Default)]
struct CopyProgress {
    /// Bytes copied in all passes.
    total: u64,
    /// Length of the copy that now stands.
    standing: u64,
}

impl Copying {
    /// Checks the room, makes or opens the source, and makes an empty copy.
    pub(crate) fn prepare(seed: u64, order: &activity::Disk) -> Result<Self, LoadError> {
        let size = whole_blocks(order.file);
        let files = if order.source.is_some() { 1 } else { 2 };
        let scratch = scratch_check(&order.directory, Bytes::new(size) * files)?;
        let source = match &order.source {
            Some(path) => Source::open(path, size, scratch.direct_io)?,
            None => Source::make(&order.directory, size, seed, scratch.direct_io)?,
        };
        Ok(Self {
            copy: ScratchFile::create(&order.directory, source.direct)?,
            source,
            block: Aligned::new(BLOCK as usize),
            directory: order.directory.clone(),
            filesystem: scratch.filesystem,
            size,
            work: order.work,
            seed,
        })
    }

    /// Copies until the work is done, or until `stop` or the end of a requested time; every pass
    /// ends on the device.
    fn work(&mut self, account: &Account, stop: &AtomicBool) -> Result<CopyProgress, LoadError> {
        let mut progress = CopyProgress::default();
        let is_timed = matches!(self.work, Work::For(_));
        loop {
            let left = self.left(account, progress)?;
            if left == 0 || (is_timed && stop.load(Ordering::Relaxed)) {
                self.end_pass()?;
                return Ok(progress);
            }
            if progress.standing == self.size {
                self.end_pass()?;
                self.copy.clear()?;
                progress.standing = 0;
            }
            let length = left.min(BLOCK).min(self.size - progress.standing);
            self.copy_block(progress.standing, length as usize)?;
            progress.total += length;
            progress.standing += length;
        }
    }

    /// The rest to copy, in whole aligned blocks.
    fn left(&self, account: &Account, progress: CopyProgress) -> Result<u64, LoadError> {
        Ok(match self.work {
            Work::Bytes(bytes) if bytes.count() <= progress.total => 0,
            Work::Bytes(bytes) => whole_blocks(bytes) - progress.total,
            Work::For(time) if account::now()? >= account.started() + time => 0,
            Work::For(_) => BLOCK,
        })
    }

    fn copy_block(&mut self, offset: u64, length: usize) -> Result<(), LoadError> {
        let block = self.block.slice(length);
        self.source.read(&self.directory, block, offset)?;
        self.copy.write("copy a file", block, offset)
    }

    fn end_pass(&self) -> Result<(), LoadError> {
        self.copy.sync()?;
        if !self.source.direct {
            self.copy.forget()?;
            self.source.forget(&self.directory)?;
        }
        Ok(())
    }

    /// Compares blocks of the standing copy, drawn by lot, with the source; the first and the last
    /// always.
    fn verify(&self, standing: u64) -> Result<(), LoadError> {
        let blocks = standing / ALIGNMENT as u64;
        let mut random = content::generator(self.seed);
        let drawn = (0..SAMPLES).map(|_| random.next_u64() % blocks.max(1));
        let picked = [0, blocks.saturating_sub(1)].into_iter().chain(drawn);
        let (mut read, mut written) = (Aligned::new(ALIGNMENT), Aligned::new(ALIGNMENT));
        for offset in picked.take(blocks as usize).map(|block| block * ALIGNMENT as u64) {
            let (read, written) = (read.slice(ALIGNMENT), written.slice(ALIGNMENT));
            self.source.read(&self.directory, read, offset)?;
            self.copy.read(written, offset)?;
            if read != written {
                return Err(LoadError::Corrupt { directory: self.directory.clone(), offset });
            }
        }
        Ok(())
    }

    fn method(&self) -> String {
        let way = if self.source.direct {
            "O_DIRECT + fdatasync"
        } else {
            "page cache + fdatasync + fadvise DONTNEED"
        };
        format!("{way}, {} MiB blocks, {}", BLOCK >> 20, self.filesystem)
    }
}

impl Performance for Copying {
    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        let progress = self.work(&account, stop)?;
        let closed = account.close()?;
        self.verify(progress.standing)?;
        Ok(closed.report(Outcome::Host(Host { work: progress.total, method: self.method() })))
    }
}

#[cfg(test)]
mod tests;
