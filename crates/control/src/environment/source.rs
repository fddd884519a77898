//! Reads small files of a machine, real or recorded.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// The part of a file that is read: `/proc/cpuinfo` of a large machine is longer, its first
/// processor is not.
const LONGEST_BYTES: u64 = 1 << 20;

/// A file system's root: `/`, or a directory with recorded files.
#[derive(Debug)]
pub(super) struct FilesystemRoot {
    root: PathBuf,
}

impl FilesystemRoot {
    /// The files of this machine.
    pub(super) fn live() -> Self {
        Self::at(PathBuf::from("/"))
    }

    /// The machine with its files under `root`.
    pub(super) fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// A file's text without the blanks around it; `None` when it cannot be read or is empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        File::open(self.root.join(path)).ok()?.take(LONGEST_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A file that holds one whole number.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory that begin with `prefix` and a digit, in the order of their
    /// numbers.
    pub(super) fn numbered(&self, directory: &str, prefix: &str) -> Vec<String> {
        let number = |name: &str| name.strip_prefix(prefix)?.parse::<u32>().ok();
        let mut names: Vec<_> =
            self.names(directory).into_iter().filter(|name| number(name).is_some()).collect();
        names.sort_by_key(|name| number(name));
        names
    }

    /// The names in a directory; none when it cannot be read.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}
