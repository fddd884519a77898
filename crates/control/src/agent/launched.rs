//! The life of an agent that a launcher started for one job: it listens on a port of its own, says
//! so on standard output, and ends with its input, its time limit, its launcher, or its last
//! controller.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use btu_testbed::note;
use nix::unistd::getppid;
use tokio::sync::oneshot;

use crate::trust::{BundleLimits, Identity};

/// An agent of one job.
#[derive(Debug)]
pub struct Launched {
    /// Its identity of the bundle.
    pub identity: Identity,
    /// Its limits of the bundle.
    pub limits: BundleLimits,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Whether the end of standard input is its own end.
    pub ends_with_input: bool,
}

/// How often it looks for the end of its launcher and for controllers.
const LOOK: Duration = Duration::from_secs(1);

impl Launched {
    /// Returns when the agent must end, with the reason. `connected` is the number of its
    /// controller's connections.
    pub(super) async fn end(&self, connected: &Cell<usize>) -> &'static str {
        let input = if self.ends_with_input { Some(end_of_input()) } else { None };
        tokio::select! {
            () = ended(input) => "its input has ended",
            () = tokio::time::sleep(self.limits.lasts) => "its time limit is reached",
            why = left_alone(connected, self.limits.idle) => why,
        }
    }
}

/// Returns when no controller was connected for `idle`, or when the launcher has ended.
async fn left_alone(connected: &Cell<usize>, idle: Duration) -> &'static str {
    let launcher = getppid();
    let mut last = Instant::now();
    loop {
        tokio::time::sleep(LOOK).await;
        if getppid() != launcher {
            return "its launcher has ended";
        }
        if connected.get() > 0 {
            last = Instant::now();
        } else if last.elapsed() >= idle {
            return "no controller is connected";
        }
    }
}

/// A thread that reads standard input to its end.
fn end_of_input() -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    let read = move || {
        // An error is an end, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(sender);
    };
    if let Err(error) = std::thread::Builder::new().name("input".to_owned()).spawn(read) {
        note!("agent: standard input is not followed: {error}");
    }
    receiver
}

/// Waits for the end of standard input; for ever without it.
async fn ended(input: Option<oneshot::Receiver<()>>) {
    match input {
        Some(input) => drop(input.await),
        None => std::future::pending().await,
    }
}
