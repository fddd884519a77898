//! A user's own programs in a station, one at a time, each with all processes that it starts.
//!
//! ```text
//! controller
//!   enter                `btu internal enter`: goes into the station, as `btu net exec` does
//!     programs           `btu internal programs`: makes a process and a mount namespace in the station's
//!       supervisor       `btu internal supervisor`: process 1 in them; starts programs, waits for them, ends them
//!         program        and whatever it forks: none can leave the process namespace
//! ```
//!
//! Tasks come on standard input and messages go to standard output ([`btu_contract::program`]). When
//! standard input ends, because the controller did, the supervisor ends; as it is process 1, the
//! kernel then ends every process in its namespace, independent of its session, parent and signal
//! handlers.

mod child;
mod listening;
mod memory;
mod moments;
mod printed;
mod supervisor;
mod unacknowledged;
mod work;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use btu_contract::program::Message;
use nix::sched::{CloneFlags, unshare};

use super::messages::send;
use super::processes::own;

pub use supervisor::supervisor;

/// The work of `btu internal programs`: it makes the namespaces, and waits for the supervisor in
/// them. `directory` exists, and is hidden by the programs' own directories.
pub fn programs(directory: &Path) -> ExitCode {
    match in_namespaces(directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let message = format!("making a process namespace for a program: {error}");
            // A reader that is gone needs no further messages.
            let _ = send(io::stdout(), &Message::Failed { message });
            ExitCode::FAILURE
        }
    }
}

fn in_namespaces(directory: &Path) -> io::Result<bool> {
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)?;
    let mut command = own(&["supervisor"]);
    Ok(command.arg(directory).status()?.success())
}
