//! The papers' own results, recomputed from their own rows.

pub mod btu95;
pub mod citi89;
mod claim;
pub mod lantz85;
pub mod netpipe96;
pub mod press88;
mod study;

pub use claim::Claim;
pub use study::{ReferencePoint, Study};
