//! The papers' own results, recomputed from their own rows.

pub mod btu95;
mod table;
