//! How long this machine takes to wake a thread.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Round trips between two threads: so many take some milliseconds.
const TRIPS: usize = 201;

/// The median time from one thread's message until the other has it: half a round trip.
pub(crate) fn wake() -> Duration {
    let (ask, asked) = mpsc::channel::<()>();
    let (answer, answered) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || asked.iter().take_while(|()| answer.send(()).is_ok()).count());
        let trip = |_| {
            let begun = Instant::now();
            // The other thread lives until this one drops its end.
            let _ = ask.send(());
            let _ = answered.recv();
            begun.elapsed()
        };
        let mut trips: Vec<Duration> = (0..TRIPS).map(trip).collect();
        drop(ask);
        trips.sort_unstable();
        trips[TRIPS / 2] / 2
    })
}
