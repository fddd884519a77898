//! The system calls about capabilities, which the C library does not wrap.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::ptr;

/// `_LINUX_CAPABILITY_VERSION_3` of `linux/capability.h`: sets of 64 bits, in two halves.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    /// Zero is the calling thread.
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The calling thread's sets, a bit for each capability.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sets {
    pub(super) effective: u64,
    pub(super) permitted: u64,
    pub(super) inheritable: u64,
}

impl Sets {
    pub(super) fn here() -> io::Result<Self> {
        let mut header = Header { version: VERSION, pid: 0 };
        let mut halves = [Half::default(); 2];
        // SAFETY: both point to what capget(2) reads and writes for this version: a header and two
        // halves.
        if unsafe { libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let whole = |part: fn(&Half) -> u32| {
            u64::from(part(&halves[0])) | u64::from(part(&halves[1])) << 32
        };
        Ok(Self {
            effective: whole(|half| half.effective),
            permitted: whole(|half| half.permitted),
            inheritable: whole(|half| half.inheritable),
        })
    }

    pub(super) fn set(self) -> io::Result<()> {
        let mut header = Header { version: VERSION, pid: 0 };
        let half = |shift: u32| Half {
            effective: (self.effective >> shift) as u32,
            permitted: (self.permitted >> shift) as u32,
            inheritable: (self.inheritable >> shift) as u32,
        };
        let halves = [half(0), half(32)];
        // SAFETY: both point to what capset(2) reads for this version: a header and two halves.
        match unsafe { libc::syscall(libc::SYS_capset, &raw mut header, halves.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Bounds the capabilities of programs that the calling thread starts (`PR_CAPBSET_DROP`(2const)).
pub(super) fn bound(kept: u64) -> io::Result<()> {
    const UNUSED: libc::c_ulong = 0;
    for number in (0..u64::from(u64::BITS)).filter(|number| kept >> number & 1 == 0) {
        // SAFETY: prctl(2) reads these numbers and touches no memory.
        let dropped = unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, number as libc::c_ulong, UNUSED, UNUSED, UNUSED)
        };
        // Beyond the last that this kernel knows.
        if dropped != 0 && io::Error::last_os_error().kind() != io::ErrorKind::InvalidInput {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether a program's file gives capabilities to the user who starts it.
pub(super) fn has_file_capabilities(path: &CStr) -> bool {
    // SAFETY: both are strings that end with a zero; with a size of zero, getxattr(2) only tells
    // how long the value is.
    unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), ptr::null_mut(), 0) > 0
    }
}

/// Those of these that the calling thread passes to every program that it starts.
pub(super) fn ambient(of: u64) -> u64 {
    // All of them in the width that the kernel reads, since the C function takes any.
    const ASK: libc::c_ulong = libc::PR_CAP_AMBIENT_IS_SET as libc::c_ulong;
    const UNUSED: libc::c_ulong = 0;
    let is_set = |number: &u32| {
        let number = libc::c_ulong::from(*number);
        // SAFETY: prctl(2) reads these numbers and touches no memory.
        unsafe { libc::prctl(libc::PR_CAP_AMBIENT, ASK, number, UNUSED, UNUSED) == 1 }
    };
    (0..u64::BITS)
        .filter(|number| of >> number & 1 == 1)
        .filter(is_set)
        .map(|number| 1 << number)
        .sum()
}
