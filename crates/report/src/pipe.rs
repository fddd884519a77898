//! Signatures on paper: text with a plot for a terminal, the four graphs as pictures, files for
//! other programs.

mod comparison;
mod cost;
mod csv;
mod first;
mod np_out;
mod page;
mod picture;
mod plot;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod warnings;

pub use comparison::{StoredSignature, signatures_page, signatures_text};
pub use csv::pipe_csv;
pub use np_out::np_out;
pub use page::{pipe_page, set_page, several_page};
pub use picture::{Graph, NamedSignature, pipe_picture};
pub use plot::{ROWS as PLOT_ROWS, pipe_plot};
pub use set::{named as named_signatures, names as signature_names, set_csv, set_text, set_title};
pub use text::pipe_text;

pub(crate) use csv::ends_of;
pub(crate) use plot::{legend, plotted};
