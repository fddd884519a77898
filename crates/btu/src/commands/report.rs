//! `btu report`: writes a stored run to a file.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use btu_report::html::html;
use btu_report::{csv, markdown, page_workbook, raw_csv, svg};
use btu_store::{RunRow, Store};
use btu_studies::papers::Study;

use crate::cli::{Common, Format, Report};
use crate::exit::Refusal;
use crate::terminal::{file_options, print, text_options};
use crate::{files, results, stored};

/// Writes a report of the stored run.
pub(crate) fn run(report: &Report, common: &Common) -> anyhow::Result<()> {
    check(report)?;
    let store = stored::open_to_read(common)?;
    let row = store.run(&report.run)?;
    // `--json` holds for every command, and means that format here.
    let format = if common.json { Format::Json } else { report.format };
    let to = target(report, format, &row);
    let content = content(format, &store, &row, report, to.is_none())?;
    let Some(path) = to else { return write_out(&content) };
    files::save(&path, &content)?;
    print(&format!("Report of run {} is in {}\n", row.summary.id, path.display()))?;
    if report.open { open(&path) } else { Ok(()) }
}

/// Invalid combinations are refused before any reading.
fn check(report: &Report) -> Result<(), Refusal> {
    let drawable =
        |study: &Study| study.reference_points().iter().any(|point| point.unit == "bits/s");
    if let Some(study) = report.with.iter().find(|study| !drawable(study)) {
        let problem =
            format!("{study} has no rates to be drawn with this run; btu95 and netpipe96 have");
        return Err(Refusal::Usage(problem));
    }
    if report.open && report.format != Format::Html {
        return Err(Refusal::Usage("--open shows the HTML report: leave --format away".to_owned()));
    }
    Ok(())
}

/// The file to write; `None` is standard output.
fn target(report: &Report, format: Format, row: &RunRow) -> Option<PathBuf> {
    let default =
        |ending: &str| Some(PathBuf::from(format!("btu-report-{}.{ending}", row.summary.id)));
    match (&report.output, format) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (Some(path), _) => Some(path.clone()),
        (None, Format::Html) => default("html"),
        (None, Format::Xlsx) => default("xlsx"),
        (None, _) => None,
    }
}

const NO_PICTURE: &str = "an SVG has pictures with numbers on both axes, and this run has none: `--format html` has all of its \
                          pictures and tables";

fn content(
    format: Format,
    store: &Store,
    row: &RunRow,
    report: &Report,
    to_terminal: bool,
) -> anyhow::Result<Vec<u8>> {
    let study = results::of(row)?;
    let page = || study.page(store, row, &report.with);
    let text = match format {
        Format::Text => {
            let options = if to_terminal { text_options() } else { file_options() };
            study.text(store, row, &options)?
        }
        Format::Json => study.json(store, row)?,
        Format::Html => html(&page()?),
        Format::Markdown => markdown(&page()?),
        Format::Csv => csv(&page()?),
        Format::Raw => raw_csv(&study.raw(store, row)?),
        Format::Xlsx => return Ok(page_workbook(&page()?)?),
        Format::Svg => svg(&page()?).context(NO_PICTURE)?,
    };
    Ok(text.into_bytes())
}

fn write_out(content: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if content.starts_with(b"PK") && out.is_terminal() {
        let problem = "a workbook is nothing for a terminal: give a file with -o".to_owned();
        return Err(Refusal::Usage(problem).into());
    }
    out.write_all(content).context("writing to standard output")
}

/// The time for xdg-open to report a failure; a browser that it has started runs longer.
const OPENING: Duration = Duration::from_secs(2);
const OPENING_POLL: Duration = Duration::from_millis(20);

/// Hands the file to the desktop, and waits no longer than it takes to fail.
fn open(path: &Path) -> anyhow::Result<()> {
    let what = || {
        format!(
            "opening {} with xdg-open: the report is written; open it in a browser yourself",
            path.display()
        )
    };
    let mut opener = Command::new("xdg-open");
    opener.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opener = opener.spawn().with_context(what)?;
    let began = Instant::now();
    while began.elapsed() < OPENING {
        match opener.try_wait().with_context(what)? {
            Some(ended) if ended.success() => return Ok(()),
            Some(ended) => return Err(Refusal::Machine(format!("{} ({ended})", what())).into()),
            None => std::thread::sleep(OPENING_POLL),
        }
    }
    Ok(())
}
