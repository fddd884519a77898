//! Runs side by side, as a page.

mod first;
mod page;
mod words;

pub use page::comparison_page;
