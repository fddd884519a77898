//! Virtual time: a Linux kernel that is an ordinary process (User Mode Linux, kernel document
//! "UML `HowTo`"), whose clock jumps to the next timer whenever nothing in it can run
//! (`time-travel=inf-cpu`). Computing takes no time there, so nothing that this machine does or is
//! changes a measured time.
//!
//! ```text
//! btu ... --virtual          makes a private directory with the order, starts the kernel, copies the streams
//!   the kernel                a file, an ordinary process, on one processor; its files are this machine's (hostfs)
//!     process 1               `btu internal virtual DIRECTORY`: mounts, starts the command, writes how it ended
//!       the command           btu again, without --virtual
//! ```
//!
//! The command's output goes to files in the directory: a slow reader of this process's output can
//! therefore not let the clock in there run on.

mod init;
mod kernel;
mod machine;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use init::init;
pub use kernel::{Kernel, KernelMissing, is_virtual};
pub use machine::run;

/// The name of the order's directory inside.
const INSIDE: &str = "/run/btu-virtual";

/// Serial lines of the kernel, by which the command's streams leave it or come in.
const OUTPUT: &str = "/dev/ttyS0";
const ERROR_OUTPUT: &str = "/dev/ttyS1";
const SIGNALS: &str = "/dev/ttyS2";
const INPUT: &str = "/dev/ttyS3";

/// What is to run in virtual time.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The directory in which it starts.
    pub directory: PathBuf,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The kernel's random numbers, and thereby those of all programs, follow from it.
    pub seed: u64,
    /// Where its standard streams go.
    pub streams: Streams,
}

/// The standard streams of a command.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Streams {
    /// Whether it reads this process's standard input; else it has none.
    pub input: bool,
    /// Whether its standard output is shown; else it is dropped.
    pub output: bool,
    /// Lines and columns, where standard output is a terminal.
    pub terminal: Option<(u16, u16)>,
    /// The same of standard error.
    pub error_terminal: Option<(u16, u16)>,
    /// Whether both are one file or terminal, so that their order is to be kept.
    pub are_one: bool,
}

impl Order {
    /// The directory of the order as the command sees it.
    pub fn directory_inside() -> &'static Path {
        Path::new(INSIDE)
    }
}

/// The files of an order in its directory.
fn order_file(directory: &Path) -> PathBuf {
    directory.join("order")
}

/// Exists when process 1 listens to its lines: what was sent before would not wake it.
fn listening_file(directory: &Path) -> PathBuf {
    directory.join("listening")
}

fn ending_file(directory: &Path) -> PathBuf {
    directory.join("ending")
}
