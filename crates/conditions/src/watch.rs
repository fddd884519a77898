//! Readings of a machine once a second, by a thread that lives as long as its test program.
//!
//! A number is measured in seconds, a test takes up to minutes: what was taken from one number
//! disappears in the mean over the test.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::reading::Reading;

/// From one reading to the next. A reading takes some milliseconds of one processor.
const EACH: Duration = Duration::from_secs(1);

static READINGS: Mutex<Vec<Reading>> = Mutex::new(Vec::new());
static BEGUN: Once = Once::new();

/// The readings of one test: those of the program from this one on.
#[derive(Debug)]
pub(crate) struct Watch(usize);

impl Watch {
    pub(crate) fn begin() -> Self {
        BEGUN.call_once(|| {
            thread::spawn(|| {
                loop {
                    thread::sleep(EACH);
                    read();
                }
            });
        });
        Self(read())
    }

    /// All readings since then, and one of now.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        read();
        readings()[self.0..].to_vec()
    }
}

/// Adds a reading, and returns its number. The lock is taken first, so that readings are in order.
fn read() -> usize {
    let mut readings = readings();
    readings.push(Reading::now());
    readings.len() - 1
}

fn readings() -> MutexGuard<'static, Vec<Reading>> {
    READINGS.lock().unwrap_or_else(PoisonError::into_inner)
}
