//! The arguments of `btu runs machine`.

use btu_contract::price::Price;
use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu runs machine list                                 machines of the stored runs, and this one
  btu runs machine set --name attic --price '1200 EUR'  this machine";

const SET_EXAMPLES: &str = "\
Examples:
  btu runs machine set --name attic --price '1200 EUR'  this machine
  btu runs machine set mf0ae38c7 --price '899.50 USD'
  btu runs machine set attic --no-price";

/// The arguments of `btu runs machine`.
#[derive(Debug, Subcommand)]
pub(crate) enum Machine {
    /// List the machines of the stored runs, and this one
    #[command(after_help = "Examples:\n  btu runs machine list\n  btu runs machine list --json")]
    List,
    /// Give a machine a name or a price
    #[command(after_help = SET_EXAMPLES)]
    Set(SetMachine),
}

/// The arguments of `btu runs machine set`.
#[derive(Debug, Args)]
pub(crate) struct SetMachine {
    /// The machine: `this`, or a key or a name that `btu runs machine list` shows
    #[arg(default_value = "this")]
    pub(crate) machine: String,
    /// New name of the machine
    #[arg(long, value_name = "WORD", value_parser = name, required_unless_present_any = ["price", "no_price"])]
    pub(crate) name: Option<String>,
    /// Price with currency
    #[arg(long, value_name = "PRICE")]
    pub(crate) price: Option<Price>,
    /// Remove the price
    #[arg(long, conflicts_with = "price")]
    pub(crate) no_price: bool,
}

/// Longest name, in columns of a table.
const LONGEST_NAME: usize = 40;

fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_NAME || text.chars().any(char::is_control)
    {
        return Err(format!("a name has 1 to {LONGEST_NAME} characters on one line"));
    }
    if text == "this" {
        return Err("`this` means the machine that btu runs on: choose another name".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_table() {
        assert_eq!(name(" attic "), Ok("attic".to_owned()));
        for text in ["", " ", "a\nb", "this", &"x".repeat(41)] {
            assert!(name(text).is_err(), "{text:?}");
        }
    }
}
