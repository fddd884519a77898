//! What the kernel knows of the wall clock's error.
#![allow(unsafe_code)]

use btu_units::Span;

/// Whether the wall clock is synchronised, and how wrong it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockState {
    /// Whether a program has synchronised it, such as one that speaks NTP, and the kernel still
    /// takes that as good.
    pub is_synchronised: bool,
    /// The largest error: the kernel lets it grow by 500 parts per million since the last
    /// correction, up to 16 s.
    pub most_error: Span,
}

/// The state of the wall clock by `adjtimex(2)`; `None` where the system does not tell it, as in
/// some sandboxes.
pub fn clock_state() -> Option<ClockState> {
    // SAFETY: the structure has numbers only, for which zeros are valid.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure of this type; with `modes` of zero the call only
    // reads the clock's state into it.
    let code = unsafe { libc::adjtimex(&raw mut state) };
    let is_synchronised = code != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    let most_error = Span::from_microseconds(u64::try_from(state.maxerror).unwrap_or(0));
    (code >= 0).then_some(ClockState { is_synchronised, most_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_synchronised_clock_is_below_the_kernels_limit() {
        let Some(state) = clock_state() else { return };
        // NTP_PHASE_LIMIT of the kernel's timex.h is 16 s.
        assert!(state.most_error <= Span::from_seconds(16), "{state:?}");
        assert!(!state.is_synchronised || state.most_error > Span::ZERO, "{state:?}");
    }
}
