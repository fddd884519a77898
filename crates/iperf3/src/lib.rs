//! A server for iperf3's clients: they need no change, and many measure at a time. And a client for
//! its servers ([`Client`]), which shares the protocol, the control connection and the streams.
//!
//! ```text
//! accept --> cookie --> known: a data connection of that test
//!                   \-> new:   a test, if there is a place: parameters, streams, data, results
//! ```
//!
//! Each test has a thread for its control connection (`session`) and one for each stream
//! (`tcp`, `udp`). The stream's thread counts, and only it writes its counters; the test's
//! thread reads them when the omitted seconds are over and when the client ends the test. So loops
//! of data neither lock nor allocate.
//!
//! Every state of a test has a deadline, every length a limit. UDP is sent only to an address from
//! which a client completed the TCP handshake of its control connection and sent a UDP greeting, so
//! that no caller can use this server to flood a third party.

#![forbid(unsafe_code)]

mod client;
mod company;
mod control;
mod counters;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod pace;
mod protocol;
mod registry;
mod report;
mod results;
mod server;
mod session;
mod settings;
mod streams;
mod tcp;
mod udp;
mod way;

pub use client::{Client, ClientDeadlines, ClientReport, Handshake, Second};
pub use company::{Company, Neighbour};
pub use error::{Ending, Iperf3Error};
pub use protocol::{Direction, PORT, Protocol, TestSide};
pub use report::Report;
pub use server::{Event, Server};
pub use settings::{Deadlines, Limits, Settings};
pub use way::{Datagrams, DirectionReport};
