//! Values below zero: clap takes the `-3s` of `--time -3s` for an option that does not exist. What the
//! value may be, the option itself says best.

use std::ffi::OsString;

use btu_units::is_negative;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Error};

/// Reads the command line. If it has an unknown option, reads it once more with negative numbers as
/// the values of the options before them.
pub(super) fn matches(command: &mut Command, line: Vec<OsString>) -> Result<ArgMatches, Error> {
    command.try_get_matches_from_mut(&line).or_else(|error| {
        if error.kind() != ErrorKind::UnknownArgument {
            return Err(error);
        }
        command.try_get_matches_from_mut(joined(line)).map_err(|second| {
            if second.kind() == ErrorKind::ValueValidation { second } else { error }
        })
    })
}

/// `--time -3s` becomes `--time=-3s`; what stands behind `--` belongs to another program.
fn joined(line: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_own = true;
    for word in line {
        is_own &= word != "--";
        let text = word.to_string_lossy();
        match joined.last_mut() {
            Some(option) if is_own && is_negative(&text) && takes_value(option) => {
                option.push("=");
                option.push(&word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Whether the next word may be this word's value.
fn takes_value(option: &OsString) -> bool {
    let option = option.to_string_lossy();
    option.starts_with('-') && !option.contains('=') && !is_negative(&option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_negative_number_behind_an_option_is_joined() {
        for (line, expected) in [
            ("btu speed -t -3s", "btu speed -t=-3s"),
            ("btu pipe --sizes -.5 --all", "btu pipe --sizes=-.5 --all"),
            ("btu speed -3s", "btu speed -3s"),
            ("btu rate --delay=-2ms -3", "btu rate --delay=-2ms -3"),
            ("btu rate --tag -x", "btu rate --tag -x"),
            ("btu run -- head -n -3", "btu run -- head -n -3"),
        ] {
            let words = joined(line.split(' ').map(OsString::from).collect());
            assert_eq!(words, expected.split(' ').map(OsString::from).collect::<Vec<_>>());
        }
    }
}
