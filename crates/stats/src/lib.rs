//! Means, intervals, ratings, penalties and distributions. This crate knows no networks and reads
//! no clock.
//!
//! Every function is pure and total: a value that cannot be computed (too few values, a rate of
//! zero in a geometric mean) is `None`, never a silent not-a-number. Rates are positive and spread
//! over orders of magnitude, so their means and intervals are made in the logarithmic domain:
//! [`over_blocks`] is the mean over rows of repeated blocks, [`geometric_interval`] that of values, and
//! [`mean_ratio`] that of ratios.

#![forbid(unsafe_code)]

mod binomial;
mod bootstrap;
mod components;
mod factorial;
mod histogram;
mod holm;
mod interval;
mod kruskal_wallis;
mod line;
mod log_sample;
mod means;
mod median_polish;
mod over_blocks;
mod quantile;
mod spread;
mod trimmed;
mod welford;

pub use binomial::{Proportion, batches, wilson, wilson_by_batches};
pub use bootstrap::{Bootstrap, Method};
pub use components::TwoWay;
pub use factorial::{Effect, Effects, Factorial, Term};
pub use histogram::Histogram;
pub use holm::holm;
pub use interval::{
    Estimate, Interval, Level, difference, normal_density, normal_probability, normal_quantile,
    ratio, student_p, student_quantile,
};
pub use kruskal_wallis::{KruskalWallis, kruskal_wallis};
pub use line::Line;
pub use log_sample::{LogSample, geometric_interval, mean_ratio};
pub use means::{Means, arithmetic_mean, geometric_mean};
pub use median_polish::MedianPolish;
pub use over_blocks::{OverBlocks, over_blocks};
pub use quantile::quantile;
pub use spread::{jain, mean_interval, median, outliers, sample_deviation, sample_variance};
pub use trimmed::{mean_without_highest_tenth, relative_range, trimmed_mean};
pub use welford::Welford;
