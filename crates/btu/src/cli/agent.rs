//! The arguments of `btu hosts agent`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  command=\"btu hosts agent --stdio --policy /etc/btu/policy.toml\",restrict ssh-ed25519 AAAA...
                                                  in ~/.ssh/authorized_keys: limits what the holder
                                                  of this key can do here with `btu speed --ssh` etc.
  btu hosts agent --launched FILE                 `--launcher` and `btu hosts kubernetes` start this
  btu hosts agent --unix /run/user/1000/btu.sock  for this user, on this machine

A signal ends the agent and all its work.";

/// The arguments of `btu hosts agent`.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// Serve one connection on standard input and output, as under ssh, and exit with it
    #[arg(long, conflicts_with = "unix")]
    pub(crate) stdio: bool,
    /// Serve one job, as its launcher's process: read the bundle of --launcher from FILE, or `-` for
    /// standard input, and say `btu-agent INDEX ADDRESS PORT NODE AGENTS`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "unix"])]
    pub(crate) launched: Option<PathBuf>,
    /// This process's number in the job, from 0 [default: as Slurm, MPI or Kubernetes says]
    #[arg(long, value_name = "NUMBER", requires = "launched")]
    pub(crate) index: Option<usize>,
    /// Address on which to listen for the controller of the job [default: any address and a free
    /// port]
    #[arg(long, value_name = "ADDR[:PORT]", requires = "launched")]
    pub(crate) listen: Option<String>,
    /// Listen on a Unix socket that only this user can open
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// File that says what controllers may do with this host [default: the policy in docs/agent.md]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Name of this host in results [default: the host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
