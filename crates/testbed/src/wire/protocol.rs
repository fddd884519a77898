//! The messages on the control socket: one JSON value in a line, one reply for each request.

use btu_suite::network::Impairments;
use btu_suite::record::WireAccount;
use serde::{Deserialize, Serialize};

/// A request of the coordinator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EmulatorRequest {
    /// Asks the wire to answer when it carries frames: a caller with this version may continue.
    Hello(u32),
    /// Impair incoming packets at these hosts from now on; others do not change.
    Set(Impairments),
    /// Show the accounts since the last reset.
    Account,
    /// The emulator resets its accounts.
    Reset,
    /// The emulator ends.
    Stop,
}

/// A reply of the emulator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reply {
    /// The request was carried out.
    Done,
    /// The reply contains the accounts.
    Account(Box<WireAccount>),
    /// The request is refused, for this reason.
    Refused(String),
}

/// The version: counts incompatible changes of this protocol.
pub(super) const VERSION: u32 = 2;

/// Longest line either side accepts: a request is far shorter, an account of a thousand stations a
/// fraction of it.
pub(super) const LONGEST_LINE: usize = 4 << 20;
