//! What ends a run from outside: signals, and parts of the testbed that die.

use std::future::Future;
use std::time::Duration;

use btu_testbed::house::NetworkHouse;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::error::{CoordinatorError, Interrupt};

/// How often it is looked whether a part of the testbed died: often enough to be down well within five seconds, and
/// too seldom to be seen in any measurement.
const LOOK: Duration = Duration::from_millis(100);

/// Listens for everything that ends a run.
pub(super) struct Alarm<'a> {
    keyboard: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Nothing where there is no testbed.
    house: Option<&'a NetworkHouse>,
}

impl<'a> Alarm<'a> {
    /// From now on the signals no longer end the process but ring here.
    pub(super) fn set(house: Option<&'a NetworkHouse>) -> Result<Self, CoordinatorError> {
        let listen = |kind| {
            signal(kind).map_err(|source| CoordinatorError::System { operation: "listening for signals", source })
        };
        Ok(Self {
            keyboard: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            house,
        })
    }

    /// Does `work` unless the alarm rings first.
    pub(super) async fn guard<T>(
        &mut self,
        work: impl Future<Output = Result<T, CoordinatorError>>,
    ) -> Result<T, CoordinatorError> {
        let result = tokio::select! {
            biased;
            _ = self.keyboard.recv() => Err(CoordinatorError::Interrupted(Interrupt::Keyboard)),
            _ = self.terminate.recv() => Err(CoordinatorError::Interrupted(Interrupt::Terminate)),
            _ = self.hangup.recv() => Err(CoordinatorError::Interrupted(Interrupt::Terminate)),
            death = death(self.house) => Err(CoordinatorError::Fallen(death)),
            result = work => result,
        };
        match result {
            Err(error) if error.may_follow_from_a_fall() => Err(self.cause(error)),
            other => other,
        }
    }

    fn cause(&self, error: CoordinatorError) -> CoordinatorError {
        let event = self.house.and_then(NetworkHouse::fallen_soon);
        event.map_or(error, |event| CoordinatorError::Fallen(event.to_string()))
    }
}

/// Waits for a part of the testbed to die.
async fn death(house: Option<&NetworkHouse>) -> String {
    let Some(house) = house else { return std::future::pending().await };
    loop {
        if let Some(event) = house.fallen() {
            return event.to_string();
        }
        sleep(LOOK).await;
    }
}
