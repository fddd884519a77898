//! Notes to the user on standard error: the only place that writes them.
//!
//! A note is advisory. Its reader may be gone, its disk full, its terminal hung up: then the note is
//! lost, and nothing else. `eprintln!` would panic there, and end a measurement with it.

use std::fmt::Arguments;
use std::io::{Write, stderr};

use btu_units::plain_lines;

/// Writes a note without an end of line, in one call: other processes write there, too. It may repeat
/// what a peer or a file said, which must not control the terminal.
pub fn write(text: Arguments<'_>) {
    let _ = stderr().lock().write_all(plain_lines(&text.to_string()).as_bytes());
}

/// Writes a line to standard error, as `eprintln!` does, and goes on if that fails.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => {{ $crate::note::write(format_args!("{}\n", format_args!($($text)*))); }};
}
