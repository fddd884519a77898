//! The arguments of the command line.

mod agent;
mod alone;
mod archive;
mod board;
mod compare;
pub(crate) mod congestion;
mod help;
mod history;
mod hosts;
mod iperf3;
mod machine;
mod mistake;
mod model;
mod model_check;
mod negative;
mod net;
mod publish;
mod raise;
mod rank;
mod report;
mod resume;
mod sim;
mod study;
mod subject;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use btu_contract::activity::Receiving;
use btu_report::narrowed_text;
use btu_units::text_of_octets;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::StudyCommand;

pub(crate) use agent::Agent;
pub(crate) use alone::needs_more;
pub(crate) use archive::{Export, Import, Remove, TAG, Tag};
pub(crate) use board::Board;
pub(crate) use compare::{Compare, Format as CompareFormat};
pub(crate) use congestion::Congestion;
pub(crate) use history::History;
pub(crate) use hosts::{
    CheckHosts, Doctor, Hosts, Kubernetes, Launching, RatedHosts, Reaching, RemoteEnd, StudyHosts,
};
pub(crate) use iperf3::Iperf3;
pub(crate) use machine::{Machine, SetMachine};
pub(crate) use model::{By, Model};
pub(crate) use model_check::{CheckOptions, ComparedAnswer};
pub(crate) use net::{Check, Net};
pub(crate) use publish::Publish;
pub(crate) use raise::{Down, Exec, Raising, Run, Status, Up};
pub(crate) use rank::Rank;
pub(crate) use report::{Format, Report};
pub(crate) use resume::Resuming;
pub(crate) use sim::Sim;
pub(crate) use study::{StudyOptions, TimeLimit, measuring_time, or_usual};
pub(crate) use subject::{Subject, Subjects};
pub(crate) use watch::Watch;

use crate::exit::Refusal;
use crate::terminal::text_options;

/// Reads the command line. Ends the process if clap reports a mistake or prints help.
pub(crate) fn read() -> Result<Arguments, Refusal> {
    if std::env::args_os().len() <= 1 {
        // A user who types the name alone wants to know its use. A reader that has gone
        // away is no error.
        let _ = writeln!(std::io::stdout(), "{}", narrowed_text(QUESTIONS, &text_options()));
        std::process::exit(0);
    }
    let line: Vec<OsString> = std::env::args_os().collect();
    if let Some(arguments) = internal(&line) {
        return Ok(arguments);
    }
    let mut command = whole();
    let matches = match negative::matches(&mut command, line.clone()) {
        Ok(matches) => matches,
        Err(error) => match alone::answer(&command, &line, error.kind(), QUESTIONS) {
            Some(offer) => return Err(Refusal::Usage(offer)),
            None if error.kind() == ErrorKind::InvalidUtf8 => {
                return Err(Refusal::Usage(not_a_text(&line)));
            }
            None => mistake::advised(&command, error).exit(),
        },
    };
    resume::check(&command, &matches)?;
    let mut arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    arguments.common.data = arguments.common.data.or_else(data_of_environment);
    Ok(arguments)
}

/// The directory of stored runs that the environment names.
fn data_of_environment() -> Option<PathBuf> {
    std::env::var_os("BTU_DATA").filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// The commands with everything that help says of them.
pub(crate) fn whole() -> clap::Command {
    help::arranged(Arguments::command())
}

/// The arguments of a process that btu starts by itself; `None` for any other command line. Every cell
/// starts such processes, so they do not make the options of all commands.
fn internal(line: &[OsString]) -> Option<Arguments> {
    let (_, own) = line.split_first()?;
    own.first().filter(|word| word.as_os_str() == "internal")?;
    let command = clap::Command::new("btu internal").subcommand_required(true);
    let matches = Internal::augment_subcommands(command).get_matches_from(own);
    let part = Internal::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    Some(Arguments { common: Common { data: None, json: false }, command: Command::Internal(part) })
}

/// Which word of the command line is no text, where a text is needed.
fn not_a_text(line: &[OsString]) -> String {
    let word = line.iter().find(|word| word.to_str().is_none()).cloned().unwrap_or_default();
    format!(
        "the argument {} is not UTF-8 text: only names of files, and commands after --, may be any octets",
        word.display().to_string().escape_default()
    )
}

/// The output of `btu` without arguments.
const QUESTIONS: &str = "\
btu: Bits To the User, what a network really delivers

How fast is it to that host? (A second machine with ssh: rented, or a friend's)
  btu speed --ssh HOST
Is my queue bloated? See one that is (home-fq-codel has a fair one):
  btu speed --network home-bloated --from laptop --to server -C reno
Did the upgrade hurt? Measure old and new in turns, three of each, and compare:
  btu rate --tag before
  btu rate --tag after
  btu compare tag:before tag:after
Which machine is best? Measure each, and rank them:
  btu rank
What will a transfer take, and what limits it?
  btu model '50 Mb/s' --transfer '100 MB' --delay '20 ms'

`btu help` lists all commands, `btu help COMMAND` explains one with examples.";

const MORE: &str =
    "`btu help COMMAND` explains a command with examples, `btu --help` has the exit codes.";

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the run failed, or nothing of it counts; its stored cells are kept
  2    the command line or a network file is wrong, or names a run that does not exist
  3    this machine cannot do this (namespaces, disk, directories); nothing was started
  4    --fail-if-slower of `btu compare` or `btu run` found a result slower than allowed, or
       --fail-if-slow of `btu fleet` a slow host
  130  stopped by Ctrl-C; the run can be resumed
  143  stopped by SIGTERM or SIGHUP; the run can be resumed";

/// Bits To the User: what an application really gets from a machine and its network while the
/// machine is busy.
#[derive(Debug, Parser)]
#[command(name = "btu", version, max_term_width = 100)]
#[command(after_help = MORE, after_long_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    // Given as text because a comment would have to mark the path as code, which the help would
    // show.
    #[arg(
        help = "Directory of the stored runs [default: $BTU_DATA, $XDG_DATA_HOME/btu or ~/.local/share/btu]"
    )]
    // Not `env` of clap, whose usage lines would show the option as one that was typed.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Common {
    /// Refuses `--json` where no result is printed; `why` says what is.
    pub(crate) fn no_json(&self, why: &str) -> Result<(), Refusal> {
        if self.json {
            return Err(Refusal::Usage(format!("--json: {why}, so leave it out")));
        }
        Ok(())
    }
}

/// The commands of btu.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Measure(StudyCommand),
    /// Predict the performance of a network file's traffic by closed forms, before anything is
    /// measured
    #[command(after_help = model::EXAMPLES)]
    Model(Box<Model>),
    /// Simulate the network of a network file, in virtual time
    #[command(after_help = sim::EXAMPLES)]
    Sim(Sim),
    /// Check hosts, and run the agent through which other machines measure with this one
    #[command(subcommand, after_help = hosts::EXAMPLES)]
    Hosts(Hosts),
    /// Serve iperf3's clients, many at a time
    #[command(after_help = iperf3::EXAMPLES)]
    Iperf3(Iperf3),
    /// Check network files, and run programs in the networks that they describe
    #[command(subcommand, after_help = net::QUESTIONS)]
    Net(Net),
    /// List the stored runs; tag, delete, export and import them
    #[command(after_help = RUNS_EXAMPLES)]
    Runs(Runs),
    /// Show the result of a stored run
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Compare stored runs: how much faster or slower, and how sure that is
    #[command(after_help = compare::EXAMPLES)]
    Compare(Compare),
    /// Write a report of a stored run: one self-contained HTML file, or another format
    #[command(after_help = report::EXAMPLES)]
    Report(Report),
    /// Measure on a schedule, keep every run, and serve the newest numbers to Prometheus
    #[command(after_help = watch::EXAMPLES)]
    Watch(Watch),
    /// Rank machines by their stored runs, with price and configuration
    #[command(after_help = rank::EXAMPLES)]
    Rank(Rank),
    /// Publish a rating on a board: signed, without names of hosts, users and files
    #[command(after_help = publish::EXAMPLES)]
    Publish(Box<Publish>),
    /// Show the tables of the papers behind btu, as printed
    #[command(after_help = history::EXAMPLES)]
    History(History),
    /// Print a script that completes btu's commands in a shell
    #[command(
        hide = true,
        after_help = "Example:\n  btu completions bash > ~/.local/share/bash-completion/completions/btu"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    #[command(hide = true, after_help = "Example:\n  btu man ~/.local/share/man/man1")]
    Man {
        /// Existing directory to write them to
        directory: PathBuf,
    },
    /// Processes that btu starts by itself
    #[command(subcommand, hide = true)]
    Internal(Internal),
}

const RUNS_EXAMPLES: &str = "\
Examples:
  btu runs                                        what is stored, the newest last
  btu runs --tag nightly
  btu runs tag r4 nightly                         a word by which to find it again
  btu runs export tag:nightly -o nightly.btu      to another machine: btu runs import nightly.btu
  btu runs rm r4 r5
  btu runs machine list                           the machines of the stored runs";

const SHOW_EXAMPLES: &str = "\
Examples:
  btu show                the newest run
  btu show r12 --all      every table
  btu show r12 --explain-variance
  btu show r12 --cells    every measured cell
  btu show r12 --json     everything that was computed, as JSON";

/// A profile: how long and how often to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// A few minutes: a first look
    Quick,
    /// Half an hour or more: numbers to work with
    Standard,
    /// Hours: numbers to publish
    Full,
}

impl ProfileName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// The option of every command with bulk streams.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// How receivers of bulk streams read: `plain` makes one call for each message and waits in it;
    /// `batched` reads everything that has arrived, then nothing for 0.1 to 4 ms
    #[arg(long, default_value = "plain", value_parser = one_of(Receiving::ALL, Receiving::name))]
    pub(crate) receive: Receiving,
}

/// Options that name a run, of every command that makes one.
#[derive(Debug, Default, Args)]
pub(crate) struct Naming {
    /// A text that describes the run
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,
    /// Tags of the run, as with `btu runs tag`
    #[arg(long, value_name = "TAG", value_delimiter = ',', value_parser = tag)]
    pub(crate) tag: Vec<String>,
}

/// The arguments of `btu runs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Runs {
    /// List only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
}

/// What to do with stored runs; without any, they are listed.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Give tags to a run, or remove them
    #[command(after_help = archive::TAG_EXAMPLES)]
    Tag(Tag),
    /// Delete runs with all their raw data
    #[command(after_help = archive::RM_EXAMPLES)]
    Rm(Remove),
    /// Write runs to one file, to keep them or to copy them to another machine
    #[command(after_help = archive::EXPORT_EXAMPLES)]
    Export(Export),
    /// Store the runs of a file: of btu, iperf3, Flent or hyperfine
    #[command(after_help = archive::IMPORT_EXAMPLES)]
    Import(Import),
    /// List machines, and give them names and prices
    #[command(subcommand, after_help = machine::EXAMPLES)]
    Machine(Machine),
}

/// The arguments of `btu show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Which run: r12, latest, or the beginning of its uuid
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Show every measured cell with its faults
    #[arg(long, conflicts_with_all = ["all", "explain_variance"])]
    pub(crate) cells: bool,
    /// Print every number as a gauge in the text format of `OpenMetrics`, for Prometheus
    #[arg(long, conflicts_with_all = ["all", "explain_variance", "cells"])]
    pub(crate) openmetrics: bool,
    #[command(flatten)]
    pub(crate) tables: Tables,
}

/// Options that choose how much of a result is printed as text.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Tables {
    /// Show every table, not only the first screen
    #[arg(long)]
    pub(crate) all: bool,
    /// Show where the spread of a `btu rate` run comes from: blocks, repetitions, changes within
    /// cells, and what varies together with it
    #[arg(long, conflicts_with = "all")]
    pub(crate) explain_variance: bool,
}

/// Processes that btu starts by itself. They are not for users and may change at any time.
#[derive(Debug, Subcommand)]
pub(crate) enum Internal {
    /// Creates the namespaces of a testbed
    Testbed,
    /// Keeps a network of `btu net up` running
    Keep,
    /// Enters a station and runs a command there
    Enter {
        /// The network's runtime directory
        directory: PathBuf,
        /// The name of the station
        station: String,
        /// The command and its arguments
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Makes a process namespace for a program in the current station
    Programs {
        /// The directory with a subdirectory for each program
        directory: PathBuf,
    },
    /// Supervises a program, as process 1 of its namespace
    Supervisor {
        /// The directory with a subdirectory for each program
        directory: PathBuf,
    },
    /// Sends packets in the stations of the current network
    Offer {
        /// The network's runtime directory
        directory: PathBuf,
        /// The file with the order
        order: PathBuf,
        /// The number of the replication, from 0
        number: u32,
    },
    /// Process 1 of the testbed
    Init,
    /// Process 1 of a kernel in virtual time
    Virtual {
        /// The directory of the order
        directory: PathBuf,
    },
    /// The emulator: carries frames between stations
    Wire {
        /// The Unix socket on which it takes orders
        #[arg(long)]
        socket: PathBuf,
    },
    /// Becomes the launcher of a job's agents
    Launcher {
        /// The command and its arguments
        #[arg(last = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// The agent of a station
    Agent {
        /// The name of the station
        #[arg(long)]
        station: String,
        /// The Unix socket on which it listens
        #[arg(long)]
        socket: PathBuf,
    },
    /// Performs one activity, which it reads from standard input
    Worker,
}

/// A parser of the names of `all`, which `--help` lists.
pub(crate) fn one_of<T: std::marker::Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name))
        .try_map(move |text| all.into_iter().find(|one| name(*one) == text).ok_or("no such value"))
}

pub(crate) fn quantity<T: std::str::FromStr<Err = btu_units::ParseError>>(
    text: &str,
) -> Result<T, String> {
    text.parse().map_err(|error: btu_units::ParseError| error.to_string())
}

/// A parser of names of files and words of commands: any octets.
pub(crate) fn octets() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| text_of_octets(word.as_bytes()))
}

pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!("`{text}` is not a share: write 1% or 0.01, at least 0 and below 1")),
    }
}

pub(crate) fn label(text: &str) -> Result<String, String> {
    btu_store::check_label(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

fn tag(text: &str) -> Result<String, String> {
    btu_store::check_tag(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "../tests/support/console.rs"]
mod console;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// Every command in README and docs is a valid command line of this program.
    /// `tests/commands/documents.rs` runs those that need neither hosts nor time.
    #[test]
    fn every_command_line_of_the_documents_can_be_read() {
        let commands = console::commands();
        assert!(
            commands.iter().filter(|written| written.is_whole).count() > 80,
            "{}",
            commands.len()
        );
        let mut wrong = Vec::new();
        for written in &commands {
            let words = std::iter::once("btu").chain(written.arguments.iter().map(String::as_str));
            if let Err(error) = Arguments::try_parse_from(words) {
                use clap::error::ErrorKind::{
                    ArgumentConflict, DisplayHelp, DisplayVersion, InvalidSubcommand,
                    UnknownArgument,
                };
                // In a sentence a command may lack required arguments, but must not have unknown
                // ones.
                let is_made_up =
                    matches!(error.kind(), UnknownArgument | InvalidSubcommand | ArgumentConflict);
                let is_help = matches!(error.kind(), DisplayHelp | DisplayVersion);
                if !is_help && (written.is_whole || is_made_up) {
                    wrong.push(format!(
                        "{}: btu {}\n{error}",
                        written.place,
                        written.arguments.join(" ")
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// The processes that btu starts get what its whole command line would give them.
    #[test]
    fn internal_processes_read_only_their_own_arguments() {
        for line in [
            "btu internal worker",
            "btu internal agent --station a --socket /s",
            "btu internal enter /d a -- cmd --data x --json",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = Arguments::try_parse_from(&words).unwrap();
            let own = internal(&words).unwrap();
            assert_eq!(format!("{:?}", own.command), format!("{:?}", whole.command), "{line}");
        }
        for line in ["btu", "btu rate", "btu net internal", "btu run -- internal"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(internal(&words).is_none(), "{line}");
        }
    }

    #[test]
    fn shares_are_read_in_both_forms() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.2"), Ok(0.2));
        for text in ["", "x", "-1%", "100%", "1", "nan"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
