//! This program as a worker of btu, with the same traffic and messages.

use std::io::{self, BufRead, Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use btu_suite::activity::{Order, Word};
use btu_suite::peers::Callers;

/// Reads an order, prepares, waits for `go`, performs, and reports.
pub(crate) fn run() -> Result<ExitCode> {
    Ok(match perform() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&Word::Failed { message: format!("{error:#}") })?;
            ExitCode::FAILURE
        }
    })
}

fn perform() -> Result<()> {
    let order: Order = serde_json::from_str(&hear()?).context("read the order")?;
    let performance =
        btu_traffic::prepare(&order, &Callers::any())?.context("not a network activity")?;
    say(&Word::Ready { endpoint: performance.endpoint() })?;
    anyhow::ensure!(hear()?.trim() == "go", "told something else than `go`");
    let report = performance
        .perform_telling(&AtomicBool::new(false), &mut |word| say(&word).map_err(io::Error::other));
    let report = report.map_err(|error| anyhow!(error))?;
    say(&Word::Done(Box::new(report)))
}

fn hear() -> Result<String> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line).context("read from the agent")?;
    Ok(line)
}

fn say(word: &Word) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer(&mut out, word)?;
    out.write_all(b"\n")?;
    out.flush().context("write to the agent")
}
