//! Commands that need neither a laboratory nor a privilege: these tests run side by side, and once.

#![allow(clippy::disallowed_methods, reason = "tests read JSON in their own way")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod archive;
#[path = "../support/board.rs"]
mod board;
mod clocks;
mod compare;
mod completions;
#[path = "../support/console.rs"]
mod console;
mod documents;
mod fixtures;
mod fuzz;
mod history;
mod imports;
mod limits;
mod model;
mod model_ui;
mod packaging;
mod promised;
mod promises;
mod publish;
mod published;
mod questions;
mod quoted;
mod rank;
mod recompute;
#[path = "../support/recompute.rs"]
mod recompute_cells;
mod refusals;
mod report;
mod resume;
mod roll;
mod shelf;
#[path = "../support/mod.rs"]
mod support;
