//! The arguments of those commands of `btu net` that raise and use networks.

use std::ffi::OsString;
use std::path::PathBuf;

use btu_units::Span;
use clap::Args;

use super::{Congestion, Subject, measuring_time, quantity};
use crate::files;

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  btu net run lab.toml -- ping -c 3 passive       in the first station of the file
  btu net run lab.toml --at active -- bash        in another
  btu net run satellite --capture frames -- ping -c 3 far
  btu net run home-bloated -C reno --watch       draw queue, stream and requests while they run
  btu net run lab.toml --svg lab.svg -- ./load    queues and collisions over time

The exit code is the command's; 126 and 127 mean that it could not be started or was not found. To
run commands in several stations, start the network with `btu net up` and enter it with `btu net
exec`.";

pub(super) const UP_EXAMPLES: &str = "\
Examples:
  btu net up lab.toml
  btu net up home-bloated --name before
  btu net up lab.toml --set links.trunk.rate='2 Mb/s'";

pub(super) const EXEC_EXAMPLES: &str = "\
Examples:
  btu net exec active -- iperf3 -s                in the only network that is up
  btu net exec --name before laptop -- ping server
  btu net exec active                             a shell

The exit code is the command's; 126 and 127 mean that it could not be started or was not found.";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  btu net status
  btu net status --json";

pub(super) const DOWN_EXAMPLES: &str = "\
Examples:
  btu net down                                    the only network that is up
  btu net down --name before
  btu net down --all";

/// The network to raise.
#[derive(Debug, Args)]
pub(crate) struct Raising {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// One-way delay of a line that is named by its rate
    #[arg(long, value_name = "TIME", value_parser = quantity::<Span>)]
    pub(crate) delay: Option<Span>,
    /// Name of the network while it is up [default: the name in its file; with a number for `run`]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Replace a value of the file, such as links.trunk.rate='2 Mb/s'
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = files::setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Seed of loss and all other randomness [default: a new one, shown by `btu net status`]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Write the frames at each station's port to pcapng files in this directory, for Wireshark
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) congestion: Congestion,
}

/// The arguments of `btu net run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) raising: Raising,
    /// Station in which the command runs [default: the first one of the file]
    #[arg(long, value_name = "STATION")]
    pub(crate) at: Option<String>,
    /// Draw queues, collisions and the use of media over time to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Draw them in the terminal during the run; without a command, together with the rate of a TCP
    /// stream from the first station to the last and the round trip of requests
    #[arg(long)]
    pub(crate) watch: bool,
    /// Duration of that stream and those requests, if no command is given
    #[arg(long = "stream-time", short = 't', value_name = "TIME", default_value = "20 s", value_parser = measuring_time, conflicts_with = "command")]
    pub(crate) time: Span,
    /// Run in virtual time, in a kernel of its own: the same on every machine, however busy
    #[arg(long = "virtual")]
    pub(crate) in_virtual_time: bool,
    /// Do not print the emulator's accounts at the end
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present_any = ["watch", "svg"], value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of `btu net up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) raising: Raising,
}

/// The arguments of `btu net exec`.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Name of the network [default: the only one that is up]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The station
    #[arg(value_name = "STATION")]
    pub(crate) station: String,
    /// The command and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of `btu net status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Show only this network
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// The arguments of `btu net down`.
#[derive(Debug, Args)]
pub(crate) struct Down {
    /// Name of the network [default: the only one that is up]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Take all of this user's networks down
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}
