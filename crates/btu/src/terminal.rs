//! The properties of the terminal, and the output of results.

use std::io::{IsTerminal, Write, stderr, stdin, stdout};

use anyhow::Context as _;
use btu_contract::json;
use btu_report::{TextOptions, narrowed_text};
use btu_testbed::note;
use btu_units::shell_word;
use serde::Serialize;

/// Columns of the text output when it does not go to a terminal.
const DEFAULT_COLUMNS: usize = 100;

/// Whether standard output takes colour (<https://no-color.org>).
pub(crate) fn colour() -> bool {
    colour_of(&stdout())
}

/// Whether this output does.
pub(crate) fn colour_of(output: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    output.is_terminal() && !refused && !dumb
}

/// Width of the text output in columns.
pub(crate) fn columns() -> usize {
    let size = stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map_or(DEFAULT_COLUMNS, |(width, _)| usize::from(width.0))
}

/// A text for standard error: a terminal there would break words.
pub(crate) fn fitted_to_errors(text: String) -> String {
    match terminal_size::terminal_size_of(stderr()) {
        Some((width, _)) => {
            narrowed_text(&text, &TextOptions { colour: false, width: usize::from(width.0) })
        }
        None => text,
    }
}

/// The style of texts on standard output.
pub(crate) fn text_options() -> TextOptions {
    TextOptions { colour: colour(), width: columns() }
}

/// The style of a text in which each line is an entry: programs that read it need whole entries.
pub(crate) fn line_options() -> TextOptions {
    let width = if stdout().is_terminal() { columns() } else { usize::from(u16::MAX) };
    TextOptions { width, ..text_options() }
}

/// The style of texts in a file.
pub(crate) fn file_options() -> TextOptions {
    TextOptions { colour: false, width: DEFAULT_COLUMNS }
}

/// The command of the user, in a form for typing again.
pub(crate) fn again() -> String {
    let words = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()));
    std::iter::once("btu".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Whether a question reaches a user.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether the user says yes to a question.
pub(crate) fn asks(question: &str) -> anyhow::Result<bool> {
    note::write(format_args!("{question}"));
    let mut answer = String::new();
    stdin().read_line(&mut answer).context("reading the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Prints a result as JSON, indented for readers.
pub(crate) fn print_json<T: Serialize + ?Sized>(value: &T) -> anyhow::Result<()> {
    print(&json::indented(value)?)
}

/// Prints a result. Writing can fail: standard output may be a pipe that no process reads any more.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut output = stdout().lock();
    writeln!(output, "{}", text.trim_end())?;
    Ok(output.flush()?)
}
