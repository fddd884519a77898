//! What is said of an option that a command does not have.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Names the commands that have the unknown option, in place of clap's advice to write `--` before
/// it: no command takes an option as a value.
pub(super) fn advised(whole: &Command, mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.retain(|tip| !tip.to_string().starts_with("to pass "));
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let having = having(whole, "btu", option);
    if tips.is_empty() && !having.is_empty() && error.get(ContextKind::SuggestedArg).is_none() {
        let verb = if having.len() == 1 { "has" } else { "have" };
        tips.push(StyledStr::from(format!("{} {verb} {option}", having.join(", "))));
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// The commands below `command` that have this option.
fn having(command: &Command, name: &str, option: &str) -> Vec<String> {
    let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
    visible
        .flat_map(|below| {
            let name = format!("{name} {}", below.get_name());
            let mut shown = below.get_arguments().filter(|argument| !argument.is_hide_set());
            let own = shown.any(|argument| is_called(argument, option));
            let deeper = having(below, &name, option);
            own.then(|| format!("`{name}`")).into_iter().chain(deeper)
        })
        .collect()
}

/// `--name` or `-n`.
fn is_called(argument: &clap::Arg, option: &str) -> bool {
    let long = argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
    let short = argument.get_short().is_some_and(|short| option == format!("-{short}"));
    long || short
}

#[cfg(test)]
mod tests {
    use crate::cli::whole;

    fn said(line: &str) -> String {
        let mut command = whole();
        let error = command.try_get_matches_from_mut(line.split(' ')).unwrap_err();
        super::advised(&command, error).to_string()
    }

    #[test]
    fn the_commands_that_have_an_option_are_named() {
        let said_of_format = said("btu show r1 --format csv");
        assert!(said_of_format.contains("`btu report` have --format"), "{said_of_format}");
        let both = said("btu rate -4");
        assert!(both.contains("`btu speed`") && !both.contains("-- -4"), "{both}");
        let none = said("btu rate --nosuch");
        assert!(!none.contains("tip"), "{none}");
    }
}
