//! The 1995 BTU paper: every mean, rating and penalty, as printed and as recomputed from its raw
//! rows.
//!
//! The paper's computation follows from its own tables: for a message size and a load the
//! *duration* is the geometric mean over the six components; for a size it is a mean over the three
//! loads (geometric for some machines, arithmetic for others); BTU is 32 Mb (4 MB) over it, rounded
//! to two decimals; and the rating is a mean of BTU over the five sizes.

mod corrected;
pub(crate) mod data;
mod means;
mod penalties;
mod ratings;
mod rows;

use btu_stats::Means;
use serde::Serialize;

pub(super) use corrected::reference_points;
pub use corrected::{Corrected, corrected};
pub use means::{Half, MeanCheck, MeanKind};
pub use penalties::{PenaltyCheck, Side};
pub use ratings::{OverLoads, Rating95, RowSource};
pub use rows::{Activity, MESSAGE_BYTES, Machine};

/// Everything about the four machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Btu95History {
    /// The machines, in the order of the published geometric means.
    pub machines: Vec<MachineHistory>,
    /// The order of the machines by each rule.
    pub rankings: Vec<Ranking>,
}

/// The published numbers of one machine of 1995, and those that follow from its rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineHistory {
    /// The machine that the numbers belong to.
    pub machine: Machine,
    /// Tables 5 and A17 as printed, Mb/s.
    pub published_megabits_per_second: Means,
    /// Table 4 as printed.
    pub configuration: Configuration,
    /// The rating by every rule.
    pub ratings: Vec<Rating95>,
    /// Each mean of tables A5 to A16.
    pub means: Vec<MeanCheck>,
    /// Each cell of Table 2.
    pub penalties: Vec<PenaltyCheck>,
    /// The sum of the six penalties for each message size, recomputed, seconds (Figure 3b).
    pub total_penalty_seconds: [f64; 5],
}

/// The data of a machine in Table 4.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// The `SPECint92` rating, a measure of the speed of integer work.
    pub specint92: f64,
    /// Price in US dollars of the time.
    pub price_usd: f64,
    /// The operating system of the machine.
    pub system: &'static str,
    /// The processor of the machine.
    pub processor: &'static str,
    /// The network interface of the machine.
    pub network: &'static str,
}

/// The machines from best to worst by one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The source of the durations; `None` for the published ratings.
    pub rows: Option<RowSource>,
    /// The kind of mean over the loads; `None` for the published ratings.
    pub over_loads: Option<OverLoads>,
    /// Which mean over the sizes.
    pub over_sizes: MeanKind,
    /// Best first, with the rating in Mb/s.
    pub order: Vec<(Machine, f64)>,
}

/// Recomputes all numbers of the 1995 paper from its printed rows.
pub fn history() -> Btu95History {
    let mut machines: Vec<MachineHistory> = Machine::ALL.into_iter().map(of_machine).collect();
    machines.sort_by(|a, b| {
        b.published_megabits_per_second
            .geometric
            .total_cmp(&a.published_megabits_per_second.geometric)
    });
    let rankings = rankings(&machines);
    Btu95History { machines, rankings }
}

fn of_machine(machine: Machine) -> MachineHistory {
    let (published_megabits_per_second, configuration) = rows::published(machine);
    MachineHistory {
        machine,
        published_megabits_per_second,
        configuration,
        ratings: ratings::all(machine),
        means: means::check(machine),
        penalties: penalties::check(machine),
        total_penalty_seconds: penalties::totals(machine),
    }
}

/// By the published numbers, then by each rule with each mean over the sizes.
fn rankings(machines: &[MachineHistory]) -> Vec<Ranking> {
    let order = |rating: &dyn Fn(&MachineHistory) -> f64| {
        let mut order: Vec<_> =
            machines.iter().map(|machine| (machine.machine, rating(machine))).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        order
    };
    let published = MeanKind::ALL.into_iter().map(|over_sizes| Ranking {
        rows: None,
        over_loads: None,
        over_sizes,
        order: order(&|machine| over_sizes.of(&machine.published_megabits_per_second)),
    });
    let rules = (0..machines.first().map_or(0, |machine| machine.ratings.len()))
        .flat_map(|rule| MeanKind::ALL.into_iter().map(move |over_sizes| (rule, over_sizes)));
    let recomputed = rules.map(|(rule, over_sizes)| Ranking {
        rows: Some(machines[0].ratings[rule].rows),
        over_loads: Some(machines[0].ratings[rule].over_loads),
        over_sizes,
        order: order(&|machine| over_sizes.of(&machine.ratings[rule].megabits_per_second)),
    });
    published.chain(recomputed).collect()
}

#[cfg(test)]
mod tests;
