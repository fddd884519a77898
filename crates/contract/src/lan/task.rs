//! The work of the foreground station: the seven tasks of Figure 3, and operations that current
//! servers get.
//!
//! The study gives the sizes of its document and its table, but not of its programs; those are
//! btu's choice.

use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::{Pattern, dbf};

/// Octets that a program reads or writes at a time.
pub const BLOCK: usize = 4096;

/// Octets of the word processor's document: of a book's chapter in today's size, and the study's 50
/// KB.
const DOCUMENT: usize = 64 * BLOCK;
const PAPER_DOCUMENT: usize = 50 << 10;

/// Records of the table that is searched and of the one that is sorted; the study's has 500.
const SEARCHED: usize = 2048;
const SORTED: usize = 1024;
const PAPER_RECORDS: usize = 500;

/// Transactions of a task that repeats a pattern.
const MIXED: usize = 200;
const METADATA: usize = 20;
const SMALL_FILES: usize = 20;

/// The largest factor of the files' sizes.
pub const LARGEST_SCALE: u32 = 64;

/// The sizes of the tasks' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSizes {
    /// The study's sizes: a document of 50 KB, a table of 500 records.
    Paper,
    /// Today's sizes, times this factor.
    Scaled(u32),
}

btu_units::named! {
    /// A task of the word processor (`wp`) or the file manager (`fm`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Task {
        /// Reads the attributes of, opens and reads 24 files of 4 to 32 KiB: a program and its
        /// overlays.
        WpLoadProgram = "wp-load-program",
        /// Reads the attributes of, opens and reads a document of 256 KiB.
        WpLoadDocument = "wp-load-document",
        /// Writes the document under another name, flushes it, and renames it to the old name.
        WpSaveDocument = "wp-save-document",
        /// Reads the attributes of, opens and reads 12 files of 4 to 64 KiB.
        FmLoadProgram = "fm-load-program",
        /// Reads 2048 records of 128 octets until it finds the key of the last one.
        FmSerialSearch = "fm-serial-search",
        /// Reads 1024 records, sorts them by their keys, writes them to another file and flushes it.
        FmSort = "fm-sort",
        /// Reads 1024 records, and writes their keys in order, each with its record's number, to an
        /// index, and flushes it.
        FmIndex = "fm-index",
        /// Reads or writes a block of a file of 1 MiB at random, 200 times: seven of ten read.
        Mixed = "mixed",
        /// Makes a file, reads its attributes, renames it, reads them again, removes it, 20 times.
        Metadata = "metadata",
        /// Makes a file of one block, flushes it, reads its attributes, opens it, reads it, removes it,
        /// 20 times.
        SmallFiles = "small-files",
    }
}

/// The operations of a task on its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Reads all of them.
    Load,
    /// Writes the first again.
    Save,
    /// Reads the first until it has found its last record.
    Search,
    /// Reads the first and writes its records in order.
    Sort,
    /// Reads the first and writes its keys in order.
    Index,
    /// A number of transactions of a pattern, on files of its own.
    Repeat(Pattern, usize),
}

impl Task {
    /// The study's, in the order of Figure 3.
    pub const STUDY: [Self; 7] = [
        Self::WpLoadProgram,
        Self::WpLoadDocument,
        Self::WpSaveDocument,
        Self::FmLoadProgram,
        Self::FmSerialSearch,
        Self::FmSort,
        Self::FmIndex,
    ];

    /// The task that repeats a pattern; `None` for the study's record, which no task repeats.
    pub const fn of_pattern(pattern: Pattern) -> Option<Self> {
        match pattern {
            Pattern::Record => None,
            Pattern::Mixed => Some(Self::Mixed),
            Pattern::Metadata => Some(Self::Metadata),
            Pattern::SmallFiles => Some(Self::SmallFiles),
        }
    }

    /// Its operations on its files.
    pub const fn doing(self) -> Doing {
        match self {
            Self::WpLoadProgram | Self::WpLoadDocument | Self::FmLoadProgram => Doing::Load,
            Self::WpSaveDocument => Doing::Save,
            Self::FmSerialSearch => Doing::Search,
            Self::FmSort => Doing::Sort,
            Self::FmIndex => Doing::Index,
            Self::Mixed => Doing::Repeat(Pattern::Mixed, MIXED),
            Self::Metadata => Doing::Repeat(Pattern::Metadata, METADATA),
            Self::SmallFiles => Doing::Repeat(Pattern::SmallFiles, SMALL_FILES),
        }
    }

    /// The sizes of the files that exist before, in octets and in the order of their use.
    pub fn files(self, sizes: FileSizes) -> Vec<usize> {
        let scale = sizes.scale();
        let table = |records: usize| vec![dbf::HEADER + sizes.records(records) * dbf::RECORD + 1];
        match self {
            // 5 and 7 have no factor in common with the number of sizes: all sizes are equally
            // frequent, and neighbours differ.
            Self::WpLoadProgram => (0..24).map(|file| scale * BLOCK * (1 + 5 * file % 8)).collect(),
            Self::FmLoadProgram => {
                (0..12).map(|file| scale * BLOCK * (1 + 7 * file % 16)).collect()
            }
            Self::WpLoadDocument | Self::WpSaveDocument => vec![sizes.document()],
            Self::FmSerialSearch => table(SEARCHED),
            Self::FmSort | Self::FmIndex => table(SORTED),
            Self::Mixed | Self::Metadata | Self::SmallFiles => Vec::new(),
        }
    }

    /// Whether its files are tables of the file manager's.
    pub const fn has_table(self) -> bool {
        matches!(self.doing(), Doing::Search | Doing::Sort | Doing::Index)
    }

    /// Most octets of all its files together, including those that it writes.
    pub fn room(self, sizes: FileSizes) -> Bytes {
        match self.doing() {
            Doing::Repeat(pattern, _) => pattern.room(Bytes::new(BLOCK as u64)),
            _ => Bytes::new(2 * self.files(sizes).iter().sum::<usize>() as u64),
        }
    }
}

impl FileSizes {
    /// The factor relative to today's sizes; the study's programs count as large as btu's.
    fn scale(self) -> usize {
        match self {
            Self::Paper => 1,
            Self::Scaled(scale) => scale.clamp(1, LARGEST_SCALE) as usize,
        }
    }

    fn document(self) -> usize {
        if self == Self::Paper { PAPER_DOCUMENT } else { self.scale() * DOCUMENT }
    }

    fn records(self, today: usize) -> usize {
        if self == Self::Paper { PAPER_RECORDS } else { self.scale() * today }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn names_are_those_of_stored_plans() {
        for task in Task::ALL {
            assert_eq!(json::to_value(&task).unwrap(), task.name());
        }
    }

    #[test]
    fn files_have_the_sizes_that_are_documented() {
        let spread = |task: Task, sizes| {
            let files = task.files(sizes);
            let (least, most) =
                (files.iter().min().copied().unwrap(), files.iter().max().copied().unwrap());
            (files.len(), least / 1024, most / 1024, files.iter().sum::<usize>() / 1024)
        };
        let today = FileSizes::Scaled(1);
        assert_eq!(spread(Task::WpLoadProgram, today), (24, 4, 32, 432));
        assert_eq!(spread(Task::FmLoadProgram, today), (12, 4, 64, 424));
        assert_eq!(spread(Task::WpSaveDocument, today), (1, 256, 256, 256));
        assert_eq!(spread(Task::FmSort, today), (1, 128, 128, 128));
        assert_eq!(spread(Task::WpSaveDocument, FileSizes::Paper), (1, 50, 50, 50));
        assert_eq!(Task::FmIndex.files(FileSizes::Paper), [161 + 500 * 128 + 1]);
        assert_eq!(spread(Task::WpLoadProgram, FileSizes::Scaled(10)), (24, 40, 320, 4320));
        // The bound holds for any stored plan.
        assert_eq!(Task::WpLoadDocument.files(FileSizes::Scaled(u32::MAX)), [64 << 18]);
    }
}
