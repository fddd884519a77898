//! HINT on paper: text with the QUIPS graph for a terminal, the graph as a picture, a file for
//! other programs.

mod csv;
mod page;
mod picture;
#[cfg(test)]
mod tests;

pub use csv::hint_csv;
pub(crate) use page::hint_page;
pub use picture::hint_picture;

/// Where they are not faster at the largest number; at smaller ones they may have been.
const NOWHERE_FASTER: &str =
    "From no number of intervals on were two processes found faster than one.";
