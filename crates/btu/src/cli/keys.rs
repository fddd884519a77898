//! The arguments of `btu hosts keys`.

use std::path::PathBuf;

use btu_control::trust::{Role, check_name};
use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  btu hosts keys init                             once, on the machine that you measure from
  btu hosts keys issue desk --role controller     for yourself
  btu hosts keys issue alpha --role agent         for each host; copy the file there
  btu hosts keys list
  btu hosts keys revoke alpha                     and copy revoked.crl to the others

What each key allows is in docs/security.md.";

const INIT_EXAMPLES: &str = "\
Examples:
  btu hosts keys init
  btu hosts keys init --keys /media/stick/btu-keys";

const ISSUE_EXAMPLES: &str = "\
Examples:
  btu hosts keys issue alpha --role agent
  btu hosts keys issue desk --role controller --days 7 --out ~/.config/btu/desk.pem";

const REVOKE_EXAMPLES: &str = "\
Examples:
  btu hosts keys revoke alpha
  btu hosts keys revoke alpha --role agent --serial 5f0c...";

/// The arguments of `btu hosts keys`.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    // Given as text because a comment would have to mark the path as code, which the help would
    // show.
    #[arg(
        help = "Directory of the authority [default: $XDG_CONFIG_HOME/btu/keys or ~/.config/btu/keys]"
    )]
    #[arg(long, global = true, value_name = "DIR", env = "BTU_KEYS")]
    pub(crate) keys: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make the authority: a key that signs, and an empty list of revoked certificates
    #[command(after_help = INIT_EXAMPLES)]
    Init,
    /// Issue an identity: one private file with everything that a host or a controller needs
    #[command(after_help = ISSUE_EXAMPLES)]
    Issue(Issue),
    /// Revoke certificates, and sign a new list of revoked certificates
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(Revoke),
    /// List the certificates that were issued
    #[command(after_help = "Examples:\n  btu hosts keys list\n  btu hosts keys list --json")]
    List,
    /// Show an identity file without its key
    #[command(after_help = "Example:\n  btu hosts keys show alpha.agent.pem")]
    Show {
        /// The identity file
        file: PathBuf,
    },
}

/// The arguments of `btu hosts keys issue`.
#[derive(Debug, Args)]
pub(crate) struct Issue {
    /// Name of the host or of the controller
    #[arg(value_parser = name)]
    pub(crate) name: String,
    /// Role: agents take orders, controllers give them
    #[arg(long, value_enum)]
    pub(crate) role: RoleName,
    /// Number of days for which it is valid
    #[arg(long, default_value_t = 30, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: u32,
    /// File to write; an existing file is not overwritten [default: NAME.ROLE.pem here]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The arguments of `btu hosts keys revoke`.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Name in the certificates
    #[arg(value_parser = name)]
    pub(crate) name: String,
    /// Revoke only those of this role
    #[arg(long, value_enum)]
    pub(crate) role: Option<RoleName>,
    /// Revoke only the one with this serial number, as `btu hosts keys list` shows it
    #[arg(long, value_name = "NUMBER")]
    pub(crate) serial: Option<String>,
}

/// A role on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// A host, which takes orders
    Agent,
    /// A controller, which gives orders
    Controller,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Agent => Self::Agent,
            RoleName::Controller => Self::Controller,
        }
    }
}

fn name(text: &str) -> Result<String, String> {
    check_name(text).map(ToOwned::to_owned).map_err(|error| error.to_string())
}
