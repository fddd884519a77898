//! btu's emulator compared with the kernel's bridge, between the same two stations.
//!
//! ```text
//! near (this namespace) --veth-- middle: wire or bridge --veth-- far
//! ```

mod forwarder;
mod load;
mod middle;

use std::io::{BufRead, stdin};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use btu_testbed::port::Carriage;

use crate::case::{Case, Tool};
use crate::outcome::ToolOutcome;
use forwarder::Forwarder;
pub(crate) use middle::Middle;

/// Puts the forwarder between the stations, measures, and removes it.
pub(crate) fn run(middle: &Middle, case: Case, tool: Tool, time: Duration) -> Result<ToolOutcome> {
    let carriage =
        if case == Case::WireSuperframes { Carriage::Superframes } else { Carriage::Frames };
    middle.set_offloads(carriage == Carriage::Superframes)?;
    let forwarder = Forwarder::start(middle, tool, carriage)?;
    let outcome = match case {
        Case::WireFrames => load::flood(middle, time),
        Case::WireTcp | Case::WireSuperframes => load::stream(middle, time),
        _ => load::delay(middle, case.load_megabits(), time),
    };
    forwarder.end()?;
    outcome
}

/// Puts a drawn network between the stations during `work`, which gets a process in the far one and
/// its address.
pub(crate) fn between<T>(
    middle: &Middle,
    drawing: &str,
    work: impl FnOnce(u32, &str) -> Result<T>,
) -> Result<T> {
    middle.set_offloads(false)?;
    let forwarder = Forwarder::draw(middle, drawing)?;
    let done = work(middle.far(), middle::FAR);
    forwarder.end()?;
    done
}

/// This program as a wire: its plan is the one line on standard input.
pub(crate) fn carry(socket: &Path) -> Result<ExitCode> {
    let mut line = String::new();
    stdin().lock().read_line(&mut line).context("read the plan")?;
    let plan = serde_json::from_str(&line).context("understand the plan")?;
    let listener = UnixListener::bind(socket).context("make the control socket")?;
    btu_testbed::wire::run(&plan, listener, None)?;
    Ok(ExitCode::SUCCESS)
}
