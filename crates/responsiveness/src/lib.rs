//! Responsiveness under working conditions: how many round trips a minute an application gets while
//! the network is full, by the method of draft-ietf-ippm-responsiveness-09.
//!
//! [`measure`] is the client: connections over HTTP/2 and TLS fill one direction, one more in each
//! interval, while probes take times: requests on those connections ("loaded"), and on new connections
//! ("foreign"), whose TCP and TLS handshakes count, too. [`Server`] answers the four URLs of
//! the draft's section 7.

#![forbid(unsafe_code)]

mod client;
mod connection;
mod discovery;
mod error;
mod load;
mod method;
mod probe;
mod report;
mod server;
mod tls;

pub use client::{MeasurementProgress, measure};
pub use discovery::{Target, WELL_KNOWN};
pub use error::{ResponsivenessError, ServerError};
pub use method::{Method, responsiveness};
pub use report::{
    Confidence, Counts, Idle, IntervalReport, Parts, ResponsivenessReport, Rpm, Way, WayReport,
};
pub use server::{Certificate, PORT, ResponsivenessSettings, Server};
pub use tls::Trust;
