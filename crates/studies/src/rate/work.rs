//! The amount of work of each activity: fixed, or calibrated so that every baseline lasts about the
//! profile's time.

use btu_contract::load::Load;
use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::row::Component;

/// The amounts of a run; stored with it, so that a resumed run does equal work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Amounts {
    /// Volume in bytes per component and message size, all its connections together.
    pub volumes: Vec<Volume>,
    /// Rounds (cpu) or bytes (disk, transfer) of the host activities.
    pub host: Vec<HostAmount>,
    /// The time of an empty cell: the tool's own fixed cost, in ns.
    pub null_cell_ns: u64,
}

/// The volume of one component and message size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// The component that moves the volume.
    pub component: Component,
    /// The message size.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The volume in bytes, all connections of the component together.
    #[serde(rename = "volume_bytes")]
    pub volume: Bytes,
}

/// The amount of one host activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAmount {
    /// The load, which is the host activity.
    pub load: Load,
    /// Rounds (cpu) or bytes (disk, transfer).
    pub amount: u64,
}

impl Amounts {
    /// The volume of a component at a message size, when it has one.
    pub fn volume(&self, component: Component, message: Bytes) -> Option<Bytes> {
        let found = self
            .volumes
            .iter()
            .find(|entry| entry.component == component && entry.message == message);
        found.map(|entry| entry.volume)
    }

    /// The amount of a host activity, when it has one.
    pub fn host(&self, load: Load) -> Option<u64> {
        self.host.iter().find(|entry| entry.load == load).map(|entry| entry.amount)
    }
}

/// The combinations without a volume.
pub fn volumes_wanted(plan: &Plan) -> Vec<(Component, Bytes)> {
    let rated = plan.components.iter().filter(|component| component.is_rated());
    rated
        .flat_map(|&component| {
            plan.messages_of(component).iter().map(move |&message| (component, message))
        })
        .collect()
}

/// What a pilot did: rounds (cpu) or bytes, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Rounds or bytes.
    pub done: u64,
    /// The time for all of them.
    pub took: Span,
}

impl Pace {
    /// Whether it did more work in a time than `other`.
    pub fn is_faster_than(self, other: Self) -> bool {
        let product = |done: u64, took: Span| u128::from(done) * u128::from(took.nanoseconds());
        product(self.done, other.took) > product(other.done, self.took)
    }

    /// The work that lasts `target`.
    fn work_for(self, target: Span) -> u64 {
        let product = u128::from(self.done) * u128::from(target.nanoseconds())
            / u128::from(self.took.nanoseconds().max(1));
        u64::try_from(product).unwrap_or(u64::MAX / 2)
    }
}

/// The volume that lasts `target` at the pace of a pilot, in whole messages per connection, at
/// least one each.
pub fn volume_for(component: Component, message: Bytes, pace: Pace, target: Span) -> Bytes {
    let connections = component.flows().len() as u64;
    let unit = message.count().max(1) * connections;
    Bytes::new(pace.work_for(target).div_ceil(unit).max(1) * unit)
}

/// The amount of work that lasts `target` at the pace of a pilot, at least one.
pub fn amount_for(pace: Pace, target: Span) -> u64 {
    pace.work_for(target).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_whole_messages_on_every_connection() {
        let message = Bytes::new(1250);
        let second = Span::from_seconds(1);
        let pace = Pace { done: 1_000_001, took: second };
        let volume = volume_for(Component::SendRecv, message, pace, second);
        assert_eq!(volume.count() % (2 * 1250), 0);
        assert!(volume.count() >= 1_000_001 && volume.count() < 1_000_001 + 2 * 1250);
    }

    #[test]
    fn a_pilot_that_moved_nothing_still_gives_one_message() {
        let nothing = Pace { done: 0, took: Span::ZERO };
        let second = Span::from_seconds(1);
        assert_eq!(volume_for(Component::Send, Bytes::new(100), nothing, second), Bytes::new(100));
        assert_eq!(amount_for(nothing, second), 1);
    }

    #[test]
    fn work_scales_with_the_target() {
        let pace = Pace { done: 1000, took: Span::from_milliseconds(250) };
        assert_eq!(amount_for(pace, Span::from_seconds(1)), 4000);
    }

    #[test]
    fn the_faster_pace_has_more_work_in_the_same_time() {
        let pace = |done, milliseconds| Pace { done, took: Span::from_milliseconds(milliseconds) };
        // A pilot that waited 200 ms for a timer is slower, though it did as much.
        assert!(pace(1000, 100).is_faster_than(pace(1000, 300)));
        assert!(pace(2000, 150).is_faster_than(pace(1000, 100)));
        assert!(!pace(1000, 100).is_faster_than(pace(2000, 200)));
        assert!(!pace(0, 100).is_faster_than(pace(1, 100)));
        assert!(pace(u64::MAX, 1).is_faster_than(pace(u64::MAX, u64::MAX / 1_000_000)));
    }
}
