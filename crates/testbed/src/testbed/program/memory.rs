//! How little this process has in memory, since a program that it starts counts that as its own.
//!
//! Until it has become another program, a new process shares its starter's memory, and the kernel
//! counts the most that this ever was as the new one's peak (`exec_mmap` and
//! `setmax_mm_hiwater_rss` in Linux's fs/exec.c and include/linux/mm.h). Most of what this process
//! has is its own program's file, which is read again when it is needed.

use std::fs;
use std::io;
use std::ops::Range;

use btu_units::Bytes;

use super::super::sys;

/// The parts of this process's memory that files have as well. They are found once, since the kernel
/// looks at every page for that; they stay, since nothing is loaded later.
pub(super) struct Memory(Vec<Range<usize>>);

impl Memory {
    pub(super) fn new() -> Self {
        let maps = fs::read_to_string("/proc/self/smaps");
        Self(maps.map(|maps| unchanged(&maps)).unwrap_or_default())
    }

    /// Gives back what can be read again from files, and has the kernel count this process's peak from
    /// now on. Where the kernel refuses either, the peaks of programs begin higher, and [`peak`] says
    /// so.
    pub(super) fn shrink(&self) {
        for range in &self.0 {
            let _ = sys::drop_unchanged(range.clone());
        }
        // 5: the peak becomes what there is now (proc(5), /proc/pid/clear_refs).
        let _ = fs::write("/proc/self/clear_refs", "5");
    }
}

/// The most that this process had in memory since [`Memory::shrink`].
pub(super) fn peak() -> io::Result<Bytes> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let missing = || io::Error::other("/proc/self/status has no VmHWM");
    kilobytes.map(|count| Bytes::new(count * 1024)).ok_or_else(missing)
}

/// The mappings of files of which no page was ever written: what is dropped of them comes back
/// from the file as it was.
fn unchanged(maps: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in maps.lines() {
        if let Some(range) = header(line) {
            candidate = range;
        } else if let Some(changed) = line.strip_prefix("Anonymous:") {
            found.extend(candidate.take().filter(|_| changed.trim() == "0 kB"));
        }
    }
    found
}

/// What a mapping's first line says, where it is one: the addresses of a file that may be read and
/// not written there, and nothing of every other mapping.
#[allow(clippy::option_option, reason = "another line, and a mapping that is left alone")]
fn header(line: &str) -> Option<Option<Range<usize>>> {
    let mut fields = line.split_whitespace();
    let (addresses, access) = (fields.next()?, fields.next()?);
    let (start, end) = addresses.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let range = address(start)?..address(end)?;
    let is_file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
    let is_read_only = matches!(access, "r--p" | "r-xp");
    Some((is_file && is_read_only).then_some(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel writes it, without the lines between.
    const MAPS: &str = "\
561f17308000-561f18701000 r--p 00000000 fe:00 5359861      /usr/bin/btu
Rss:                6624 kB
Anonymous:             0 kB
561f18701000-561f1b8ea000 r-xp 013f8000 fe:00 5359861      /usr/bin/btu
Anonymous:             0 kB
561f1b8ea000-561f1bbb6000 r--p 045e0000 fe:00 5359861      /usr/bin/btu
Anonymous:          2864 kB
561f1bbb6000-561f1bbbf000 rw-p 048ab000 fe:00 5359861      /usr/bin/btu
Anonymous:             0 kB
561f340ec000-561f341b4000 rw-p 00000000 00:00 0            [heap]
Anonymous:           608 kB
7ff8c82dd000-7ff8c82e1000 r--p 00000000 00:00 0            [vvar]
Anonymous:             0 kB
7ff8c82e3000-7ff8c82e5000 r-xp 00000000 00:00 0            [vdso]
Anonymous:             0 kB
7ff8c8300000-7ff8c8301000 r--s 00000000 fe:00 7            /usr/share/shared
Anonymous:             0 kB
";

    #[test]
    fn only_what_a_file_has_as_well_is_dropped() {
        let expected = [0x561f_1730_8000..0x561f_1870_1000, 0x561f_1870_1000..0x561f_1b8e_a000];
        assert_eq!(unchanged(MAPS), expected);
        assert_eq!(unchanged("nothing\nAnonymous: 0 kB\n").len(), 0);
    }
}
