//! What this process asks of the kernel for itself: to fail writes beyond the limit on files, and to
//! release the pages of its program from memory.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ptr::NonNull;

use nix::libc::c_int;
use nix::sys::mman::{MmapAdvise, madvise};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// From now on a write beyond the limit on the size of files (`ulimit -f`, `RLIMIT_FSIZE` in
/// setrlimit(2)) fails with an error, as every other write that fails, and
/// does not end this process by SIGXFSZ. Programs that it starts still end by that signal: the kernel
/// takes a handler away from them, and would leave them an ignored signal.
///
/// # Errors
/// None is known.
pub fn fail_beyond_limit() -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    let handler = SigHandler::Handler(nothing);
    let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler does nothing, which is safe in every state of the process.
    unsafe { sigaction(Signal::SIGXFSZ, &action) }?;
    Ok(())
}

/// Releases the code pages of this process: the kernel maps those that it needs later again from
/// the program's file, usually without reading the disk. For a process that has started and will
/// wait for long: most of the code for starting, such as reading a command line, is never needed
/// again.
///
/// # Errors
/// The kernel does not list the mappings (no /proc), or refuses.
pub fn give_back_code() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    let program = program.to_string_lossy();
    let maps = fs::read_to_string("/proc/self/maps")?;
    for (start, length) in maps.lines().filter_map(|line| code_of(&program, line)) {
        // SAFETY: a private mapping that may be executed and not written, of a file that this
        // process never writes: its pages are those of the file (position-independent code is not
        // relocated), which the kernel reads again where they are needed.
        unsafe { madvise(start, length, MmapAdvise::MADV_DONTNEED) }?;
    }
    Ok(())
}

/// The code of `program` in a line of `proc_pid_maps`(5): its start, and its length in bytes.
fn code_of(program: &str, line: &str) -> Option<(NonNull<c_void>, usize)> {
    let (range, rest) = line.split_once(' ')?;
    let path = rest.strip_prefix("r-xp ")?.splitn(4, ' ').nth(3)?.trim_start();
    let (start, end) = range.split_once('-')?;
    let [start, end] = [start, end].map(|digits| usize::from_str_radix(digits, 16).ok());
    let place = NonNull::new(std::ptr::with_exposed_provenance_mut(start?))?;
    (path == program).then_some((place, end?.checked_sub(start?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_the_program_is_found_and_nothing_else() {
        let of = |line| {
            code_of("/usr/bin/a program", line).map(|(start, length)| (start.addr().get(), length))
        };
        let code =
            "55d0a000-55d0c000 r-xp 00001000 08:01 1234                       /usr/bin/a program";
        assert_eq!(of(code), Some((0x55d0_a000, 0x2000)));
        for other in [
            "55d0a000-55d0c000 rw-p 00001000 08:01 1234                       /usr/bin/a program",
            "55d0a000-55d0c000 r--p 00001000 08:01 1234                       /usr/bin/a program",
            "55d0a000-55d0c000 r-xp 00001000 08:01 1234                       /usr/lib/libc.so.6",
            "7ffd0000-7ffd2000 r-xp 00000000 00:00 0                          [vdso]",
            "7ffd0000-7ffd2000 r-xp 00000000 00:00 0",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_given_back_leaves_memory_and_comes_again() {
        let code = || {
            let maps = fs::read_to_string("/proc/self/smaps").unwrap();
            let program = fs::read_link("/proc/self/exe").unwrap().to_string_lossy().into_owned();
            let mut lines = maps.lines().skip_while(|line| code_of(&program, line).is_none());
            let size = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
            size.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let before = code();
        give_back_code().unwrap();
        let after = code();
        assert!(after < before, "{after} of {before} kB");
    }
}
