//! The state of the machine and the network during the measurement of a size.

use btu_units::Span;
use serde::{Deserialize, Serialize};

use crate::record::{MachineCpu, WireAccount};

/// The state of the machine and the network during the measurement of a size, warm-up and all
/// trials together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// CPU time of the near end's machine, all its processors together, and the state of its
    /// clocks.
    pub machine: MachineCpu,
    /// CPU time of the near end's worker; absent where it could not be read.
    #[serde(rename = "near_cpu_ns", default, skip_serializing_if = "Option::is_none")]
    pub near_cpu: Option<Span>,
    /// CPU time of the far end's worker; absent where it could not be read.
    #[serde(rename = "far_cpu_ns", default, skip_serializing_if = "Option::is_none")]
    pub far_cpu: Option<Span>,
    /// The time of a cache line from one end's processor to the other's and back when they are near each
    /// other, as earlier runs found it; absent where none did ([`Apart`](crate::record::Apart)).
    #[serde(rename = "near_core_to_core_ns", default, skip_serializing_if = "Option::is_none")]
    pub near_core_to_core: Option<Span>,
    /// The account of the emulator between the ends; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<WireAccount>>,
}

impl Conditions {
    /// Those of the machine alone.
    pub fn of(machine: MachineCpu) -> Self {
        Self { machine, near_cpu: None, far_cpu: None, near_core_to_core: None, network: None }
    }
}
