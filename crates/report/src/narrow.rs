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

/// Blanks before the purpose of a command that has no room in its line.
const PURPOSE: usize = 6;

/// A text of sentences, and of commands that are indented by two blanks and may have their purposes next to them.
pub fn narrowed_text(text: &str, options: &TextOptions) -> String {
    let fits = text.lines().all(|line| columns(line) <= options.width);
    let purpose =
        |text: &str| narrowed(&format!("{:PURPOSE$}{}", "", text.trim()), options, PURPOSE);
    let one = |line: &str| match line.trim_start().split_once("  ") {
        // A caret below a line of a file points into it.
        _ if fits || line.contains(" | ") => vec![line.to_owned()],
        Some((command, gives)) if line.starts_with("  btu ") => {
            [narrowed_command(&format!("  {command}"), options), purpose(gives)].concat()
        }
        None if line.starts_with("  btu ") => narrowed_command(line, options),
        // A purpose goes on below its beginning.
        _ if line.starts_with(&" ".repeat(PURPOSE)) => purpose(line),
        _ => narrowed(line, options, 0),
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
        let purpose = "btu: no host\n\n  btu speed --ssh alpha      by ssh, where nothing is installed\n                             there";
        let fitted_purpose = narrowed_text(purpose, &TextOptions { colour: false, width: 32 });
        assert_eq!(
            fitted_purpose,
            "btu: no host\n\n  btu speed --ssh alpha\n      by ssh, where nothing is\n      installed\n      there"
        );
        let file = "    6 | queue = \"somewhat\"  # as it was\n      |         ^^^^^^^^^^";
        assert_eq!(narrowed_text(file, &TextOptions { colour: false, width: 32 }), file);
        // A terminal of no width is a fault of its own.
        assert_eq!(fitted(0), fitted(NARROWEST));
    }
}
