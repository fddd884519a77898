//! The latency between two processors: how long a cache line takes to the other one and back.
//!
//! A hypervisor may move the virtual processors of a machine at any time. If two of them share a
//! cache, a line takes some 50 ns; if they are in different parts of the chip, or in different
//! sockets, it takes several hundred, and what one process sends to another on the same machine
//! then takes up to twice as long. The guest is not told, but can measure it.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use btu_units::Span;

use super::hold;

/// Round trips of one reading. A burst is over in a few microseconds.
const ROUND_TRIPS: u32 = 64;

/// The number of readings; the median counts, so that the loss of a processor during one of them
/// does not.
const BURSTS: usize = 15;

/// The time limit of all bursts: beyond it a thread has lost its processor.
const LIMIT: Duration = Duration::from_millis(5);

/// A waiting thread looks at its clock once per so many looks at the line.
const LOOKS: u32 = 256;

/// What the line says when one of the two threads cannot go on.
const GIVEN_UP: u32 = u32::MAX;

/// A line of its own, of the longest length that processors have.
#[repr(align(128))]
struct Line(AtomicU32);

/// The latency between two processors: the time for a round trip of a cache line, by threads that
/// busily wait for it. It takes less than a millisecond of both processors.
///
/// `None` if there is no time to tell: one of them may not be used, or had other work for most of
/// 5 ms.
pub fn core_to_core([one, other]: [u32; 2]) -> Option<Span> {
    let line = Line(AtomicU32::new(0));
    thread::scope(|scope| {
        let answering = thread::Builder::new().spawn_scoped(scope, || {
            on(other, &line, || answer(&line));
        });
        let asking = thread::Builder::new().spawn_scoped(scope, || on(one, &line, || ask(&line)));
        if answering.is_err() {
            line.0.store(GIVEN_UP, Ordering::Release);
        }
        asking.map_err(|_| line.0.store(GIVEN_UP, Ordering::Release)).ok()?.join().ok()?
    })
}

/// Does `work` on a processor; the other thread learns that there will be none.
fn on<T>(processor: u32, line: &Line, work: impl FnOnce() -> Option<T>) -> Option<T> {
    let done = hold(&[processor]).ok().and_then(|()| work());
    if done.is_none() {
        line.0.store(GIVEN_UP, Ordering::Release);
    }
    done
}

fn ask(line: &Line) -> Option<Span> {
    let end = Instant::now() + LIMIT;
    let mut number = 0;
    // The first round trip waits for the other thread's start.
    trip(line, &mut number, end)?;
    let mut bursts = [Duration::ZERO; BURSTS];
    for burst in &mut bursts {
        let began = Instant::now();
        for _ in 0..ROUND_TRIPS {
            trip(line, &mut number, end)?;
        }
        *burst = began.elapsed();
    }
    bursts.sort_unstable();
    Some(Span::from(bursts[BURSTS / 2] / ROUND_TRIPS))
}

/// Writes an odd number, and waits for the even one after it.
fn trip(line: &Line, number: &mut u32, end: Instant) -> Option<()> {
    line.0.store(*number + 1, Ordering::Release);
    *number += 2;
    wait(line, *number, end)
}

fn answer(line: &Line) -> Option<()> {
    let end = Instant::now() + LIMIT;
    for trip in 0..=BURSTS as u32 * ROUND_TRIPS {
        wait(line, 2 * trip + 1, end)?;
        line.0.store(2 * trip + 2, Ordering::Release);
    }
    Some(())
}

fn wait(line: &Line, number: u32, end: Instant) -> Option<()> {
    loop {
        for _ in 0..LOOKS {
            match line.0.load(Ordering::Acquire) {
                GIVEN_UP => return None,
                seen if seen == number => return Some(()),
                _ => spin_loop(),
            }
        }
        if Instant::now() > end {
            return None;
        }
    }
}

/// The pause between two wake-ups: long enough that both processors go to sleep.
const WAKE_EVERY: Duration = Duration::from_micros(500);

/// Has two processors sleep and wake each other for this time. A hypervisor puts a processor that
/// is woken near the one that woke it if it can, and leaves those that never sleep where they are.
///
/// Does nothing where one of them may not be used.
pub fn wake_each_other([one, other]: [u32; 2], time: Duration) {
    let ((ask, asked), (answer, answered)) = (channel(), channel());
    thread::scope(|scope| {
        let echo = move || {
            if hold(&[other]).is_ok() {
                asked.into_iter().try_for_each(|()| answer.send(()))
            } else {
                Ok(())
            }
        };
        let call = move || {
            let end = Instant::now() + time;
            let is_held = hold(&[one]).is_ok();
            while is_held && Instant::now() < end && ask.send(()).is_ok() && answered.recv().is_ok()
            {
                thread::sleep(WAKE_EVERY);
            }
        };
        // A thread that does not start drops its ends of both channels, and the other ends, too.
        let _ = thread::Builder::new().spawn_scoped(scope, echo);
        let _ = thread::Builder::new().spawn_scoped(scope, call);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_or_nothing_is_told() {
        let began = Instant::now();
        for _ in 0..20 {
            if let Some(latency) = core_to_core([0, 1]) {
                // No cache is faster than a cycle, and no round trip of a burst longer than all.
                let most = Span::from(LIMIT / ROUND_TRIPS);
                assert!(latency >= Span::from_nanoseconds(1) && latency <= most, "{latency}");
            }
        }
        // Threads that lost their processors have waited for the limit, and were started.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn a_processor_that_is_not_there_ends_both() {
        assert_eq!(core_to_core([0, 8_000]), None);
        assert_eq!(core_to_core([8_000, 0]), None);
    }

    #[test]
    fn two_processors_wake_each_other_for_a_while() {
        for pair in [[0, 1], [0, 0], [0, 8_000], [8_000, 0]] {
            let began = Instant::now();
            wake_each_other(pair, Duration::from_millis(5));
            assert!(began.elapsed() < Duration::from_secs(5), "{pair:?}: {:?}", began.elapsed());
        }
    }

    /// Both threads take turns on one processor, so that no burst is in time.
    #[test]
    fn one_processor_is_no_pair() {
        assert_eq!(core_to_core([0, 0]), None);
    }
}
