//! The time that each activity loses because the others run (Table 2 of the paper).
//!
//! `COMM_load` is the loss of the network activity while a host load runs, `LOAD_comm` the loss of
//! the host activity while the network activity runs. The paper gives one mean over the components
//! in seconds, each difference clipped at zero; this module adds the signed mean, and the slowdown
//! as a ratio with its interval: seconds depend on the chosen amount of work, the slowdown does
//! not.

mod pairs;

use btu_stats::{Estimate, arithmetic_mean};
use btu_units::Bytes;
use serde::Serialize;

use btu_contract::load::Load;
use pairs::{ActivityPair, Pairs, slowdown};

use super::cells::Cells;
use super::context::Context;
use super::row::Component;

/// All penalties of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Penalty {
    /// The message size of this row.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// The host activity that ran at the same time as the network activities.
    pub load: Load,
    /// `COMM_load`: the loss of the network activities while the host activity runs.
    pub network: Option<Side>,
    /// `LOAD_comm`: the loss of the host activity while the network activities run.
    pub host: Option<Side>,
    /// Each component on its own.
    pub components: Vec<ComponentPenalty>,
}

/// Seconds and slowdown of one side, over components. Seconds are for the work that the baseline
/// did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
    /// Geometric mean of together / alone in the same block: 2 means that each activity takes twice as long. Its
    /// interval comes from the spread of whole blocks, and takes three of them.
    pub slowdown: Estimate,
}

/// One component under one load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComponentPenalty {
    /// The component, which is the network activity.
    pub component: Component,
    /// The network activity alone and together.
    pub network: Option<Times>,
    /// The host activity alone and together.
    pub host: Option<Times>,
}

/// The times of an activity alone and together with another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Times {
    /// The time alone, in seconds.
    pub base_seconds: f64,
    /// Together, for the same work.
    pub loaded_seconds: f64,
    /// The time together over the time alone.
    pub slowdown: Estimate,
}

/// The sum over loads of both sides of a message size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TotalPenalty {
    /// The message size of the sums.
    #[serde(rename = "message_bytes")]
    pub message: Bytes,
    /// Sum of the clipped penalties.
    pub clipped_seconds: f64,
    /// Sum of the signed penalties.
    pub signed_seconds: f64,
}

/// A component under a load, geometric mean over message sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComponentSlowdown {
    /// The component, which is the network activity.
    pub component: Component,
    /// The load, which is the host activity.
    pub load: Load,
    /// The slowdown of the network activity while the host activity runs.
    pub network: Option<Estimate>,
    /// The slowdown of the host activity while the network activity runs.
    pub host: Option<Estimate>,
}

/// A load, geometric mean over components and message sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoadSlowdown {
    /// The load, which is the host activity.
    pub load: Load,
    /// The slowdown of the network activities while the host activity runs.
    pub network: Option<Estimate>,
    /// The slowdown of the host activity while the network activities run.
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
            ComponentSlowdown {
                component,
                load,
                network: slowdown(&pairs.network),
                host: slowdown(&pairs.host),
            }
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
    let sides: Option<Vec<Side>> =
        of_size.flat_map(|penalty| [penalty.network, penalty.host]).collect();
    let sides = sides.filter(|sides| !sides.is_empty())?;
    Some(TotalPenalty {
        message,
        clipped_seconds: sides.iter().map(|side| side.clipped_seconds).sum(),
        signed_seconds: sides.iter().map(|side| side.signed_seconds).sum(),
    })
}

fn side(pairs: &[ActivityPair]) -> Option<Side> {
    let mean = |of: &dyn Fn(&ActivityPair) -> f64| {
        arithmetic_mean(&pairs.iter().map(of).collect::<Vec<_>>())
    };
    let difference = |pair: &ActivityPair| pair.loaded_seconds() - pair.base_seconds();
    Some(Side {
        components: pairs.len(),
        base_seconds: mean(&ActivityPair::base_seconds)?,
        loaded_seconds: mean(&ActivityPair::loaded_seconds)?,
        clipped_seconds: mean(&|pair| difference(pair).max(0.0))?,
        signed_seconds: mean(&difference)?,
        slowdown: slowdown(pairs)?,
    })
}

fn times(pairs: &[ActivityPair]) -> Option<Times> {
    let pair = pairs.first()?;
    Some(Times {
        base_seconds: pair.base_seconds(),
        loaded_seconds: pair.loaded_seconds(),
        slowdown: slowdown(pairs)?,
    })
}
