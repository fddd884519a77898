//! This machine's own agent, for ends outside of stations: a process that makes their workers.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use btu_control::coordinator::{Stop, WorkerHost};
use btu_suite::network::HostName;
use btu_testbed::testbed::{RuntimeDirectory, Signals};

/// The name of this machine in errors.
const NAME: &str = "here";

/// An agent listens well within this.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of checks whether it listens.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The agent; dropping it kills it, and its workers with it.
pub(super) struct Here {
    pub(super) host: Arc<WorkerHost>,
    _agent: Agent,
}

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        // One that has ended already has nothing left to be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Here {
    /// Starts the agent, with its socket in `directory`. It is killed when the calling thread ends.
    pub(super) fn start(
        executable: &Path,
        directory: &Path,
        signals: &Signals,
        stop: Stop,
    ) -> anyhow::Result<Self> {
        let socket = RuntimeDirectory::socket(directory, "agent");
        let mut command = Command::new(executable);
        command.args(["internal", "agent", "--station", NAME, "--socket"]).arg(&socket);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut agent =
            Agent(signals.start(&mut command).context("starting this machine's agent")?);
        let deadline = Instant::now() + START_TIMEOUT;
        while UnixStream::connect(&socket).is_err() {
            if let Some(status) = agent.0.try_wait().context("waiting for this machine's agent")? {
                bail!("this machine's agent ended before it listened: {status}");
            }
            if Instant::now() >= deadline {
                bail!("this machine's agent does not listen on {}", socket.display());
            }
            thread::sleep(POLL_INTERVAL);
        }
        let host = WorkerHost::local(HostName::try_from(NAME)?, &socket, stop)?;
        Ok(Self { host: Arc::new(host), _agent: agent })
    }
}
