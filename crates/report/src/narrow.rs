//! Texts in a terminal that is narrower than they are made for: a terminal itself would break their
//! words.

use crate::head::TextOptions;
use crate::sheet::{columns, wrap};

/// Narrower terminals count as so wide.
const NARROWEST: usize = 30;

/// Blanks before what continues a command.
const INDENT: usize = 4;

/// Ends a line of a command that goes on in the next, so that all of it can be copied.
const GOES_ON: &str = " \\";

/// A line in as many as it needs, broken between words; the later ones begin with `indent` blanks.
pub(crate) fn narrowed(line: &str, options: &TextOptions, indent: usize) -> Vec<String> {
    if columns(line) <= options.width {
        return vec![line.to_owned()];
    }
    let lines = wrap(line, options.width.max(NARROWEST), indent);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The line of a command in as many as it needs; the later ones continue it as a shell reads it.
pub(crate) fn narrowed_command(line: &str, options: &TextOptions) -> Vec<String> {
    if columns(line) <= options.width {
        return vec![line.to_owned()];
    }
    let width = options.width.max(NARROWEST) - GOES_ON.len();
    let mut lines = wrap(line, width, INDENT);
    let last = lines.len().saturating_sub(1);
    lines[..last].iter_mut().for_each(|line| line.push_str(GOES_ON));
    lines
}

/// A text of sentences, and of commands that are indented by two blanks.
pub fn narrowed_text(text: &str, options: &TextOptions) -> String {
    let one = |line: &str| {
        if line.starts_with("  btu ") {
            narrowed_command(line, options)
        } else {
            narrowed(line, options, 0)
        }
    };
    text.lines().flat_map(one).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_commands_can_be_copied() {
        let text =
            "Is my queue bloated? See one that is\n  btu speed --network home-bloated -C reno";
        let fitted = |width| narrowed_text(text, &TextOptions { colour: false, width });
        assert_eq!(fitted(80), text);
        assert_eq!(
            fitted(32),
            "Is my queue bloated? See one\nthat is\n  btu speed --network \\\n    home-bloated -C reno"
        );
        // A terminal of no width is a fault of its own.
        assert_eq!(fitted(0), fitted(NARROWEST));
    }
}
