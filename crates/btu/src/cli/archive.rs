//! The arguments of `btu runs tag`, `btu runs rm`, `btu runs export` and `btu runs import`.

use std::path::PathBuf;

use clap::Args;

use super::Board;

/// The beginning of an argument that names all runs with a tag.
pub(crate) const TAG: &str = "tag:";

pub(crate) const TAG_EXAMPLES: &str = "\
Examples:
  btu runs tag r4 nightly kernel-6.18     two tags
  btu runs tag r4 nightly --remove
  btu runs --tag nightly
  btu compare --baseline nightly latest";

pub(crate) const RM_EXAMPLES: &str = "\
Examples:
  btu runs rm r4 r5
  btu runs rm r4 --yes     without asking, for scripts

Later runs reuse the space of deleted runs; the database file does not become smaller.";

pub(crate) const EXPORT_EXAMPLES: &str = "\
Examples:
  btu runs export r4 r5 -o runs.btu
  btu runs export tag:nightly -o nightly.btu
  btu runs import nightly.btu     on another machine
  ssh alpha btu runs export tag:nightly | btu runs import -
  btu runs export r4 --published https://board.example.org -o r4.published.gz
                                  what `btu publish` would send of it

The file is JSON lines, compressed by gzip: `zcat FILE | head -2` shows what it is.";

pub(crate) const IMPORT_EXAMPLES: &str = "\
Examples:
  btu runs import nightly.btu
  btu runs import nightly.btu --json
  ssh alpha btu runs export latest | btu runs import -
  btu runs import upload.json     what `iperf3 -c HOST -J > upload.json` wrote

Files that can be imported, recognised by their content:
  what `btu runs export` wrote: all runs of the file are stored, or none
  iperf3's JSON (`iperf3 -J`), of a client or a server
  Flent's data files (.flent.gz, .flent)
  hyperfine's JSON (`hyperfine --export-json`)

Results of another program become a separate run, marked as not measured by btu. A run that is
already stored stays as it is.";

/// The arguments of `btu runs tag`.
#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// Which run: r12, latest, or the beginning of its uuid
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Tags: words without spaces or commas
    #[arg(value_name = "TAG", required = true)]
    pub(crate) tags: Vec<String>,
    /// Remove these tags
    #[arg(long)]
    pub(crate) remove: bool,
}

/// The arguments of `btu runs rm`.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Which runs: r12, latest, the beginning of a uuid, or tag:NAME
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// The arguments of `btu runs export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Which runs: r12, latest, the beginning of a uuid, or tag:NAME
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// A new file, `-` for standard output [default: standard output, if it is no terminal]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only what is published of a rating on this board: no names of hosts, users or files, and
    /// none of your texts
    #[arg(long, value_name = "BOARD")]
    pub(crate) published: Option<Board>,
}

/// The arguments of `btu runs import`.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file of btu, iperf3, Flent or hyperfine; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
