//! Networks raised, taken down, refused and killed, as the superuser and as an ordinary user, with
//! the test program's processes.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod killing;
mod raising;
mod refusing;
mod support;
