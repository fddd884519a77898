//! The arguments of `btu report`.

use std::path::PathBuf;

use btu_studies::papers::Study;
use clap::{Args, ValueEnum};

pub(crate) const EXAMPLES: &str = "\
Examples:
  btu report                              the newest run, as btu-report-rN.html in this directory
  btu report r12 --open                   open it in the browser
  btu report r12 -o r12.html --with btu95,netpipe96
  btu report r12 --format markdown        for a wiki or a comment, on standard output
  btu report r12 --format xlsx -o r12.xlsx
  btu report r12 --format raw > r12.csv   every repetition, with stable column names

A report is made from stored data alone, and can be made again at any time. The HTML file is
self-contained: it loads nothing from the network.";

/// The arguments of `btu report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Which run: r12, latest, or the beginning of its uuid
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Format of the report
    #[arg(long, value_enum, default_value = "html")]
    pub(crate) format: Format,
    /// Output file, `-` for standard output [default: btu-report-RUN.html or .xlsx here; other
    /// formats go to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show the file in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Also draw results of other studies: btu95, netpipe96
    #[arg(long, value_name = "STUDY", value_delimiter = ',')]
    pub(crate) with: Vec<Study>,
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One self-contained file with interactive charts
    Html,
    /// What `btu show` prints
    Text,
    /// Tables for a wiki, a comment or a paper
    Markdown,
    /// Every number of every table, a line each
    Csv,
    /// Raw values, a line for each repetition, for R and pandas
    Raw,
    /// Everything that was computed
    Json,
    /// A workbook, a sheet for each table
    Xlsx,
    /// The charts as one picture
    Svg,
}
