//! A network namespace without a name: it exists as long as this handle or a process in it.
//!
//! A thread that has changed its namespace is not used again: all work here runs on new threads.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// The calling thread's network namespace.
const HERE: &str = "/proc/thread-self/ns/net";

/// An open network namespace.
#[derive(Debug)]
pub(super) struct Namespace(File);

impl Namespace {
    /// Opens the namespace of the calling thread.
    pub(super) fn here() -> io::Result<Self> {
        File::open(HERE).map(Self)
    }

    /// The namespace of an open file from the entry server.
    pub(super) fn from_key(key: OwnedFd) -> Self {
        Self(File::from(key))
    }

    /// Creates a network namespace.
    pub(super) fn new() -> io::Result<Self> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Self::here()
        })?
    }

    /// Does `work` on a thread inside the namespace. Sockets made and processes started there
    /// belong to it.
    pub(super) fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        })?
    }

    /// The handle, for the kernel.
    pub(super) fn file(&self) -> &File {
        &self.0
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("a thread in a network namespace panicked"))
    })
}
