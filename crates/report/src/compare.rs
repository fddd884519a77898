//! Runs side by side, for a terminal, as Markdown and as a page.

mod first;
mod markdown;
mod page;
mod text;
mod words;

pub use markdown::comparison_markdown;
pub use page::comparison_page;
pub use text::comparison_text;
