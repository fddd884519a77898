//! The arguments of `btu hosts agent`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu hosts agent --pair                          a quick try; prints a code for the controller
  btu hosts agent --identity /etc/btu/alpha.pem   for controllers of the same authority (btu hosts keys)
  btu hosts agent --identity alpha.pem --policy policy.toml --revoked revoked.crl
  btu hosts agent --unix /run/user/1000/btu.sock  for this user, on this machine
  ssh alpha btu hosts agent --stdio               `btu rate --ssh` starts this by itself

SIGHUP reads the policy, the identity and the revocations again; SIGTERM ends the agent and all
its work.";

/// The arguments of `btu hosts agent`.
#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// Address on which to listen for controllers with a certificate or the pairing code [default:
    /// any address, port 7417]
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with_all = ["stdio", "unix"])]
    pub(crate) listen: Option<String>,
    /// The agent's identity, as `btu hosts keys issue NAME --role agent` wrote it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pair", "stdio", "unix"])]
    pub(crate) identity: Option<PathBuf>,
    /// The authority's list of revoked certificates
    #[arg(long, value_name = "FILE", requires = "identity")]
    pub(crate) revoked: Option<PathBuf>,
    /// Print a one-time code, and serve the one controller that has this code
    #[arg(long, conflicts_with_all = ["stdio", "unix"])]
    pub(crate) pair: bool,
    /// Serve one connection on standard input and output, as under ssh, and end with it
    #[arg(long, conflicts_with = "unix")]
    pub(crate) stdio: bool,
    /// Serve one job, as its launcher's process: read the bundle of --launcher from FILE, or `-` for
    /// standard input, and say `btu-agent INDEX ADDRESS PORT NODE AGENTS`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "unix", "identity", "pair"])]
    pub(crate) launched: Option<PathBuf>,
    /// This process's number in the job, from 0 [default: as Slurm, MPI or Kubernetes says]
    #[arg(long, value_name = "NUMBER", requires = "launched")]
    pub(crate) index: Option<usize>,
    /// Listen on a Unix socket that only this user can open
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    /// File that says what controllers may do with this host [default: the policy in docs/agent.md]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Name of this host in results [default: the host's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
