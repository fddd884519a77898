//! The arguments of `btu compare`.

use std::path::PathBuf;

use btu_studies::compare::{Aspect, Matter};
use clap::{Args, ValueEnum};

use super::share;

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu compare r1,r3,r5 r2,r4,r6             three runs each, measured in turns: the interval comes
                                            from neighbouring sessions
  btu compare tag:old tag:new --all         the same by tags; every cell
  btu compare r4 r9                         r9 over r4: a ratio, and no verdict
  btu compare r4 r9 --across network        the networks may differ
  btu compare r4 r9 --format html           a page with both on one axis: btu-compare.html
  btu compare tag:old tag:new --fail-if-slower 5%
                                            for scripts: exit code 4 if the new is slower by 5 % or
                                            more

All before and all after are one session of each: their drift is not in the ratio, so it has no verdict.
Runs of `btu speed`, app, copy and lan are compared cell by cell, by goodput and the reciprocal of each time.
Runs of `btu pipe` are compared by throughput, latency and the cost of a byte: btu compare r4 r9.
A side is a run (r12, latest, or the beginning of its uuid), several with commas between them, or
tag:NAME.";

/// The arguments of `btu compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The base, then the sides to compare with it; with --baseline only the latter
    #[arg(value_name = "SIDE", required = true)]
    pub(crate) sides: Vec<String>,
    /// Use all runs with this tag as the base
    #[arg(long, value_name = "TAG")]
    pub(crate) baseline: Option<String>,
    /// The smallest effect that matters
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = matter)]
    pub(crate) matter: Matter,
    /// Exit with code 4 when a side is slower than the base by this much or more, beyond chance
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_if_slower: Option<f64>,
    /// What may differ between the plans: network, components, messages, loads, volume, window,
    /// profile, files, options
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = aspect)]
    pub(crate) across: Vec<Aspect>,
    /// Compare all common cells, however the plans differ
    #[arg(long, conflicts_with = "across")]
    pub(crate) force: bool,
    /// Show every cell, not only those that differ
    #[arg(long)]
    pub(crate) all: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Where to write it, `-` for standard output [default: btu-compare.html here; other formats go
    /// to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// For a pull request or a page
    Markdown,
    /// Everything that was computed
    Json,
    /// One self-contained page with all sides on one axis
    Html,
}

fn matter(text: &str) -> Result<Matter, String> {
    let share = share(text)?;
    Matter::new(share).ok_or_else(|| format!("`{text}` is not an effect: write 1% or 0.01"))
}

fn aspect(text: &str) -> Result<Aspect, String> {
    Aspect::ALL.into_iter().find(|aspect| aspect.name() == text).ok_or_else(|| {
        let names = Aspect::ALL.map(Aspect::name).join(", ");
        format!("plans have no `{text}`; they have {names}")
    })
}
