//! The arguments of `btu hosts`, and the options of every command that measures with real hosts.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use btu_contract::peers::Cidr;
use btu_control::controller::Launch;
use btu_control::trust::check_name;
use btu_network::SshDestination;
use btu_units::Span;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};

use super::{Agent, agent, data_of_environment, quantity};

pub(super) const EXAMPLES: &str = "\
What works on this host, and how do I fix the rest?
  btu hosts doctor
How do I measure with my own hosts? Over ssh, with nothing installed there:
  btu speed --ssh alpha
  btu rate --ssh alpha,beta,gamma
What is the state of all hosts of an inventory?
  btu hosts check lab.toml                        every host: version, clock, what works
How do I decide what others may do with this host?
  btu hosts agent --help                          a command for their keys in ~/.ssh/authorized_keys";

const CHECK_EXAMPLES: &str = "\
Examples:
  btu hosts check lab.toml
  btu hosts check lab.toml --json

An inventory:
  [hosts.alpha]
  role = \"test\"                  # test, active or passive, for `btu rate`
  ssh = \"user@alpha\"            # how it is reached
  measured = \"198.51.100.10\"     # its address on the measured network, if that is another one";

const KUBERNETES_EXAMPLES: &str = "\
Examples:
  btu hosts kubernetes --nodes 8 --image registry.example/btu | kubectl apply -f -
  kubectl logs --follow job/btu-controller        the result
  kubectl delete job,service,secret btu btu-controller --ignore-not-found
  btu hosts kubernetes --nodes 3 --image registry.example/btu -- rate --profile standard

The manifest holds the keys of this one job, valid for two days: pass it on, do not keep it.
`scripts/container` at the root of the sources makes the image.";

/// Hosts to measure with.
#[derive(Debug, Subcommand)]
pub(crate) enum Hosts {
    /// Contact every host of an inventory: versions, clocks, what works there, and how far apart
    /// all start
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckHosts),
    /// Let other machines measure with this host
    #[command(after_help = agent::EXAMPLES)]
    Agent(Agent),
    /// Print a manifest for Kubernetes: an agent on each node, and a job that measures with them
    #[command(after_help = KUBERNETES_EXAMPLES)]
    Kubernetes(Kubernetes),
    /// Check this host: what works, what does not, why that matters, and how to fix it
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
}

/// The arguments of `btu hosts check`.
#[derive(Debug, Args)]
pub(crate) struct CheckHosts {
    /// The inventory
    #[arg(value_name = "FILE")]
    pub(crate) inventory: PathBuf,
    #[command(flatten)]
    pub(crate) reaching: Reaching,
    /// A text that describes the run
    #[arg(long, value_name = "TEXT", value_parser = super::label)]
    pub(crate) label: Option<String>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The arguments of `btu hosts kubernetes`.
#[derive(Debug, Args)]
pub(crate) struct Kubernetes {
    /// How many agents, each on a separate node
    #[arg(long, value_name = "NUMBER")]
    pub(crate) nodes: usize,
    /// The image with btu
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// Name of the jobs, of the service, and of the pods before their numbers
    #[arg(long, value_name = "NAME", default_value = "btu", value_parser = label_name)]
    pub(crate) name: String,
    /// Processors of each pod
    #[arg(long, value_name = "CPUS", default_value = "2")]
    pub(crate) cpu: String,
    /// Memory of each pod
    #[arg(long, value_name = "MEMORY", default_value = "1Gi")]
    pub(crate) memory: String,
    /// Use the nodes' own network, instead of the pods'
    #[arg(long)]
    pub(crate) host_network: bool,
    /// When the cluster ends both jobs
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = quantity::<Span>)]
    pub(crate) time_limit: Span,
    /// The measuring command [default: fleet --all]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// A name as Kubernetes and certificates take it, with room for what is added to it.
fn label_name(text: &str) -> Result<String, String> {
    let is_short = text.len() <= 40 && !text.contains('.');
    let named = check_name(text).ok().filter(|_| is_short);
    named
        .map(str::to_owned)
        .ok_or_else(|| "write lower-case letters, digits and inner hyphens, at most 40".to_owned())
}

/// The hosts of `btu rate`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Real hosts")]
pub(crate) struct RatedHosts {
    /// Inventory that gives the roles test, active and passive to hosts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["test", "active", "passive", "ssh", "network"])]
    pub(crate) hosts: Option<PathBuf>,
    /// The network file's station under test
    #[arg(long, value_name = "STATION", conflicts_with = "ssh")]
    pub(crate) test: Option<String>,
    /// The first peer
    #[arg(long, value_name = "STATION", conflicts_with = "ssh")]
    pub(crate) active: Option<String>,
    /// The second peer
    #[arg(long, value_name = "STATION", conflicts_with = "ssh")]
    pub(crate) passive: Option<String>,
    /// Reach the three hosts by ssh, test first; nothing has to be installed there
    #[arg(
        long,
        value_name = "TEST,ACTIVE,PASSIVE",
        value_delimiter = ',',
        conflicts_with = "network"
    )]
    pub(crate) ssh: Vec<SshDestination>,
    #[command(flatten)]
    pub(crate) launching: Launching,
    #[command(flatten)]
    pub(crate) reaching: Reaching,
    /// How long btu tries to reach a lost host again before the run ends
    #[arg(long, value_name = "TIME", default_value = "2 min", value_parser = quantity::<Span>)]
    pub(crate) reconnect_timeout: Span,
}

/// The hosts of a study.
#[derive(Debug, Args)]
#[command(next_help_heading = "Real hosts")]
pub(crate) struct StudyHosts {
    /// Inventory of the hosts to measure on, instead of an emulated network on this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ssh", "network"])]
    pub(crate) hosts: Option<PathBuf>,
    /// Reach the hosts by ssh; nothing has to be installed there. With a single host this machine
    /// is the other one, as `here`
    #[arg(long, value_name = "HOST,HOST", value_delimiter = ',', conflicts_with = "network")]
    pub(crate) ssh: Vec<SshDestination>,
    #[command(flatten)]
    pub(crate) launching: Launching,
    #[command(flatten)]
    pub(crate) reaching: Reaching,
    /// How long btu tries to reach a lost host again before the run ends
    #[arg(long, value_name = "TIME", default_value = "2 min", value_parser = quantity::<Span>)]
    pub(crate) reconnect_timeout: Span,
}

impl StudyHosts {
    /// Whether the study measures on other hosts.
    pub(crate) fn is_any(&self) -> bool {
        self.hosts.is_some() || !self.ssh.is_empty() || self.launching.launcher.is_some()
    }
}

/// Hosts on which the launcher of a job starts agents.
#[derive(Debug, Args)]
pub(crate) struct Launching {
    /// Start an agent on each node of this job, and measure with those: `slurm`, or the launcher's
    /// command, such as 'mpirun -np 8'
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["hosts", "ssh", "network"])]
    pub(crate) launcher: Option<String>,
    /// The network to measure, if nodes have several, such as 10.1.0.0/16
    #[arg(long, value_name = "NETWORK", requires = "launcher", value_parser = str::parse::<Cidr>)]
    pub(crate) over: Option<Cidr>,
    /// The agents, once they were started.
    #[arg(skip)]
    pub(crate) launch: OnceCell<Arc<Launch>>,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// The directory of stored runs that is named, for options that need it: `--data` belongs to every command.
#[derive(Debug)]
pub(crate) struct Data(pub(crate) Option<PathBuf>);

impl FromArgMatches for Data {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let named = matches.try_get_one::<PathBuf>("data").ok().flatten().cloned();
        Ok(Self(named.or_else(data_of_environment)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Data {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

/// How hosts are reached.
#[derive(Debug, Args)]
pub(crate) struct Reaching {
    /// The controller's certificate and key for the agents of a job, as `btu hosts kubernetes` makes
    /// them
    #[arg(long, value_name = "FILE", env = "BTU_IDENTITY")]
    pub(crate) identity: Option<PathBuf>,
    /// The OpenSSH client
    #[arg(long, value_name = "PROGRAM", env = "BTU_SSH", default_value = "ssh")]
    pub(crate) ssh_program: PathBuf,
    /// The btu program to copy to hosts that are reached by ssh [default: this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_binary: Option<PathBuf>,
}

/// The machine of the far end, if it is another one.
#[derive(Debug, Args)]
#[command(next_help_heading = "Another machine")]
pub(crate) struct RemoteEnd {
    /// Inventory in which --to finds its host
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "local", "from", "ssh"])]
    pub(crate) hosts: Option<PathBuf>,
    /// Reach the far end by ssh; nothing has to be installed there
    #[arg(long, value_name = "HOST", conflicts_with_all = ["network", "local", "from", "to"])]
    pub(crate) ssh: Option<SshDestination>,
    #[command(flatten)]
    pub(crate) launching: Launching,
    #[command(flatten)]
    pub(crate) reaching: Reaching,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  btu hosts doctor          what works on this host, what does not, and how to fix it
  btu hosts doctor --json   the same as data

`btu hosts check FILE` shows the findings for all hosts of an inventory at once.";

/// The arguments of `btu hosts doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Directory on the disk that the disk load uses [default: `scratch` next to the stored runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
}
