//! What the allocator does with memory that is freed.
#![allow(unsafe_code)]

/// Blocks of so many bytes are mapped by themselves.
#[cfg(target_env = "gnu")]
const LARGE_BYTES: libc::c_int = 128 << 10;

/// From now on the system has large blocks back as soon as they are freed.
///
/// glibc moves its threshold for blocks of their own up to the size of what is freed (mallopt(3)): then small blocks take the
/// places of large ones, and a server that counts what it keeps has half as much again.
pub fn return_large_blocks() {
    // SAFETY: it changes a number of the allocator, under its lock.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}
