//! What each program of the system is at its two ends.

use std::ffi::OsString;
use std::process::Command;

use super::held::MemoryFile;
use super::log::LetIn;

/// A command of the system that copies.
pub(super) struct CopyCommand {
    pub(super) program: &'static str,
    pub(super) command: Command,
    pub(super) let_in: LetIn,
    /// Its input files, which are removed with this.
    pub(super) held: Vec<MemoryFile>,
}

/// The program that serves a connection.
pub(super) struct ServingProgram {
    pub(super) program: &'static str,
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    pub(super) let_in: LetIn,
    /// Its descriptors 3 and 4, if it accepts texts without a name.
    pub(super) held: Option<[MemoryFile; 2]>,
}
