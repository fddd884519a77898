//! The papers' own results beside what their rows give.

mod btu95;

pub use btu95::btu95_text;
