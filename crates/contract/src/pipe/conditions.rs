//! The state of the machine and the network during the measurement of a size.

use btu_units::Span;
use serde::{Deserialize, Serialize};

use crate::surroundings::{MachineCpu, WireAccount};

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
    /// The account of the emulator between the ends; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<WireAccount>>,
}

impl Conditions {
    /// Those of the machine alone.
    pub fn of(machine: MachineCpu) -> Self {
        Self { machine, near_cpu: None, far_cpu: None, network: None }
    }
}
