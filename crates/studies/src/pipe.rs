//! `btu pipe`, after Snell, Mikler and Gustafson (1996): the verdict over a signature, the cost of each layer of a
//! stack, and what remains of a signature under a load.

mod cost;
mod layers;
mod merge;
mod set;
mod verdict;

pub use cost::{SignatureCost, SizeRatio, cost_over};
pub use layers::{LayerCost, layer_costs};
pub use set::{LoadCost, LoadedVerdict, SetVerdict, judge_set};
pub use verdict::{
    Dip, Exchanges, Fit, Knee, Latencies, OneWay, Peak, PipeCause, PipeVerdict, PipeWarning,
    SizeRange, SizeVerdict, Turn, judge,
};
