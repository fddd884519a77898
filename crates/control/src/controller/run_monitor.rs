//! The external ends of a run: signals, and parts of the testbed that die.

use std::future::Future;
use std::time::Duration;

use btu_testbed::testbed::{ProcessExit, RaisedNetwork};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::error::{ControllerError, Interrupt};

/// The interval of checks for what ends a run, such as a part of the testbed that died: short
/// enough to end within five seconds, and too long to affect a measurement.
const LOOK: Duration = Duration::from_millis(100);

/// Listens for everything that ends a run.
pub(super) struct RunMonitor<'a> {
    keyboard: Signal,
    terminate: Signal,
    hangup: Signal,
    /// `None` without a testbed.
    testbeds: &'a [RaisedNetwork],
}

impl<'a> RunMonitor<'a> {
    /// From now on the signals no longer end the process but ring here.
    pub(super) fn set(testbeds: &'a [RaisedNetwork]) -> Result<Self, ControllerError> {
        let listen = |kind| {
            signal(kind).map_err(|source| ControllerError::System {
                operation: "listening for signals",
                source,
            })
        };
        Ok(Self {
            keyboard: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            testbeds,
        })
    }

    /// Does `work` unless the monitor rings first.
    pub(super) async fn guard<T>(
        &mut self,
        work: impl Future<Output = Result<T, ControllerError>>,
    ) -> Result<T, ControllerError> {
        let result = tokio::select! {
            biased;
            _ = self.keyboard.recv() => Err(ControllerError::Interrupted(Interrupt::Keyboard)),
            _ = self.terminate.recv() => Err(ControllerError::Interrupted(Interrupt::Terminate)),
            _ = self.hangup.recv() => Err(ControllerError::Interrupted(Interrupt::Terminate)),
            death = death(self.testbeds) => Err(ControllerError::Fallen(death)),
            result = work => result,
        };
        result.map_err(|error| cause(error, self.testbeds))
    }
}

/// The fall of a network that is behind an error, or the error itself.
pub(super) fn cause(error: ControllerError, testbeds: &[RaisedNetwork]) -> ControllerError {
    let fall = match &error {
        error if error.may_follow_from_a_fall() => fallen_soon(testbeds),
        // It is reported after the agents that a fall would end, too.
        ControllerError::Worker { .. } => fallen(testbeds),
        _ => None,
    };
    fall.map_or(error, |event| ControllerError::Fallen(event.to_string()))
}

fn fallen(testbeds: &[RaisedNetwork]) -> Option<ProcessExit> {
    testbeds.iter().find_map(RaisedNetwork::fallen)
}

/// The news of a network that has fallen, which may be a moment behind.
fn fallen_soon(testbeds: &[RaisedNetwork]) -> Option<ProcessExit> {
    fallen(testbeds).or_else(|| testbeds.iter().find_map(RaisedNetwork::fallen_soon))
}

/// Waits for a part of the testbed to die.
async fn death(testbeds: &[RaisedNetwork]) -> String {
    if testbeds.is_empty() {
        return std::future::pending().await;
    }
    until(|| fallen(testbeds)).await.to_string()
}

/// Waits for an event that only a look can find.
pub(super) async fn until<T>(look: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        sleep(LOOK).await;
    }
}
