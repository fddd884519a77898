//! This machine's own agent, for ends outside of stations: a process that only this one can reach.

use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use btu_contract::network::HostName;
use btu_testbed::testbed::{RuntimeDirectory, start_tied};

use super::super::error::ControllerError;

/// An agent listens well within this.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of checks whether it listens.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The agent; dropping it kills it, and its workers with it.
pub(crate) struct Here {
    pub(crate) socket: PathBuf,
    agent: Child,
}

impl Drop for Here {
    fn drop(&mut self) {
        // One that has ended already has nothing left to be killed.
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

impl Here {
    /// Starts the agent, with its socket in `directory`. It is killed when the calling thread ends.
    pub(crate) fn start(
        name: &HostName,
        executable: &Path,
        directory: &Path,
    ) -> Result<Self, ControllerError> {
        let socket = RuntimeDirectory::socket(directory, "agent");
        let mut command = Command::new(executable);
        command.args(["internal", "agent", "--station", name.as_str(), "--socket"]).arg(&socket);
        // Ctrl-C is for btu, which ends it.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        let failed =
            |source| ControllerError::System { operation: "starting this machine's agent", source };
        let agent = start_tied(&mut command).map_err(failed)?;
        let mut here = Self { socket, agent };
        let deadline = Instant::now() + START_TIMEOUT;
        while UnixStream::connect(&here.socket).is_err() {
            let ended = here.agent.try_wait().map_err(failed)?;
            if let Some(status) = ended {
                return Err(unheard(format!("it ended before it listened: {status}")));
            }
            if Instant::now() >= deadline {
                return Err(unheard(format!("no answer at {}", here.socket.display())));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(here)
    }
}

fn unheard(message: String) -> ControllerError {
    let who = "this machine's agent".to_owned();
    ControllerError::Agent { who, operation: "starting it", message }
}
