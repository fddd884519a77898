//! A board of published runs.
//!
//! Nothing that a publisher says is believed: the board keeps the archive of raw cells, has `btu` compute
//! everything again ([`program`]), and shows by the run rules what the number may be called. A reader of
//! the board can do the same: the archive, the manifest and its signature are there.

#![forbid(unsafe_code)]

pub mod actions;
pub mod board;
pub mod chain;
pub mod database;
pub mod error;
pub mod log;
mod metrics;
mod pages;
pub mod program;
mod ranking;
pub mod receive;
pub mod runs;
mod scratch;
pub mod server;
mod web;

pub use board::Board;
pub use web::{metrics_router, router};
