//! The arguments of `btu net`.

use clap::{Args, Subcommand};

use super::raise::{self, Down, Exec, Run, Status, Up};
use crate::files;

/// Commands for network files and for the networks that are raised from them.
#[derive(Debug, Subcommand)]
pub(crate) enum Net {
    /// Read network files and say what they draw, or list all mistakes in them
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// List the networks of the library
    List,
    /// Print a network file of the library, as a start for your own
    #[command(after_help = "Example:\n  btu net show home-bloated > home.toml")]
    Show {
        /// Name of the network; `btu net list` lists them
        #[arg(value_name = "NETWORK")]
        name: String,
    },
    /// Start a network, run one command in one of its stations, and end the network
    #[command(after_help = raise::RUN_EXAMPLES)]
    Run(Run),
    /// Start a network that stays up
    #[command(after_help = raise::UP_EXAMPLES)]
    Up(Up),
    /// Run a command in a station of a network that is up
    #[command(after_help = raise::EXEC_EXAMPLES)]
    Exec(Exec),
    /// Show the networks that are up: stations, their processes, and the accounts of the emulator
    #[command(after_help = raise::STATUS_EXAMPLES)]
    Status(Status),
    /// Take networks down, with everything that runs in them
    #[command(after_help = raise::DOWN_EXAMPLES)]
    Down(Down),
}

pub(super) const QUESTIONS: &str = "\
Which networks are there, and how do I draw my own?
  btu net list
  btu net show home-bloated > home.toml
  btu net check home.toml                         what it draws, or every mistake in it
What does a program get in such a network?
  btu net run satellite -- ping -c 3 server       start it, run the program, end it
  btu net run home-bloated -C cubic --watch       draw queue, rate and round trip meanwhile
How do programs in several stations meet?
  btu net up home-bloated
  btu net exec laptop -- ping -c 3 server
  btu net status
  btu net down";

const CHECK_EXAMPLES: &str = "\
Examples:
  btu net check lab.toml
  btu net check laboratory-1995 --json            a network of the library, as JSON
  btu net check lab.toml --set traffic.background.load='60 %'";

/// The arguments of `btu net check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Network files, names of the library, or rates of a line; - reads standard input
    #[arg(required_unless_present = "network", value_name = "NETWORK")]
    files: Vec<String>,
    /// One more, with the option of the other commands
    #[arg(long, value_name = "RATE|FILE")]
    network: Vec<String>,
    /// Replace a value of a file, such as traffic.background.load='60 %'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
}

impl Check {
    /// All networks to check, as they were typed.
    pub(crate) fn networks(&self) -> Vec<&str> {
        self.files.iter().chain(&self.network).map(String::as_str).collect()
    }
}
