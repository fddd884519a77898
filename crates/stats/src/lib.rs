//! Means, intervals, ratings, penalties and distributions. Knows no networks, reads no clock.

mod histogram;

pub use histogram::Histogram;
