//! What each activity loses because the others run (Table 2 of the paper).
//!
//! `COMM_load` is what the network activity loses beside a host load, `LOAD_comm` what the host activity loses beside the
//! network. The paper gives one mean over the components in seconds, each difference clipped at zero; here the signed
//! mean stands beside it, and the slowdown as a ratio with its interval: seconds depend on how much work was chosen,
//! the slowdown does not.

use std::collections::BTreeMap;

use btu_stats::{Estimate, LogSample, arithmetic_mean, contrast};
use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use super::LEVEL;
use super::cells::Cells;
use super::context::Context;
use crate::cell::{Component, Load, Row};

/// All penalties of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Penalties {
    /// By message size and load: the paper's Table 2.
    pub table: Vec<Penalty>,
    /// The paper's `TotalPenalty` of each message size: the sum of the table's columns (Fig. 3b).
    pub totals: Vec<TotalPenalty>,
    /// By component and load, over all message sizes.
    pub by_component: Vec<ComponentSlowdown>,
    /// By load, over all components and message sizes.
    pub by_load: Vec<LoadSlowdown>,
}

/// One message size under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    /// The message size.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The host activity.
    pub load: Load,
    /// `COMM_load`: what the network activities lose beside the host activity.
    pub network: Option<Side>,
    /// `LOAD_comm`: what the host activity loses beside the network activities.
    pub host: Option<Side>,
    /// Each component on its own.
    pub components: Vec<ComponentPenalty>,
}

/// Seconds and slowdown of one side, over components. Seconds are for the work that the baseline did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Components that have both a baseline and a loaded time.
    pub components: usize,
    /// Arithmetic mean of the times alone.
    pub base_seconds: f64,
    /// Arithmetic mean of the times together.
    pub loaded_seconds: f64,
    /// The paper's penalty: arithmetic mean of max(0, together - alone).
    pub clipped_seconds: f64,
    /// Arithmetic mean of (together - alone), gains included.
    pub signed_seconds: f64,
    /// Geometric mean of together / alone: 2 means everything takes twice as long.
    pub slowdown: Estimate,
}

/// One component under one load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ComponentPenalty {
    /// The component.
    pub component: Component,
    /// The network activity alone and together.
    pub network: Option<Times>,
    /// The host activity alone and together.
    pub host: Option<Times>,
}

/// How long an activity takes alone and together with another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Alone.
    pub base_seconds: f64,
    /// Together, for the same work.
    pub loaded_seconds: f64,
    /// Together over alone.
    pub slowdown: Estimate,
}

/// The sum over loads of both sides of a message size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TotalPenalty {
    /// The message size.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Sum of the clipped penalties.
    pub clipped_seconds: f64,
    /// Sum of the signed penalties.
    pub signed_seconds: f64,
}

/// A component under a load, geometric mean over message sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ComponentSlowdown {
    /// The component.
    pub component: Component,
    /// The load.
    pub load: Load,
    /// Of the network activity beside the host activity.
    pub network: Option<Estimate>,
    /// Of the host activity beside the network activity.
    pub host: Option<Estimate>,
}

/// A load, geometric mean over components and message sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadSlowdown {
    /// The load.
    pub load: Load,
    /// Of the network activities beside the host activity.
    pub network: Option<Estimate>,
    /// Of the host activity beside the network activities.
    pub host: Option<Estimate>,
}

/// Makes the tables; sides without measurements stay empty.
pub(super) fn penalties(cells: &Cells, context: &Context) -> Penalties {
    let table: Vec<Penalty> = context
        .messages()
        .flat_map(|message| context.host_loads().map(move |load| (message, load)))
        .map(|(message, load)| penalty(cells, context, message, load))
        .collect();
    let messages: Vec<Bytes> = context.messages().collect();
    let pairs = |components: &[Component], load| Pairs::of(cells, components, &messages, load);
    let rated: Vec<Component> = context.rated().collect();
    let by_component = rated.iter().flat_map(|&component| {
        context.host_loads().map(move |load| {
            let pairs = pairs(&[component], load);
            ComponentSlowdown { component, load, network: slowdown(&pairs.network), host: slowdown(&pairs.host) }
        })
    });
    let by_load = context.host_loads().map(|load| {
        let pairs = pairs(&rated, load);
        LoadSlowdown { load, network: slowdown(&pairs.network), host: slowdown(&pairs.host) }
    });
    Penalties {
        totals: messages.iter().filter_map(|&message| total(&table, message)).collect(),
        by_component: by_component.collect(),
        by_load: by_load.collect(),
        table,
    }
}

fn penalty(cells: &Cells, context: &Context, message: Bytes, load: Load) -> Penalty {
    let rated: Vec<Component> = context.rated().collect();
    let components = rated.iter().map(|&component| {
        let pairs = Pairs::of(cells, &[component], &[message], load);
        ComponentPenalty { component, network: times(&pairs.network), host: times(&pairs.host) }
    });
    let components = components.collect();
    let pairs = Pairs::of(cells, &rated, &[message], load);
    Penalty { message, load, network: side(&pairs.network), host: side(&pairs.host), components }
}

fn total(table: &[Penalty], message: Bytes) -> Option<TotalPenalty> {
    let of_size = table.iter().filter(|penalty| penalty.message == message);
    let sides: Option<Vec<Side>> = of_size.flat_map(|penalty| [penalty.network, penalty.host]).collect();
    let sides = sides.filter(|sides| !sides.is_empty())?;
    Some(TotalPenalty {
        message,
        clipped_seconds: sides.iter().map(|side| side.clipped_seconds).sum(),
        signed_seconds: sides.iter().map(|side| side.signed_seconds).sum(),
    })
}

/// The same activity, alone and together.
struct Pair {
    /// Row of the baseline: several pairs may lean on the same one.
    base_row: Row,
    base: Measured,
    loaded: Measured,
}

/// Seconds of an activity's repetitions.
struct Measured {
    /// Arithmetic mean of the seconds per unit of work.
    seconds_per_work: f64,
    /// The repetitions' seconds per unit of work, for inference.
    sample: LogSample,
    /// Mean work of a repetition: bytes or rounds.
    work: f64,
}

impl Measured {
    /// From (seconds, work) of each repetition; `None` when there is none that took time and did work.
    fn of(repetitions: impl Iterator<Item = (f64, u64)>) -> Option<Self> {
        let done: Vec<(f64, u64)> = repetitions.filter(|(seconds, work)| *seconds > 0.0 && *work > 0).collect();
        let costs: Vec<f64> = done.iter().map(|(seconds, work)| seconds / *work as f64).collect();
        let works: Vec<f64> = done.iter().map(|(_, work)| *work as f64).collect();
        Some(Self {
            seconds_per_work: arithmetic_mean(&costs)?,
            sample: LogSample::of(&costs)?,
            work: arithmetic_mean(&works)?,
        })
    }
}

impl Pair {
    fn base_seconds(&self) -> f64 {
        self.base.seconds_per_work * self.base.work
    }

    /// Together, for the baseline's work: the same number of seconds as measured when the work was the same.
    fn loaded_seconds(&self) -> f64 {
        self.loaded.seconds_per_work * self.base.work
    }
}

/// Both sides of every combination that was measured alone and together.
struct Pairs {
    network: Vec<Pair>,
    host: Vec<Pair>,
}

impl Pairs {
    fn of(cells: &Cells, components: &[Component], messages: &[Bytes], load: Load) -> Self {
        let combinations =
            || components.iter().flat_map(|&component| messages.iter().map(move |&message| (component, message)));
        let row = |component, message, load| Row::Network { component, message, load };
        let network = combinations()
            .filter_map(|(component, message)| {
                let base_row = row(component, message, Load::Idle);
                let base = network_times(cells, base_row)?;
                Some(Pair { base_row, base, loaded: network_times(cells, row(component, message, load))? })
            })
            .collect();
        let base_row = Row::Host { load };
        let host = combinations()
            .filter_map(|(component, message)| {
                let base = host_times(cells, base_row)?;
                Some(Pair { base_row, base, loaded: host_times(cells, row(component, message, load))? })
            })
            .collect();
        Self { network, host }
    }
}

fn network_times(cells: &Cells, row: Row) -> Option<Measured> {
    Measured::of(cells.network(row).map(|network| (network.duration.seconds(), network.bytes.count())))
}

fn host_times(cells: &Cells, row: Row) -> Option<Measured> {
    Measured::of(cells.host(row).map(|host| (host.duration.seconds(), host.work)))
}

fn side(pairs: &[Pair]) -> Option<Side> {
    let mean = |of: &dyn Fn(&Pair) -> f64| arithmetic_mean(&pairs.iter().map(of).collect::<Vec<_>>());
    let difference = |pair: &Pair| pair.loaded_seconds() - pair.base_seconds();
    Some(Side {
        components: pairs.len(),
        base_seconds: mean(&Pair::base_seconds)?,
        loaded_seconds: mean(&Pair::loaded_seconds)?,
        clipped_seconds: mean(&|pair| difference(pair).max(0.0))?,
        signed_seconds: mean(&difference)?,
        slowdown: slowdown(pairs)?,
    })
}

fn times(pairs: &[Pair]) -> Option<Times> {
    let pair = pairs.first()?;
    Some(Times { base_seconds: pair.base_seconds(), loaded_seconds: pair.loaded_seconds(), slowdown: slowdown(pairs)? })
}

/// The geometric mean over `pairs` of together / alone. A baseline that several pairs share enters once with the sum
/// of their weights, so its own spread is not averaged away.
fn slowdown(pairs: &[Pair]) -> Option<Estimate> {
    let weight = 1.0 / pairs.len() as f64;
    let mut terms: Vec<(f64, LogSample)> = pairs.iter().map(|pair| (weight, pair.loaded.sample)).collect();
    let mut bases: BTreeMap<Row, (f64, LogSample)> = BTreeMap::new();
    for pair in pairs {
        bases.entry(pair.base_row).or_insert((0.0, pair.base.sample)).0 -= weight;
    }
    terms.extend(bases.into_values());
    contrast(&terms, LEVEL)
}
