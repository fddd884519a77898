//! The arguments of `btu run`.

use std::path::PathBuf;

use btu_units::Span;
use clap::Args;

use crate::cli::{StudyOptions, measuring_time, octets, quantity, share};

const EXAMPLES: &str = "\
Examples:
  btu run --network home-bloated --from laptop --to server --load cpu,upload \\
          --service 'server=python3 -m http.server 80' -- curl -so /dev/null http://server/
                                    one command, alone and under each load
  btu run --network '10 Mb/s' --delay '20 ms' -- ./client --once
  btu run -C reno,bbr --network '10 Mb/s' --service 'active=iperf3 -s' -- iperf3 -c active -n 1M -R
                                    two congestion controls, in turns: which is faster, how sure
  btu run -C reno --factor network=home-fq-codel,home-bloated --from laptop --to server \\
          --load upload -- ping -c 1 server
  btu run --factor seconds=0.1,0.11 -- sleep {seconds}
  btu run experiment.toml           services, factors and values from a file
  btu run --example                 list the examples
  btu run --example queue > queue.toml; btu run queue.toml
  btu run experiment.toml --time '2 min'
                                    as many repetitions as fit into that time
  btu run experiment.toml --junit result.xml --fail-if-slower 5%
                                    for scripts: exit code 4 if a variant is slower by 5 % or more
  btu run --resume latest           finish an interrupted run

Unmodified programs run in stations of a network that btu starts on this machine, as with `btu net
exec`. `btu show`, `btu report` and `btu runs export` work with it as with every run. Exit code 1: no
repetition counts.";

/// Measure your own program, or btu's activities, on any network, under any load, with several
/// factors at once
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(arg_required_else_help = true)]
pub(crate) struct RunStudy {
    /// The experiment file, `-` for standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["command", "resume", "example"])]
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments; `{STATION}` is a station's address
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["resume", "example"],
          value_parser = octets())]
    pub(crate) command: Vec<String>,
    /// The station where the command runs [default: the first]
    #[arg(long, value_name = "STATION", requires = "command")]
    pub(crate) from: Option<String>,
    /// The other end of loads [default: the last station]
    #[arg(long, value_name = "STATION", requires = "command")]
    pub(crate) to: Option<String>,
    /// Loads; the command also runs under each of them: cpu, disk, transfer, upload, download
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "command", value_parser = load)]
    pub(crate) load: Vec<String>,
    /// Compare values of a key: `network`, a key of the network's file, or a word `{KEY}` of the
    /// command; the first value is the baseline
    #[arg(long, value_name = "KEY=VALUE,VALUE", requires = "command", value_parser = factor)]
    pub(crate) factor: Vec<(String, Vec<String>)>,
    /// Shell command of a server in a station; it is ready when it listens on a port
    #[arg(long, value_name = "STATION=COMMAND", requires = "command", value_parser = service)]
    pub(crate) service: Vec<(String, String)>,
    /// Number of repetitions of each combination [default: 5; standard profile: 15; full: 50; or
    /// the file's number]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) blocks: Option<u32>,
    /// How long to measure: btu begins repetitions while time is left, or as many as --blocks; refused
    /// if one of each row takes longer [default: `at_most` of the file]
    #[arg(long, value_name = "TIME", value_parser = measuring_time)]
    pub(crate) time: Option<Span>,
    /// Time after which btu ends the command with all its processes [default: 60 s]
    #[arg(long, value_name = "TIME", requires = "command", value_parser = quantity::<Span>)]
    pub(crate) deadline: Option<Span>,
    /// Print the command line as an experiment file, to start from
    #[arg(long, requires = "command")]
    pub(crate) as_file: bool,
    /// Print an example of an experiment file; without a name, list the examples
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub(crate) example: Option<String>,
    // Given as text because a comment would have to mark the name as code, which the help would
    // show.
    #[arg(help = "Write what was found as JUnit XML, as CI services read it")]
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Exit with code 4 when a row is slower than the baseline by this much or more, beyond chance
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_if_slower: Option<f64>,
    #[command(flatten)]
    pub(crate) study: StudyOptions,
}

/// The loads of the short form.
pub(crate) const LOADS: [&str; 5] = ["cpu", "disk", "transfer", "upload", "download"];

fn load(text: &str) -> Result<String, String> {
    if LOADS.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("there is no load `{text}`; there are {}", LOADS.join(", ")))
}

fn factor(text: &str) -> Result<(String, Vec<String>), String> {
    let parts = text.split_once('=').filter(|(key, _)| !key.trim().is_empty());
    let (key, values) = parts.ok_or_else(|| {
        format!("`{text}` is not a factor: write KEY=VALUE,VALUE, such as threads=1,4")
    })?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if values.len() < 2 || values.iter().any(String::is_empty) {
        return Err(format!(
            "`{text}` compares nothing: write two values or more, KEY=VALUE,VALUE"
        ));
    }
    Ok((key.trim().to_owned(), values))
}

fn service(text: &str) -> Result<(String, String), String> {
    let parts = text
        .split_once('=')
        .filter(|(station, command)| !station.is_empty() && !command.is_empty());
    let (station, command) =
        parts.ok_or_else(|| format!("`{text}` is not a service: write STATION=COMMAND"))?;
    Ok((station.to_owned(), command.to_owned()))
}
