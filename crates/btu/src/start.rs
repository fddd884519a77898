//! What is done before a measurement begins, and while it goes on: checks of this machine, hosts,
//! and the session of a run.

pub(crate) mod hosts;
pub(crate) mod preflight;
pub(crate) mod privilege;
pub(crate) mod progress;
pub(crate) mod study;
pub(crate) mod virtual_time;

use btu_testbed::testbed::{OtherOwner, RuntimeDirectory};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::exit::Refusal;

/// The signals that end a server, as a descriptor that does not block; called before there are other
/// threads, which would take the signals.
pub(crate) fn ending_signals() -> Result<SignalFd, Refusal> {
    let failed =
        |error: nix::Error| Refusal::Machine(format!("waiting for signals: {error}; try again"));
    let mask: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    mask.thread_block().map_err(failed)?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&mask, flags).map_err(failed)
}

/// Most runs that the warning names.
const MOST_NAMED: usize = 3;

/// The warning that other runs measured on this machine since the directory was claimed.
pub(crate) fn company(claimed: &RuntimeDirectory) -> Option<String> {
    about(&claimed.others())
}

/// Names the first, which overlapped longest, and counts the rest.
fn about(others: &[OtherOwner]) -> Option<String> {
    let named = others.iter().take(MOST_NAMED);
    let named = named.map(|other| format!("{} (process {})", other.command, other.process));
    let named: Vec<String> = named.collect();
    let more = match others.len() - named.len() {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!("{named}{more} measured on this machine at the same time: each may have slowed the other; measure again alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_runs_are_named_and_the_rest_counted() {
        let others: Vec<OtherOwner> =
            (1..=9).map(|process| OtherOwner { process, command: "btu app".to_owned() }).collect();
        let three = "btu app (process 1), btu app (process 2), btu app (process 3)";
        let begins = |count: usize, with: &str| {
            let text = about(&others[..count]).expect("a warning");
            assert!(text.starts_with(&format!("{with} measured on this machine")), "{text}");
        };
        assert_eq!(about(&[]), None);
        begins(1, "btu app (process 1)");
        begins(3, three);
        begins(4, &format!("{three} and 1 other"));
        begins(9, &format!("{three} and 6 others"));
    }
}
