//! The simulator: a drawing's traffic over its fabric, in virtual time.
//!
//! * **Delay** of a frame is counted from the moment the application hands it over until its last
//!   bit is at the receiver: the wait in the station's queue is part of it. A broadcast has arrived
//!   when its last copy has.
//! * **Sizes** are those of the network file, from destination address to check sequence; goodput
//!   counts them.
//! * **Warm-up**: events before [`Settings::warm_up`] change the network's state but are not
//!   counted. A frame counts when it arrives (or is lost) after the warm-up, even if it was sent
//!   before.
//! * **Replications** differ in their seeds only. Intervals are Student's over replications; of a
//!   single replication over the means of [`BATCHES`] batches of equal time, as far as the value is
//!   a mean.
//! * Before the start every bridge knows every station
//!   ([`Fabric::announce`](crate::Fabric::announce)).
//! * A damaged frame is dropped by the bridge or receiver that detects the damage.
//! * **The accounts** are verified after each replication: generated = delivered + dropped +
//!   inside. An imbalance is an error.
//!
//! A drawing, settings and a seed give the same bits each time, whichever thread runs the
//! replications and in whatever order.

mod course;
mod flight;
mod offers;
mod outcome;
mod replication;
mod run;
mod sample;
mod settings;
mod size;
mod source;
mod tally;
mod tcp;
#[cfg(test)]
mod tests;
mod transfer;
mod warning;

pub use course::{Course, Track, Used, course};
pub use offers::{Offer, offers};
pub use outcome::{
    DelayOutcome, DropOutcome, ExchangeOutcome, FlowOutcome, MediumOutcome, Outcome, StationOutcome,
};
pub use replication::{Accounts, Replication};
pub use run::{SimulationError, replicate};
pub use settings::{BATCHES, Settings, idealise};
pub use tcp::TcpTransfer;
pub use transfer::{TransferTimes, transfer};
pub use warning::SimulationWarning;

use btu_network::Drawing;

/// Runs all replications, one after the other, and combines them.
///
/// # Errors
/// As [`replicate`].
pub fn simulate(drawing: &Drawing, settings: &Settings) -> Result<Outcome, SimulationError> {
    let replications: Result<Vec<_>, _> = (0..settings.replications.max(1))
        .map(|number| replicate(drawing, settings, number, |_| {}))
        .collect();
    Ok(Outcome::of(drawing, settings, &replications?))
}
