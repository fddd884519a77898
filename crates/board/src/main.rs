//! `btu-board`: serves a board of published runs.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use btu_board::actions::RemovedText;
use btu_board::database::{Absent, Database};
use btu_board::log::{self, LogForm};
use btu_board::program::Program;
use btu_board::receive::again;
use btu_board::{Board, actions, board, chain, metrics_router, router, server};
use btu_publication::PublicKey;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use rustix::fs::Mode;

/// A board of published runs: every result is recomputed from the raw cells
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
#[group(multiple = false)]
struct Stored {
    /// Directory of an embedded database, which `serve` makes
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    // Given as text because a comment would have to mark the address as one.
    #[arg(
        help = "Database of PostgreSQL, which several servers may share: postgres://USER@HOST/NAME [default: the text in \
                BTU_BOARD_DATABASE]"
    )]
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,
}

impl Stored {
    /// A board that is there.
    fn open(&self) -> anyhow::Result<Database> {
        self.open_or(Absent::Refused)
    }

    fn open_or(&self, absent: Absent) -> anyhow::Result<Database> {
        if let Some(directory) = &self.directory {
            return Ok(Database::in_directory(directory, absent)?);
        }
        if self.database.as_deref().is_some_and(has_password) {
            bail!(
                "every user of this machine can read a command line: give an address with a password in BTU_BOARD_DATABASE"
            );
        }
        let address = self.database.clone().or_else(|| std::env::var("BTU_BOARD_DATABASE").ok());
        Ok(Database::at(&address.context("name a --directory or a --database")?, absent)?)
    }
}

fn has_password(address: &str) -> bool {
    address.parse::<postgres::Config>().is_ok_and(|config| config.get_password().is_some())
}

#[derive(Debug, Subcommand)]
enum BoardCommand {
    /// Serve the board until a signal ends it
    Serve(Serving),
    /// Check the chain: whether an accepted manifest, its time, its signature or its archive was changed or left out
    Check {
        #[command(flatten)]
        stored: Stored,
        /// Also recompute every run, and compare everything stored about it, names of publishers
        /// and kept reports
        #[arg(long)]
        compute: bool,
        /// The program that computes [default: btu next to this program, or in PATH]
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Register the key of a laboratory, whose signature certifies runs
    Laboratory {
        #[command(flatten)]
        stored: Stored,
        /// Name shown with certified numbers
        #[arg(long)]
        name: String,
        /// File with the public key
        key: PathBuf,
    },
    /// Block a key: no more runs of it are accepted, and its objections and certificates do not
    /// count
    Block {
        #[command(flatten)]
        stored: Stored,
        /// The public key, 56 letters
        key: PublicKey,
    },
    /// Unblock a key
    Unblock {
        #[command(flatten)]
        stored: Stored,
        /// The public key, 56 letters
        key: PublicKey,
    },
    /// Replace a key: the new one gets the old one's runs and name, and neither the old one nor its
    /// tokens are accepted any more
    Follow {
        #[command(flatten)]
        stored: Stored,
        /// The public key used so far
        old: PublicKey,
        /// The new public key
        new: PublicKey,
    },
    /// Delete a run on behalf of the board: its place in the chain is left, its publisher's key, when it came and went, and
    /// digests by which it does not come back
    Delete {
        #[command(flatten)]
        stored: Stored,
        /// The run
        run: String,
    },
    /// Remove a text that a publisher wrote
    Remove {
        #[command(flatten)]
        stored: Stored,
        #[command(flatten)]
        text: Removed,
    },
    /// Give a run a new token, for a publisher who lost it; the old one no longer works
    Token {
        #[command(flatten)]
        stored: Stored,
        /// The run
        run: String,
    },
    /// Withdraw a run on behalf of the board
    Withdraw {
        #[command(flatten)]
        stored: Stored,
        /// The run
        run: String,
        /// The reason, shown to readers
        #[arg(long)]
        why: String,
    },
    /// Print a script that completes the commands in a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages
    #[command(hide = true)]
    Man {
        /// Existing directory to write them to
        directory: PathBuf,
    },
}

/// How a board is served.
#[derive(Debug, Args)]
struct Serving {
    #[command(flatten)]
    stored: Stored,
    /// Address to listen on; for readers elsewhere put a proxy with TLS in front of it
    #[arg(long, default_value = "127.0.0.1:8095")]
    listen: SocketAddr,
    /// Address by which readers reach it, as publishers sign it; it may have a path, which a proxy takes away. All servers of a
    /// database have the same [default: the one of the last server, or that of --listen]
    #[arg(long, env = "BTU_BOARD_URL", value_parser = without_slash)]
    url: Option<String>,
    /// Take --url as the new address of the board
    #[arg(long, requires = "url")]
    change_url: bool,
    /// Address of a proxy in front of it that is trusted to name the caller (X-Forwarded-For); may
    /// be repeated
    #[arg(long, value_name = "ADDRESS")]
    proxy: Vec<IpAddr>,
    /// Address for the operator's programs to read /metrics; others should not reach it
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
    /// What is written to standard error
    #[arg(long, value_name = "FORM", default_value = "text")]
    log: LogForm,
    /// The program that computes [default: btu next to this program, or in PATH]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The address of a board, without a slash at its end.
fn without_slash(url: &str) -> Result<String, String> {
    btu_publication::check_address(url.trim_end_matches('/'))
}

/// Which text.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Removed {
    /// An objection and its answer, by the letters behind its date
    #[arg(long, value_name = "OBJECTION")]
    objection: Option<String>,
    /// The answer to an objection
    #[arg(long, value_name = "OBJECTION")]
    answer: Option<String>,
    /// The name of a publisher, by the public key
    #[arg(long, value_name = "KEY")]
    name: Option<PublicKey>,
}

impl Removed {
    fn text(&self) -> anyhow::Result<RemovedText<'_>> {
        Ok(match self {
            Self { objection: Some(id), .. } => RemovedText::Objection(id),
            Self { answer: Some(id), .. } => RemovedText::Answer(id),
            Self { name: Some(key), .. } => RemovedText::Name(key),
            _ => bail!("name an --objection, an --answer or a --name"),
        })
    }

    /// How it was named.
    fn name(&self) -> String {
        let Self { objection, answer, name } = self;
        let name = name.as_ref().map(ToString::to_string);
        objection.clone().or_else(|| answer.clone()).or(name).unwrap_or_default()
    }
}

/// A file with a public key has two lines.
const LARGEST_KEY_BYTES: u64 = 64 << 10;

fn main() -> anyhow::Result<()> {
    // Private runs are in the database, and uploads on the disk while they are computed.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    match Arguments::parse().command {
        BoardCommand::Serve(serving) => serve(serving),
        command => print(&command.done()?),
    }
}

impl BoardCommand {
    /// Does what the operator asked for, and says so.
    fn done(&self) -> anyhow::Result<String> {
        Ok(match self {
            Self::Serve(_) => bail!("a server does not end by itself"),
            Self::Check { stored, compute, program } => {
                let database = stored.open()?;
                let links = chain::check(&database)?;
                let said = format!(
                    "The chain holds: {links} accepted manifests are what they were, with their times, signatures, certificates and archives; of deleted runs only the times are left."
                );
                if !*compute {
                    return Ok(said);
                }
                let runs = again::check(&database, &Program::find(program.clone())?)?;
                format!(
                    "{said}\n{runs} runs were computed again: all that is stored of them is so, with names of publishers and kept reports."
                )
            }
            Self::Laboratory { stored, name, key } => {
                let mut text = String::new();
                std::fs::File::open(key)
                    .and_then(|file| file.take(LARGEST_KEY_BYTES).read_to_string(&mut text))
                    .with_context(|| format!("reading {}", key.display()))?;
                let key: PublicKey = text.parse()?;
                actions::appoint(&stored.open()?, &key, name)?;
                log::audit("appoint", &[("key", &key.to_string()), ("name", name)]);
                format!("Signatures of {} certify runs as {name}.", key.id())
            }
            Self::Block { stored, key } => {
                actions::block(&stored.open()?, key)?;
                log::audit("block", &[("key", &key.to_string())]);
                format!("No runs of {} are taken any more, and no words.", key.id())
            }
            Self::Unblock { stored, key } => {
                actions::unblock(&stored.open()?, key)?;
                log::audit("unblock", &[("key", &key.to_string())]);
                format!("Runs of {} are taken again.", key.id())
            }
            Self::Follow { stored, old, new } => {
                actions::follow(&stored.open()?, old, new)?;
                log::audit("follow", &[("key", &old.to_string()), ("new", &new.to_string())]);
                format!("{} follows {}, and has its runs.", new.id(), old.id())
            }
            Self::Delete { stored, run } => {
                actions::delete_by_board(&stored.open()?, run)?;
                log::audit("delete", &[("run", run)]);
                format!("Run {run} is deleted.")
            }
            Self::Remove { stored, text } => {
                actions::remove(&stored.open()?, &text.text()?)?;
                log::audit("remove", &[("text", &text.name())]);
                "The text is removed.".to_owned()
            }
            Self::Token { stored, run } => {
                let token = actions::give_token(&stored.open()?, run)?;
                log::audit("token", &[("run", run)]);
                format!("The token of run {run} is {token}.")
            }
            Self::Withdraw { stored, run, why } => {
                actions::withdraw_by_board(&stored.open()?, run, why)?;
                log::audit("withdraw", &[("run", run), ("why", why)]);
                format!("Run {run} is withdrawn.")
            }
            Self::Completions { shell } => completions(*shell)?,
            Self::Man { directory } => manual(directory)?,
        })
    }
}

fn completions(shell: Shell) -> anyhow::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "btu-board", &mut script);
    Ok(String::from_utf8(script)?)
}

fn manual(directory: &Path) -> anyhow::Result<String> {
    clap_mangen::generate_to(Arguments::command(), directory)
        .with_context(|| format!("writing manual pages to {}", directory.display()))?;
    Ok(format!("The manual pages are in {}.", directory.display()))
}

fn print(line: &str) -> anyhow::Result<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

/// As many requests wait for the database, or for a program, at once: each may hold three files open.
const MOST_BLOCKING: usize = 96;

fn serve(serving: Serving) -> anyhow::Result<()> {
    log::set_form(serving.log);
    let database = serving.stored.open_or(Absent::Made)?;
    let url = board::address(&database, serving.url.as_deref(), serving.change_url)?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().max_blocking_threads(MOST_BLOCKING).build();
    let runtime = runtime.context("starting the server")?;
    let ended = runtime.block_on(served(serving, database, url));
    // What is still computed is of callers who have waited longer than the server does.
    runtime.shutdown_background();
    ended
}

/// A service manager starts what comes after the board when it listens (`sd_notify(3)`); without one nothing is told.
fn tell_service_manager() -> std::io::Result<()> {
    let Some(place) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    UnixDatagram::unbound()?.send_to(b"READY=1", place).map(|_| ())
}

async fn served(serving: Serving, database: Database, url: Option<String>) -> anyhow::Result<()> {
    let listen =
        |address| server::listen(address).with_context(|| format!("listening on {address}"));
    let listener = listen(serving.listen)?;
    let counts = serving.metrics_listen.map(listen).transpose()?;
    let address = listener.local_addr()?;
    let url = url.unwrap_or_else(|| format!("http://{address}"));
    let program = Program::find(serving.program)?;
    let end = server::asked_to_end().context("waiting for signals")?;
    print(&format!("The board is at {url}/"))?;
    let board = Arc::new(Board::new(url, database, program));
    if let Some(counts) = counts {
        print(&format!("What it counts is at http://{}/metrics", counts.local_addr()?))?;
        let never = std::future::pending();
        tokio::spawn(server::serve(counts, metrics_router(Arc::clone(&board)), Vec::new(), never));
    }
    print(&format!("It listens on {address}"))?;
    tell_service_manager().context("telling the service manager that it listens")?;
    server::serve(listener, router(Arc::clone(&board)), serving.proxy, end).await;
    // Callers that still wait have the board as long as this process lives.
    board.program.remove_scratch();
    Ok(())
}
