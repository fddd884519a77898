//! Signatures on paper: text with a plot for a terminal, the four graphs as pictures, files for other programs.

mod csv;
mod doubts;
mod layers;
mod np_out;
mod picture;
mod plot;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod unit;

pub use csv::pipe_csv;
pub use layers::layers_text;
pub use np_out::np_out;
pub use picture::{Graph, NamedSignature, pipe_picture};
pub use plot::pipe_plot;
pub use text::pipe_text;
