//! UDP: a paced stream in both roles, and request and response.

pub(crate) mod header;
mod hold;
mod jitter;
pub(crate) mod pace;
pub(crate) mod post;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod seen;
pub(crate) mod send;

#[cfg(test)]
pub(crate) use header::{DatagramKind, Header};
