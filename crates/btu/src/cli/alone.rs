//! A command that stands alone although it needs more: the questions that it answers, with command
//! lines to type, as `btu` alone shows.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::Arguments;

/// What a command answers that was typed without the rest that it needs; `None` for any other
/// mistake.
pub(super) fn answer(
    command: &Command,
    line: &[OsString],
    mistake: ErrorKind,
    questions: &str,
) -> Option<String> {
    // The kind depends on whether an environment variable gives a value of an option.
    let is_short = matches!(
        mistake,
        ErrorKind::MissingSubcommand
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let words = line.iter().skip(1).filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    match words.collect::<Vec<_>>()[..] {
        // Options alone.
        [] if is_short => Some(format!("which command?\n\n{questions}")),
        [name] if is_short => introduction(command.find_subcommand(name)?, ""),
        [group, name] if is_short && mistake != ErrorKind::MissingRequiredArgument => {
            let group = command.find_subcommand(group)?;
            introduction(group.find_subcommand(name)?, &format!("{} ", group.get_name()))
        }
        _ => None,
    }
}

/// The same for a command that finds by itself that something is missing.
pub(crate) fn needs_more(name: &str) -> String {
    let command = Arguments::command();
    let found = command.find_subcommand(name);
    found.and_then(|command| introduction(command, "")).unwrap_or_default()
}

/// The purpose of a command, and its examples; `group` is the name of the command that it belongs to.
fn introduction(command: &Command, group: &str) -> Option<String> {
    let (name, about) = (format!("{group}{}", command.get_name()), command.get_about()?);
    let examples = command.get_after_long_help().or_else(|| command.get_after_help())?;
    Some(format!(
        "`btu {name}` needs more arguments.\n\n{about}:\n\n{examples}\n\n`btu help {name}` explains everything."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let mut command = Arguments::command();
        let mistake = command.try_get_matches_from_mut(&words).expect_err(line).kind();
        answer(&command, &words, mistake, "questions")
    }

    /// Every command that can do nothing alone has examples, on lines that help would not wrap.
    #[test]
    fn a_command_alone_offers_commands_to_type() {
        let mut asked = 0;
        for one in Arguments::command().get_subcommands() {
            let line = format!("btu {}", one.get_name());
            let is_complete = Arguments::command().try_get_matches_from(line.split(' ')).is_ok();
            if is_complete || one.is_hide_set() {
                continue;
            }
            asked += 1;
            let text = answered(&line).unwrap_or_else(|| panic!("{line}"));
            assert!(text.contains(&format!("\n  {line} ")), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        }
        assert!(asked >= 5, "{asked} commands");
    }

    #[test]
    fn options_without_a_command_are_answered_with_the_questions() {
        assert_eq!(answered("btu --json").as_deref(), Some("which command?\n\nquestions"));
        assert!(answered("btu net --json").is_some_and(|text| text.contains("btu net list")));
    }

    #[test]
    fn other_mistakes_keep_their_own_words() {
        for line in ["btu nett", "btu compare --across x", "btu net run", "btu internal"] {
            assert_eq!(answered(line), None, "{line}");
        }
    }
}
