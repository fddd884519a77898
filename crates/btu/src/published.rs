//! Published results: what is in the published form of a run, and how boards are spoken to.

pub(crate) mod board;
mod cell;
mod environment;
pub(crate) mod form;
