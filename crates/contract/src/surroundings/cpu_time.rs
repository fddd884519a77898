//! The CPU time of a process.

use btu_units::Span;
use serde::{Deserialize, Serialize};

/// CPU time of a process (`getrusage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTime {
    /// The CPU time in user mode.
    #[serde(rename = "user_ns")]
    pub user: Span,
    /// In the kernel on the process's behalf.
    #[serde(rename = "system_ns")]
    pub system: Span,
    /// Ready to run, while others had the processors (`schedstat`, second number): of an activity with
    /// one thread. Absent of several threads, where the kernel does not tell, and in records of older
    /// versions.
    #[serde(rename = "waited_ns", default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Span>,
    /// How long the control group of the process was kept from the processors because it had used its time, of all
    /// processors together. Absent without a limit.
    #[serde(rename = "throttled_ns", default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Span>,
}

impl CpuTime {
    /// Without a reading of the time that threads waited.
    pub const fn of(user: Span, system: Span) -> Self {
        Self { user, system, waited: None, throttled: None }
    }

    /// In user mode and in the kernel.
    pub fn used(self) -> Span {
        self.user + self.system
    }

    /// What was added since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let added = |now: Option<Span>, earlier: Option<Span>| Some(now?.saturating_sub(earlier?));
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            waited: added(self.waited, earlier.waited),
            throttled: added(self.throttled, earlier.throttled),
        }
    }
}
