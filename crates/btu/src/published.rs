//! Published results: what is in the published form of a run, and how boards are spoken to.

mod cell;
pub(crate) mod client;
mod environment;
pub(crate) mod form;
pub(crate) mod key;
