//! Names with their descriptions, as lists for a terminal.

use std::fmt::Write as _;

use crate::head::TextOptions;
use crate::sheet::{columns, wrap};

/// The fewest columns of a description next to its name.
const LEAST: usize = 30;

/// Columns before a description below its name.
const INDENT: usize = 4;

/// A line for each name; a description that has no room goes on below itself, or, in a narrow
/// terminal, below its name. Lines end with `\n`.
pub fn names_text(rows: &[(String, String)], options: &TextOptions) -> String {
    let names = rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let room = options.width.saturating_sub(names + 2);
    let mut text = String::new();
    for (name, about) in rows {
        if room >= LEAST {
            let lines = wrap(about, room, 0).join(&format!("\n{:width$}", "", width = names + 2));
            let _ = writeln!(text, "{name:names$}  {lines}");
        } else {
            let indent = " ".repeat(INDENT);
            let lines = wrap(about, options.width.saturating_sub(INDENT), 0);
            let _ = writeln!(text, "{name}\n{indent}{}", lines.join(&format!("\n{indent}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_fits_every_terminal() {
        let about = "A home line with a modem that queues for seconds".to_owned();
        let rows = [("home-bloated".to_owned(), about), ("path".to_owned(), "A line".to_owned())];
        let text = |width| names_text(&rows, &TextOptions { colour: false, width });
        assert_eq!(
            text(120),
            "home-bloated  A home line with a modem that queues for seconds\npath          A line\n"
        );
        assert_eq!(
            text(50),
            "home-bloated  A home line with a modem that queues\n              for seconds\n\
             path          A line\n"
        );
        assert_eq!(
            text(40),
            "home-bloated\n    A home line with a modem that queues\n    for seconds\npath\n    A line\n"
        );
    }
}
