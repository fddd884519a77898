//! `btu-board`: serves a board of published runs.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use btu_board::database::Database;
use btu_board::program::Program;
use btu_board::{Board, actions, chain, router, server};
use btu_publication::PublicKey;
use clap::{Args, Parser, Subcommand};

/// A board of published runs: everything is computed again from their raw cells
#[derive(Debug, Parser)]
#[command(name = "btu-board", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: BoardCommand,
}

const EXAMPLES: &str = "\
Examples:
  btu-board serve --directory board
  btu-board serve --database postgres://board@db.example.org/board --url https://board.example.org
  btu-board check --directory board
  btu-board laboratory --directory board --name 'Example Laboratory' lab.pub
  btu-board withdraw --directory board 3f0c... --why 'measured with a changed kernel'";

/// Where everything is stored.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Stored {
    /// Directory of an embedded database; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    // Given as text because a comment would have to mark the address as one.
    #[arg(
        help = "Database of PostgreSQL, which several servers may share: postgres://USER@HOST/NAME"
    )]
    #[arg(long, value_name = "ADDRESS", env = "BTU_BOARD_DATABASE", hide_env_values = true)]
    database: Option<String>,
}

impl Stored {
    fn open(&self) -> anyhow::Result<Database> {
        Ok(match (&self.directory, &self.database) {
            (Some(directory), _) => Database::in_directory(directory)?,
            (None, Some(address)) => Database::at(address)?,
            (None, None) => bail!("name a --directory or a --database"),
        })
    }
}

#[derive(Debug, Subcommand)]
enum BoardCommand {
    /// Serve the board until it is asked to end
    Serve {
        #[command(flatten)]
        stored: Stored,
        /// Address to listen on; give readers elsewhere a proxy with TLS in front of it
        #[arg(long, default_value = "127.0.0.1:8095")]
        listen: SocketAddr,
        /// Address by which readers reach it, as publishers sign it [default: that of --listen]
        #[arg(long)]
        url: Option<String>,
        /// The program that computes [default: btu next to this program, or in PATH]
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Check the chain: whether an accepted manifest was changed or left out
    Check {
        #[command(flatten)]
        stored: Stored,
    },
    /// Make a key that of a laboratory, whose signature certifies runs
    Laboratory {
        #[command(flatten)]
        stored: Stored,
        /// Name that is shown with certified numbers
        #[arg(long)]
        name: String,
        /// File with the public key
        key: PathBuf,
    },
    /// Take no runs of a key any more
    Block {
        #[command(flatten)]
        stored: Stored,
        /// The public key, 56 letters
        key: PublicKey,
    },
    /// Withdraw a run on behalf of the board
    Withdraw {
        #[command(flatten)]
        stored: Stored,
        /// The run
        run: String,
        /// The reason, which is shown
        #[arg(long)]
        why: String,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        BoardCommand::Serve { stored, listen, url, program } => {
            serve(&stored, listen, url, program)
        }
        BoardCommand::Check { stored } => {
            let links = chain::check(&stored.open()?)?;
            print(&format!("The chain holds: {links} accepted manifests are what they were."))
        }
        BoardCommand::Laboratory { stored, name, key } => {
            let text = std::fs::read_to_string(&key);
            let text = text.with_context(|| format!("reading {}", key.display()))?;
            let key: PublicKey = text.parse()?;
            actions::appoint(&stored.open()?, &key, &name)?;
            print(&format!("Signatures of {} certify runs as {name}.", key.id()))
        }
        BoardCommand::Block { stored, key } => {
            actions::block(&stored.open()?, &key)?;
            print(&format!("No runs of {} are taken any more.", key.id()))
        }
        BoardCommand::Withdraw { stored, run, why } => {
            actions::withdraw_by_board(&stored.open()?, &run, &why)?;
            print(&format!("Run {run} is withdrawn."))
        }
    }
}

fn print(line: &str) -> anyhow::Result<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

fn serve(
    stored: &Stored,
    listen: SocketAddr,
    url: Option<String>,
    program: Option<PathBuf>,
) -> anyhow::Result<()> {
    let database = stored.open()?;
    let runtime = tokio::runtime::Runtime::new().context("starting the server")?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(listen).await;
        let listener = listener.with_context(|| format!("listening on {listen}"))?;
        let address = listener.local_addr()?;
        let url = url.unwrap_or_else(|| format!("http://{address}"));
        let url = url.trim_end_matches('/').to_owned();
        let program = Program::find(program, &url)?;
        let end = server::asked_to_end().context("waiting for signals")?;
        print(&format!("The board is at {url}/\nIt listens on {address}"))?;
        let router = router(Board::new(url, database, program));
        server::serve(listener, router, end).await;
        Ok(())
    })
}
