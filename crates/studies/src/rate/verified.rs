//! A prediction from where the time goes, put to the test: if a load's part in waiting for processors is what an activity
//! loses, then without it only the rest is lost.

use btu_contract::load::Load;
use btu_stats::Estimate;
use serde::Serialize;

use super::AddedTime;
use super::context::Context;
use super::plan::Predicted;
use super::row::Component;

/// The time of a component under the CPU load, over its time alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Verified {
    /// The component, and what the earlier run says of it.
    #[serde(flatten)]
    pub predicted: Predicted,
    /// With a load that gives way; `None` if it was not measured.
    pub seen: Option<Estimate>,
}

impl Verified {
    /// The part of the predicted gain that was seen; 1 is all of it.
    pub fn gained(&self) -> Option<f64> {
        let Predicted { found, without_waiting, .. } = self.predicted;
        Some((found - self.seen?.value) / (found - without_waiting))
    }
}

/// What the run predicts: of the components that wait under the CPU load, beyond chance.
pub fn predicted(added_time: &[AddedTime]) -> Vec<Predicted> {
    let waits =
        |one: &&AddedTime| one.load == Load::Cpu && one.shares().is_some() && one.waiting > 0.0;
    let predicted = added_time.iter().filter(waits).map(|one| Predicted {
        component: one.component,
        found: 1.0 + one.added.value,
        without_waiting: 1.0 + one.added.value - one.waiting,
    });
    predicted.collect()
}

pub(super) fn verified(added_time: &[AddedTime], context: &Context) -> Vec<Verified> {
    let seen = |component: Component| {
        let one =
            added_time.iter().find(|one| (one.component, one.load) == (component, Load::Cpu))?;
        Some(Estimate {
            value: 1.0 + one.added.value,
            interval: one.added.interval.map(|ends| ends.map(|end| 1.0 + end)),
        })
    };
    let predicted = context.plan.verifies.iter().flat_map(|verifies| &verifies.predicted);
    predicted.map(|one| Verified { predicted: *one, seen: seen(one.component) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_that_of_the_prediction() {
        let predicted = Predicted { component: Component::Send, found: 2.0, without_waiting: 1.2 };
        let seen = |value| Some(Estimate { value, interval: None });
        let gained = |seen| Verified { predicted, seen }.gained();
        assert_eq!(gained(None), None);
        assert!((gained(seen(1.2)).unwrap() - 1.0).abs() < 1e-12);
        assert!((gained(seen(1.6)).unwrap() - 0.5).abs() < 1e-12);
    }
}
