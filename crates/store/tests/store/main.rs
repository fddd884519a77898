//! The store as its users see it: complete runs, fault drills, and files of other versions.

#![allow(clippy::disallowed_methods, reason = "tests read JSON in their own way")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod archive;
mod drills;
mod files;
mod keep;
mod machines;
mod runs;
mod sample;
