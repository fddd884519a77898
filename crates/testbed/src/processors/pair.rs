//! Reads two processors: how long a cache line takes to the other one and back, and how long a fixed
//! piece of arithmetic takes on each.
//!
//! A hypervisor may move the virtual processors of a machine at any time. If two of them share a
//! cache, a line takes some 50 ns; if they are in different parts of the chip, or in different
//! sockets, it takes several hundred, and what one process sends to another on the same machine
//! then takes up to twice as long. Another thread of the same core (simultaneous multithreading) makes everything take
//! longer. The guest is told nothing of this, but can measure it.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use btu_units::Span;

use super::hold;

/// The words of one piece of arithmetic: 4 KiB, which any first-level cache holds.
const WORDS: usize = 512;

/// The rounds of one piece over these words: some 30 us.
const ROUNDS: u32 = 100;

/// The pieces of a reading; the median counts.
const PIECES: usize = 5;

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
struct CacheLine(AtomicU32);

/// What was read of two processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairReading {
    /// The latency between them: the time for a round trip of a cache line, by threads that busily wait
    /// for it.
    pub core_to_core: Span,
    /// The time for 51,200 additions, each with a load before and a store behind it: the mean of both
    /// processors. It is twice as long while another thread works on the same core, which a chain of
    /// multiplications in registers hardly notices.
    pub arithmetic: Span,
}

/// Reads two processors. It takes less than a millisecond of both.
///
/// `None` if there is no time to tell: one of them may not be used, or had other work for most of
/// 5 ms.
pub fn read_pair([one, other]: [u32; 2]) -> Option<PairReading> {
    let line = CacheLine(AtomicU32::new(0));
    thread::scope(|scope| {
        let answering =
            thread::Builder::new().spawn_scoped(scope, || on(other, &line, || answer(&line)));
        let asking = thread::Builder::new().spawn_scoped(scope, || on(one, &line, || ask(&line)));
        if answering.is_err() || asking.is_err() {
            line.0.store(GIVEN_UP, Ordering::Release);
        }
        let ((), answered_after) = answering.ok()?.join().ok()??;
        let (core_to_core, asked_after) = asking.ok()?.join().ok()??;
        let arithmetic = Span::from((asked_after + answered_after) / 2);
        Some(PairReading { core_to_core, arithmetic })
    })
}

/// The time for one piece of arithmetic: the median of several, so that the loss of the processor during
/// one of them does not count.
fn arithmetic() -> Duration {
    let mut pieces = [Duration::ZERO; PIECES];
    let mut words = [1_u64; WORDS];
    for piece in &mut pieces {
        let began = Instant::now();
        for _ in 0..ROUNDS {
            let mut sum = 0_u64;
            for word in &mut words {
                // The compiler must do each one by itself.
                sum = black_box(sum.wrapping_add(*word));
                *word = sum;
            }
        }
        black_box(&mut words);
        *piece = began.elapsed();
    }
    pieces.sort_unstable();
    pieces[PIECES / 2]
}

/// Does arithmetic and then `work` on a processor; the other thread learns that there will be none.
fn on<T>(
    processor: u32,
    line: &CacheLine,
    work: impl FnOnce() -> Option<T>,
) -> Option<(T, Duration)> {
    let done = hold(&[processor]).ok().and_then(|()| {
        let arithmetic = arithmetic();
        Some((work()?, arithmetic))
    });
    if done.is_none() {
        line.0.store(GIVEN_UP, Ordering::Release);
    }
    done
}

fn ask(line: &CacheLine) -> Option<Span> {
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
fn trip(line: &CacheLine, number: &mut u32, end: Instant) -> Option<()> {
    line.0.store(*number + 1, Ordering::Release);
    *number += 2;
    wait(line, *number, end)
}

fn answer(line: &CacheLine) -> Option<()> {
    let end = Instant::now() + LIMIT;
    for trip in 0..=BURSTS as u32 * ROUND_TRIPS {
        wait(line, 2 * trip + 1, end)?;
        line.0.store(2 * trip + 2, Ordering::Release);
    }
    Some(())
}

fn wait(line: &CacheLine, number: u32, end: Instant) -> Option<()> {
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
            if let Some(PairReading { core_to_core: latency, arithmetic }) = read_pair([0, 1]) {
                // No cache is faster than a cycle, and no round trip of a burst longer than all.
                let most = Span::from(LIMIT / ROUND_TRIPS);
                assert!(latency >= Span::from_nanoseconds(1) && latency <= most, "{latency}");
                // No processor does ten additions in a nanosecond: none was left out.
                assert!(arithmetic >= Span::from_microseconds(5), "{arithmetic}");
            }
        }
        // Threads that lost their processors have waited for the limit, and were started.
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn a_processor_that_is_not_there_ends_both() {
        assert_eq!(read_pair([0, 8_000]), None);
        assert_eq!(read_pair([8_000, 0]), None);
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
        assert_eq!(read_pair([0, 0]), None);
    }
}
