//! The wire: the process that carries frames between stations' ports through a medium, in real
//! time.
//!
//! One plain thread does all work, in turns: take frames from the ports, hand them to the network
//! ([`btu_medium::Fabric`]) with the time at which the kernel got them, send the due frames, wait.
//! Between turns it exchanges messages with its controller over a Unix socket. Deadlines are
//! absolute and come from the network, so a late wake-up delays single frames and is measured
//! ([`WireAccount::lateness`]), but never shifts what follows.
//!
//! Its treatment of frames:
//! * a line's delay, loss, duplication and reordering act on every Ethernet frame;
//! * the loss of a station's input (DR) acts on IPv4 and IPv6 packets only, so address resolution
//!   still works; its delay (DL) acts on every frame, so no frame overtakes another;
//! * a frame that is to be damaged has one bit inverted, anywhere from its destination address to
//!   its end, as the kernel's netem does (there is no check sequence between namespaces; a receiver
//!   detects a wrong address or checksum);
//! * VLAN tags are not carried: the kernel takes them off before a packet socket sees the frame.
//!
//! [`WireAccount::lateness`]: btu_contract::record::WireAccount::lateness

mod accounts;
mod busy_polling;
mod client;
mod control;
mod describe;
mod driver;
mod emulated;
mod epoll;
mod error;
mod forwarder;
mod plan;
mod port_queue;
mod realtime;
mod wait;

pub use client::WireClient;
#[doc(hidden)]
pub use control::fuzz_control;
pub use driver::run;
pub use error::WireError;
pub use plan::WirePlan;
pub use realtime::{Wakefulness, prepare};
pub(crate) use realtime::{hold_latency, take_precedence};
