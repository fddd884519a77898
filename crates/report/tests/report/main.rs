//! Reports in every format, from a made-up run, from predictions and from comparisons.

#![allow(clippy::disallowed_methods, reason = "tests read JSON in their own way")]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "helpers of tests print what they leave out"
)]

mod browser;
mod compare;
mod first_screen;
mod formulas;
mod model;
mod run;
mod run_report;
mod sample;
mod screen;
mod simulation;
mod terminal;
mod workbook;
