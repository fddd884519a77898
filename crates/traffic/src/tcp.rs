//! TCP: bulk streams in both roles, request and response, and a connection for each request.

pub(crate) mod acceptor;
pub(crate) mod connect;
pub(crate) mod info;
pub(crate) mod line;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod respond;
mod rest;
pub(crate) mod send;
mod watch;
