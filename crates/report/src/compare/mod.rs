//! Runs side by side, for a terminal and as Markdown.

mod markdown;
mod text;
mod words;

pub use markdown::comparison_markdown;
pub use text::comparison_text;
