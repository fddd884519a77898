//! What the foreground station does: the seven tasks of Figure 3, on files of ours, since the study does not say how large its
//! own were.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Octets that a program reads or writes at a time.
pub const BLOCK: usize = 4096;

/// Octets of a record of the file manager's.
pub const RECORD: usize = 128;

/// Octets of a record's key, at its beginning.
pub const KEY: usize = 16;

/// Octets of the word processor's document: of a book's chapter.
const DOCUMENT: usize = 64 * BLOCK;

/// Records of the file that is searched and of the one that is sorted.
const SEARCHED: usize = 2048;
const SORTED: usize = 1024;

/// A task of the word processor (`wp`) or the file manager (`fm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Looks at, opens and reads 24 files of 4 to 32 KiB: a program and its overlays.
    WpLoadProgram,
    /// Looks at, opens and reads a document of 256 KiB.
    WpLoadDocument,
    /// Writes the document under another name, flushes it, and gives it the old one's name.
    WpSaveDocument,
    /// Looks at, opens and reads 12 files of 4 to 64 KiB.
    FmLoadProgram,
    /// Reads 2048 records of 128 octets until it finds the key of the last one.
    FmSerialSearch,
    /// Reads 1024 records, sorts them by their keys, writes them to another file and flushes it.
    FmSort,
    /// Reads 1024 records, and writes their keys in order, each with its record's number, to an index, and flushes it.
    FmIndex,
}

/// What a task does with its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Reads all of them.
    Load,
    /// Writes the first anew.
    Save,
    /// Reads the first until it has found its last record.
    Search,
    /// Reads the first and writes its records in order.
    Sort,
    /// Reads the first and writes its keys in order.
    Index,
}

impl Task {
    /// All of them, in the order of Figure 3.
    pub const ALL: [Self; 7] = [
        Self::WpLoadProgram,
        Self::WpLoadDocument,
        Self::WpSaveDocument,
        Self::FmLoadProgram,
        Self::FmSerialSearch,
        Self::FmSort,
        Self::FmIndex,
    ];

    /// What it is called on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WpLoadProgram => "wp-load-program",
            Self::WpLoadDocument => "wp-load-document",
            Self::WpSaveDocument => "wp-save-document",
            Self::FmLoadProgram => "fm-load-program",
            Self::FmSerialSearch => "fm-serial-search",
            Self::FmSort => "fm-sort",
            Self::FmIndex => "fm-index",
        }
    }

    /// What it does with its files.
    pub const fn doing(self) -> Doing {
        match self {
            Self::WpLoadProgram | Self::WpLoadDocument | Self::FmLoadProgram => Doing::Load,
            Self::WpSaveDocument => Doing::Save,
            Self::FmSerialSearch => Doing::Search,
            Self::FmSort => Doing::Sort,
            Self::FmIndex => Doing::Index,
        }
    }

    /// The sizes of the files that are there before, in octets and in the order in which they are used.
    pub fn files(self) -> Vec<usize> {
        match self {
            // 5 and 7 have no factor in common with the number of sizes: each comes as often, and neighbours differ.
            Self::WpLoadProgram => (0..24).map(|file| BLOCK * (1 + 5 * file % 8)).collect(),
            Self::FmLoadProgram => (0..12).map(|file| BLOCK * (1 + 7 * file % 16)).collect(),
            Self::WpLoadDocument | Self::WpSaveDocument => vec![DOCUMENT],
            Self::FmSerialSearch => vec![SEARCHED * RECORD],
            Self::FmSort | Self::FmIndex => vec![SORTED * RECORD],
        }
    }

    /// Most octets of all its files together, what it writes among them.
    pub fn room(self) -> u64 {
        2 * self.files().iter().sum::<usize>() as u64
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_stored_plans() {
        for task in Task::ALL {
            assert_eq!(serde_json::to_value(task).unwrap(), task.name());
        }
    }

    #[test]
    fn files_have_the_sizes_that_are_documented() {
        let spread = |task: Task| {
            let files = task.files();
            let least = files.iter().min().copied().unwrap() / 1024;
            (files.len(), least, files.iter().max().copied().unwrap() / 1024, files.iter().sum::<usize>() / 1024)
        };
        assert_eq!(spread(Task::WpLoadProgram), (24, 4, 32, 432));
        assert_eq!(spread(Task::FmLoadProgram), (12, 4, 64, 424));
        assert_eq!(spread(Task::WpSaveDocument), (1, 256, 256, 256));
        assert_eq!(spread(Task::FmSort), (1, 128, 128, 128));
    }
}
