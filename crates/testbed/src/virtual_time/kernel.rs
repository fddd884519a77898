//! Where the kernel of virtual time is, and whether this process runs in one.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use btu_units::hexadecimal;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The variable that names the kernel.
const VARIABLE: &str = "BTU_KERNEL";

/// Its name next to the program, in `lib/btu` of the program's prefix, and in the user's cache.
const NAME: &str = "virtual-kernel";

/// A kernel of virtual time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The file.
    pub path: PathBuf,
}

/// There is none.
#[derive(Debug, Error)]
#[error(
    "virtual time needs a kernel of its own, and there is none at {}: build it by `scripts/virtual-kernel` of btu's sources (ten minutes), or name it by {VARIABLE}=FILE",
    .looked_at.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
)]
pub struct KernelMissing {
    looked_at: Vec<PathBuf>,
}

impl Kernel {
    /// The kernel that `$BTU_KERNEL` names; else the one next to the program, in its prefix, or in the
    /// user's cache, where `scripts/virtual-kernel` puts it.
    ///
    /// # Errors
    /// There is no such file.
    pub fn find() -> Result<Self, KernelMissing> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let program = env::current_exe().unwrap_or_default();
        let places = match set(VARIABLE) {
            Some(named) => vec![PathBuf::from(named)],
            None => places(&program, set("XDG_CACHE_HOME"), set("HOME")),
        };
        match places.iter().find(|path| path.is_file()) {
            Some(path) => Ok(Self { path: path.clone() }),
            None => Err(KernelMissing { looked_at: places }),
        }
    }

    /// The SHA-256 of the file, in hexadecimal digits: who repeats a run needs the same kernel.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn digest(&self) -> io::Result<String> {
        Ok(hexadecimal(&Sha256::digest(fs::read(&self.path)?)))
    }
}

fn places(program: &Path, cache: Option<OsString>, home: Option<OsString>) -> Vec<PathBuf> {
    let directory = program.parent();
    let prefix = directory.and_then(Path::parent);
    let cache = cache.map(PathBuf::from).or_else(|| Some(PathBuf::from(home?).join(".cache")));
    [
        directory.map(|place| place.join(NAME)),
        prefix.map(|place| place.join("lib/btu").join(NAME)),
        cache.map(|place| place.join("btu").join(NAME)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether this process runs in virtual time: then the clock stands still while anything computes,
/// and a sleeper wakes at the very nanosecond.
pub fn is_virtual() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        fs::read_to_string("/proc/cmdline").is_ok_and(|line| has_virtual_time(&line))
    })
}

fn has_virtual_time(command_line: &str) -> bool {
    command_line.split_whitespace().any(|word| word.starts_with("time-travel="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_looked_for_next_to_the_program_in_its_prefix_and_in_the_cache() {
        let places = |cache: Option<&str>| {
            places(Path::new("/opt/btu/bin/btu"), cache.map(OsString::from), Some("/home/a".into()))
        };
        assert_eq!(
            places(None),
            [
                "/opt/btu/bin/virtual-kernel",
                "/opt/btu/lib/btu/virtual-kernel",
                "/home/a/.cache/btu/virtual-kernel"
            ]
            .map(PathBuf::from)
        );
        assert_eq!(places(Some("/var/c"))[2], PathBuf::from("/var/c/btu/virtual-kernel"));
    }

    #[test]
    fn a_kernel_says_itself_that_its_time_is_virtual() {
        assert!(has_virtual_time("mem=512M init=/bin/btu time-travel=inf-cpu quiet"));
        assert!(!has_virtual_time("ro root=/dev/vda1 quiet no-time-travel=1"));
    }
}
