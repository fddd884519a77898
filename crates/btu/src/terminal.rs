//! What the terminal can show.

use std::io::{IsTerminal, stdout};

/// Columns of the text output when it does not go to a terminal.
const DEFAULT_COLUMNS: usize = 100;

/// Whether standard output takes colour (<https://no-color.org>).
pub(crate) fn colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && !refused && !dumb
}

/// Width of the text output in columns.
pub(crate) fn columns() -> usize {
    let size = stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map_or(DEFAULT_COLUMNS, |(width, _)| usize::from(width.0))
}
