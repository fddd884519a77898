//! What ends a run from outside: signals, and parts of the testbed that die.

use std::future::Future;
use std::time::{Duration, Instant};

use btu_testbed::house::NetworkHouse;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::error::{CoordinatorError, Interrupt};

/// How often it is looked whether a part of the testbed died: often enough to be down well within five seconds, and
/// too seldom to be seen in any measurement.
const LOOK: Duration = Duration::from_millis(100);

/// When something fails because a process of the testbed ended, the news of that end may be a moment behind: it passes two
/// processes, which wait for a processor on a busy machine.
const NEWS_DELAY: Duration = Duration::from_secs(2);

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
            Err(error) if error.may_follow_from_a_fall() => Err(self.cause(error).await),
            other => other,
        }
    }

    async fn cause(&mut self, error: CoordinatorError) -> CoordinatorError {
        let Some(house) = self.house else { return error };
        let deadline = Instant::now() + NEWS_DELAY;
        while Instant::now() < deadline {
            if let Some(event) = house.fallen() {
                return CoordinatorError::Fallen(event.to_string());
            }
            sleep(LOOK / 4).await;
        }
        error
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
