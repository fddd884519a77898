//! TCP: bulk streams in both roles, and request and response.

pub(crate) mod acceptor;
mod info;
pub(crate) mod line;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod respond;
mod rest;
pub(crate) mod send;
mod watch;
