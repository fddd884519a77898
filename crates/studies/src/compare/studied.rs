//! Runs of studies: the compared quantities of a cell, and the differences of two plans.

use std::collections::{BTreeMap, BTreeSet};

use btu_contract::json;
use btu_units::Span;
use serde_json::Value;

use btu_contract::experiment::{Measured, Quantity, Scripts};

use super::{Aspect, PlanDifference, StudyRow};
use crate::rate::Reading;

/// The plans' keys of repetitions and times.
const PROFILE: [&str; 5] = ["profile", "blocks", "budget_ns", "deadline_ns", "left_out"];

/// The speeds of a cell: its goodput, and one over the time that it took. Empty for a void cell.
pub fn study_readings<E: Scripts>(plan: &E, cell: &Measured<E::Cell>) -> Vec<Reading<StudyRow>> {
    let facts = plan.facts(&cell.cell, &cell.seen);
    let speed = |time: Option<Span>| time.map(|time| 1.0 / time.seconds());
    let [up, down] = [0, 1].map(|way| facts.both_ways.map(|both| both[way]));
    let speeds = [
        (Quantity::Goodput, facts.goodput_bits_per_second),
        (Quantity::GoodputUp, up),
        (Quantity::GoodputDown, down),
        (Quantity::Time, speed(facts.duration)),
        (Quantity::RoundTrip, speed(facts.round_trip)),
    ];
    let reading = |(quantity, per_second): (Quantity, Option<f64>)| {
        let name = plan.quantity_name(&cell.cell, quantity);
        let row = StudyRow { cell: cell.cell.to_string(), quantity, name };
        let reading = Reading { row, block: cell.block, per_second: per_second? };
        (cell.is_valid() && reading.counts()).then_some(reading)
    };
    speeds.into_iter().filter_map(reading).collect()
}

/// All differences between two plans of a study, except the seed, and what follows from networks that
/// differ.
pub fn study_differences<E: Scripts>(base: &E, other: &E) -> Vec<PlanDifference> {
    let is_elsewhere = base.frame().network != other.frame().network;
    let [ours, theirs] = [base, other].map(|plan| fields(plan, is_elsewhere));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differing = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
    let mut differences: Vec<PlanDifference> = differing
        .flat_map(|name| {
            let (aspect, values) = (aspect(name), [&ours, &theirs].map(|fields| fields.get(name)));
            let networks = [base, other].map(|plan| plan.frame().network.to_string());
            if aspect == Aspect::Network {
                PlanDifference::of_networks(networks, values)
            } else {
                PlanDifference::below(aspect, name, values)
            }
        })
        .collect();
    differences.sort_by_key(|difference| {
        Aspect::ALL.iter().position(|aspect| *aspect == difference.aspect)
    });
    differences
}

/// The plan by its keys, without the seed, and without what follows from the network if that is
/// another.
fn fields<E: Scripts>(plan: &E, is_elsewhere: bool) -> BTreeMap<String, Value> {
    let mut plan = plan.clone();
    plan.frame_mut().seed = 0;
    if is_elsewhere {
        plan.forget_network();
    }
    match json::to_value(&plan) {
        Ok(Value::Object(fields)) => fields.into_iter().collect(),
        // Plans are structures with text keys.
        _ => BTreeMap::new(),
    }
}

fn aspect(field: &str) -> Aspect {
    match field {
        "version" => Aspect::Version,
        "network" => Aspect::Network,
        name if PROFILE.contains(&name) => Aspect::Profile,
        _ => Aspect::Options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{Phase, SpeedPlan};
    use btu_contract::activity::{OpenLoop, Receiving};
    use btu_contract::experiment::{Field, Frame, Raised};

    fn plan() -> SpeedPlan {
        let (name, text, stations) = ("a line".to_owned(), "drawn".to_owned(), Vec::new());
        SpeedPlan {
            frame: Frame {
                version: 1,
                seed: 7,
                profile: "quick".to_owned(),
                blocks: 1,
                budget: Span::from_seconds(9),
                deadline: Span::from_seconds(9),
                left_out: Vec::new(),
                network: Field::Drawing(Raised {
                    name,
                    text,
                    stations,
                    congestion_control: None,
                    ipv6: false,
                }),
            },
            phases: vec![Phase::Idle, Phase::Up],
            time: Span::from_seconds(3),
            requests: None,
            idle: Span::from_seconds(1),
            streams: 1,
            offered: None,
            dscp: None,
            receiving: Receiving::Plain,
        }
    }

    #[test]
    fn plans_differ_in_what_they_decide_and_not_in_their_seeds() {
        let base = plan();
        let mut other = plan();
        other.frame.seed = 8;
        assert_eq!(study_differences(&base, &other), []);
        (other.streams, other.frame.blocks) = (4, 5);
        let Field::Drawing(raised) = &mut other.frame.network else { panic!("raised") };
        raised.name = "another".to_owned();
        let said: Vec<String> =
            study_differences(&base, &other).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["network from a line to another", "blocks from 1 to 5", "streams from 1 to 4"]
        );
    }

    /// A long queue takes longer to fill, and cells on a slow line may last longer.
    #[test]
    fn what_follows_from_the_network_is_no_difference_of_its_own() {
        let base = plan();
        let mut slower = plan();
        slower.frame.deadline = Span::from_seconds(60);
        slower.requests = Some(OpenLoop {
            lead: Span::from_seconds(3),
            ..OpenLoop::every(Span::from_seconds(1))
        });
        let base =
            SpeedPlan { requests: Some(OpenLoop::every(Span::from_milliseconds(20))), ..base };
        assert_eq!(study_differences(&base, &slower).len(), 3);
        let Field::Drawing(raised) = &mut slower.frame.network else { panic!("raised") };
        raised.name = "another".to_owned();
        let found = study_differences(&base, &slower);
        assert_eq!(found.iter().map(|one| one.aspect).collect::<Vec<_>>(), [Aspect::Network]);
    }
}
