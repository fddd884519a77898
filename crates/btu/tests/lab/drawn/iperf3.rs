//! iperf3 between two stations of a raised network.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use super::Lab;
use crate::support::send;

/// The command line of a server.
pub(crate) const SERVER: &str = "iperf3 -s -J";

/// The time in which a client has to succeed once, trials that failed included.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(40);

/// A server in a station, until it is dropped.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // `btu net exec` passes the signal on; one that has ended with its network is not there.
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            send(self.0.id().cast_signed(), Signal::SIGTERM);
        }
        let _ = self.0.wait();
    }
}

impl Lab {
    pub(crate) fn iperf3_server(&self, station: &str) -> Server {
        let command: Vec<&str> = SERVER.split(' ').collect();
        let server = self.exec(station, &command).spawn().expect("btu runs");
        self.await_command(SERVER);
        Server(server)
    }

    /// What a client says of a stream, with what the server says of it if that is the receiver.
    ///
    /// It is asked again if the server did not listen yet, which iperf3 3.12 reports in its JSON with
    /// exit code 0, and if the server's part is missing, as it sometimes is.
    pub(crate) fn iperf3_client(&self, near: &str, far: &str, more: &[&str]) -> Value {
        let client = ["iperf3", "-J", "--get-server-output", "-c", far];
        let is_whole = |said: &Value| {
            said.get("error").is_none()
                && (more.contains(&"-R") || said["server_output_json"]["intervals"].is_array())
        };
        let deadline = Instant::now() + CLIENT_TIMEOUT;
        loop {
            let output = self.exec(near, &[&client[..], more].concat()).output().expect("btu runs");
            let said: Value = serde_json::from_slice(&output.stdout).expect("iperf3 prints JSON");
            if output.status.success() && is_whole(&said) {
                return said;
            }
            assert!(Instant::now() < deadline, "iperf3 from {near} to {far} fails: {said}");
        }
    }
}
