//! What is done before a measurement begins, and while it goes on: checks of this machine, hosts,
//! and the session of a run.

pub(crate) mod company;
pub(crate) mod hosts;
pub(crate) mod preflight;
pub(crate) mod privilege;
pub(crate) mod progress;
pub(crate) mod study;

/// Wall time for the record; no measurement uses it.
pub(crate) fn wall_clock() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
