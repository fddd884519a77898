//! Whether the machine was quiet while a test measured.
//!
//! A test that compares a measured number with a bound says so with [`judge!`]. Its bound was
//! derived for a machine on which nothing else runs. If the number is out of bounds, and other
//! programs or the hypervisor used the processors meanwhile, the test prints `NOT JUDGED` with the
//! reason and goes on; `scripts/test` lists these lines at its end. With
//! `BTU_MEASURED=required` such a number fails the test, as it does on a quiet machine.

#![allow(clippy::print_stdout, reason = "tests print what they do not judge")]
#![forbid(unsafe_code)]

mod reading;

use std::panic::Location;
use std::thread;

use reading::Reading;

/// The largest share of the time of all processors that other programs may use: 0 to 1. On two
/// processors it is a tenth of one, which is more than the background work of an idle machine.
const MOST_OTHERS: f64 = 0.05;

/// The largest share of the time of all processors that the hypervisor may take: 0 to 1. `btu rate`
/// warns from the same share on.
const MOST_STEAL: f64 = 0.01;

/// The number of processors for which bounds were derived: one for the emulator and the peers, one
/// for the machine under test.
const LEAST_PROCESSORS: usize = 2;

/// The state of the machine when a test began to measure.
#[derive(Debug)]
pub struct Conditions {
    before: Reading,
}

impl Conditions {
    /// Reads the processor time of all programs. Costs some milliseconds.
    #[must_use]
    pub fn begin() -> Self {
        Self { before: Reading::now() }
    }

    /// Why bounds do not hold here; `None` if the machine was quiet since [`Self::begin`].
    #[must_use]
    pub fn disturbance(&self) -> Option<String> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        if processors < LEAST_PROCESSORS {
            return Some("everything shares one processor".to_owned());
        }
        disturbance(&self.before, &Reading::now())
    }

    /// A measured number is out of bounds: see [`judge!`].
    ///
    /// # Panics
    /// The machine was quiet, or `BTU_MEASURED=required`.
    #[track_caller]
    pub fn out_of_bounds(&self, message: &str) {
        report(self.disturbance(), message);
    }
}

/// Prints that a number was not judged, for a reason.
///
/// # Panics
/// There is no reason, or `BTU_MEASURED=required`.
#[track_caller]
pub fn report(reason: Option<String>, message: &str) {
    let is_required = std::env::var("BTU_MEASURED").as_deref() == Ok("required");
    let Some(reason) = reason.filter(|_| !is_required) else { panic!("{message}") };
    let (thread, place) = (thread::current(), Location::caller());
    let test = thread.name().unwrap_or("test");
    println!("NOT JUDGED: {test} ({}:{}): {reason}: {message}", place.file(), place.line());
}

/// Compares a measured number with its bound: `judge!(conditions, holds, "message {number}")`.
/// `conditions` is a [`Conditions`], or anything with a method `out_of_bounds(&str)`.
#[macro_export]
macro_rules! judge {
    ($conditions:expr, $holds:expr, $($message:tt)+) => {
        if !$holds {
            $conditions.out_of_bounds(&format!($($message)+));
        }
    };
}

fn disturbance(before: &Reading, after: &Reading) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let others = after.others_since(before);
    if others.share > MOST_OTHERS {
        let busiest = others.busiest.map_or_else(String::new, |name| format!(", `{name}` most"));
        return Some(format!(
            "other programs used {} of the processors{busiest}",
            percent(others.share)
        ));
    }
    let stolen = after.stolen_since(before);
    (stolen > MOST_STEAL)
        .then(|| format!("the hypervisor took {} of the processors", percent(stolen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(others: &[(u32, &str, u64)], stolen: u64, all: u64) -> Reading {
        Reading::of(
            others.iter().map(|(id, name, ticks)| (*id, (*name).to_owned(), *ticks)),
            stolen,
            all,
        )
    }

    #[test]
    fn a_quiet_machine_has_no_disturbance() {
        let (before, after) =
            (reading(&[(7, "sshd", 900)], 10, 1000), reading(&[(7, "sshd", 940)], 19, 2000));
        assert_eq!(disturbance(&before, &after), None);
    }

    #[test]
    fn the_busiest_other_program_is_named() {
        let before = reading(&[(7, "sshd", 900), (8, "cc1", 5)], 10, 1000);
        let after = reading(&[(7, "sshd", 910), (9, "rustc", 60)], 10, 2000);
        let expected = "other programs used 6 % of the processors, `rustc` most";
        assert_eq!(disturbance(&before, &after).as_deref(), Some(expected));
    }

    #[test]
    fn stolen_time_is_a_disturbance() {
        let (before, after) = (reading(&[], 10, 1000), reading(&[], 21, 2000));
        let expected = "the hypervisor took 1 % of the processors";
        assert_eq!(disturbance(&before, &after).as_deref(), Some(expected));
    }

    #[test]
    #[should_panic(expected = "3 is not 4")]
    fn a_number_out_of_bounds_fails_on_a_quiet_machine() {
        report(None, "3 is not 4");
    }

    /// What this test itself does is no disturbance, and neither are the processes that it starts.
    #[test]
    fn own_work_is_not_that_of_others() {
        let before = Reading::now();
        let spin = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", spin]).status().expect("sh runs");
        assert!(status.success());
        let others = Reading::now().others_since(&before);
        assert_ne!(others.busiest.as_deref(), Some("sh"), "{others:?}");
    }
}
