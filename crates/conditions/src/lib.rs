//! Whether the machine was quiet while a test measured.
//!
//! A test that compares a measured number with a bound says so with [`judge!`]. Its bound was
//! derived for a machine on which nothing else runs. If the number is out of bounds, and other
//! programs or the hypervisor used the processors meanwhile, the test prints `NOT JUDGED` with the
//! reason and goes on; `scripts/test` lists these lines at its end. With
//! `BTU_MEASURED=required` such a number fails the test, as it does on a quiet machine.

#![allow(clippy::print_stdout, reason = "tests print what they do not judge")]
#![forbid(unsafe_code)]

mod probe;
mod reading;
mod watch;

use std::panic::Location;
use std::thread;
use std::time::Duration;

use reading::Reading;
use watch::Watch;

/// The largest share of the time of all processors that other programs may use: 0 to 1. On two
/// processors it is a tenth of one, which is more than the background work of an idle machine.
const MOST_OTHERS: f64 = 0.05;

/// The largest share of the time of all processors that the hypervisor may take: 0 to 1. `btu rate`
/// warns from the same share on.
const MOST_STEAL: f64 = 0.01;

/// Both shares are those of the worst time of this length. The tightest bounds are 2 % of 1.5 to 2
/// s, or 30 to 40 ms: so much, taken at once from one of two processors, is 1 % of 2 s.
const WINDOW: Duration = Duration::from_secs(2);

/// The number of processors for which bounds were derived: one for the emulator and the peers, one
/// for the machine under test.
const LEAST_PROCESSORS: usize = 2;

/// The longest time to wake a thread, in the median: bounds of a delay allow for 0.2 ms each way, in
/// which two programs are woken.
const LONGEST_WAKE: Duration = Duration::from_micros(100);

/// How much of a message is printed when nothing failed: characters.
const MOST_SAID: usize = 200;

/// The state of the machine since a test began to measure.
#[derive(Debug)]
pub struct Conditions {
    watch: Watch,
}

impl Conditions {
    /// Reads the processor time of all programs, now and once a second from now on. A reading costs
    /// some milliseconds.
    #[must_use]
    pub fn begin() -> Self {
        Self { watch: Watch::begin() }
    }

    /// Why bounds do not hold here; `None` if the machine was quiet since [`Self::begin`].
    #[must_use]
    pub fn disturbance(&self) -> Option<String> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        if processors < LEAST_PROCESSORS {
            return Some("everything shares one processor".to_owned());
        }
        disturbance(&self.watch.readings()).or_else(|| {
            let wake = probe::wake();
            (wake > LONGEST_WAKE).then(|| format!("this machine takes {wake:?} to wake a thread"))
        })
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
    let message = message.chars().take(MOST_SAID).collect::<String>();
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

/// What disturbed the worst window of these readings, which are in their order.
fn disturbance(readings: &[Reading]) -> Option<String> {
    windows(readings).find_map(|(before, after)| disturbed(before, after))
}

/// Every time of [`WINDOW`] from one reading to another; all of it, if it is shorter than that.
fn windows(readings: &[Reading]) -> impl Iterator<Item = (&Reading, &Reading)> {
    let end = |from: usize| {
        let due = readings[from].at + WINDOW;
        let found = readings.iter().skip(from + 1).find(|reading| reading.at >= due);
        found.or_else(|| readings.last().filter(|_| from == 0))
    };
    (0..readings.len()).filter_map(move |from| Some((&readings[from], end(from)?)))
}

fn disturbed(before: &Reading, after: &Reading) -> Option<String> {
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let during =
        |share: f64| format!("{:.0} % of the processors for {seconds:.1} s", 100.0 * share);
    let others = after.others_since(before);
    if others.share > MOST_OTHERS {
        let busiest = others.busiest.map_or_else(String::new, |name| format!(", `{name}` most"));
        return Some(format!("other programs used {}{busiest}", during(others.share)));
    }
    let stolen = after.stolen_since(before);
    (stolen > MOST_STEAL).then(|| format!("the hypervisor took {}", during(stolen)))
}

#[cfg(test)]
mod tests;
