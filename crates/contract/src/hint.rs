//! HINT: hierarchical integration, the benchmark that 1996's comparison of networks used (Gustafson
//! and Snell, "HINT: A New Way To Measure Computer Performance", 1995; the parallel form in the
//! `NetPIPE` paper, figure 6).
//!
//! The area under (1 - x)/(1 + x) from 0 to 1 is bounded from below and above by rectangles on a
//! grid of whole numbers. The more rectangles, the better the bounds: their quality over the time
//! is quality improvements per second, QUIPS. Each of several processes bounds its own chunks, and
//! every lap ends in a sum of two numbers over all of them.

mod kernel;
mod plan;
mod run;
mod verdict;

pub use kernel::{AREA, Bounds, Grid, Kernel, ProcessShare};
pub use plan::{HintNext, HintPlan, HintPoint, Reached};
pub use run::{HintRecord, HintResult, HintRun, judge_run};
pub use verdict::{HintStep, HintVerdict, judge};
