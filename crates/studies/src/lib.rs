//! The studies: what each of them measures, its verdict, and what its paper printed. Pure: no clock, no socket,
//! no file. Agents, workers and the store know none of it.

#![forbid(unsafe_code)]

pub mod app;
pub mod breakdown;
pub mod compare;
pub mod copy;
pub mod fleet;
pub mod imports;
mod judged;
pub mod lan;
pub mod limits;
pub mod papers;
pub mod pipe;
pub mod rank;
pub mod rate;
pub mod run;
pub mod speed;

pub use judged::Judged;
