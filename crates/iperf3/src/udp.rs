//! The loops of UDP streams, and the accounts of what arrives.
//!
//! A datagram begins with the time at which it was sent, in seconds and microseconds, and its
//! number from 1, with 32 or 64 bits, all big-endian.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::counters::{Count, Counters};
use crate::pace::Pace;

/// What a client sends to open a stream; in the byte order of its host, as the answer.
pub(crate) const GREETING: u32 = 0x3637_3839;
/// What clients before 3.12 send.
const OLD_GREETING: u32 = 123_456_789;
/// The answer.
pub(crate) const ANSWER: u32 = 0x3938_3736;

/// Whether this datagram opens a stream, in whichever byte order.
pub(crate) fn is_greeting(datagram: &[u8]) -> bool {
    let Ok(octets) = datagram.try_into() else { return false };
    let said = u32::from_ne_bytes(octets);
    [GREETING, OLD_GREETING].into_iter().any(|one| said == one || said == one.swap_bytes())
}

/// Receives until `stop`.
pub(crate) fn receive(
    socket: &UdpSocket,
    has_long_counters: bool,
    counters: &Counters,
    start: Instant,
    stop: &AtomicBool,
) {
    let mut buffer = vec![0; 1 << 16];
    let mut account = DatagramAccount::new();
    while !stop.load(Ordering::Relaxed) {
        // An error is a timeout, or news by ICMP of something sent earlier.
        let Ok(octets) = socket.recv(&mut buffer) else { continue };
        if let Some(header) = Header::read(&buffer[..octets], has_long_counters) {
            account.take(header, octets, start.elapsed());
            counters.publish(&account.count);
        }
    }
}

/// Sends datagrams of `payload`'s length until `stop`.
pub(crate) fn send(
    socket: &UdpSocket,
    mut payload: Vec<u8>,
    has_long_counters: bool,
    mut pace: Pace,
    counters: &Counters,
    start: Instant,
    stop: &AtomicBool,
) {
    let mut count = Count::default();
    while !stop.load(Ordering::Relaxed) {
        if !pace.is_due() {
            continue;
        }
        // Receivers need differences only, so it is the clock that nothing sets.
        let sent = start.elapsed();
        Header { sent, number: count.packets + 1 }.write(&mut payload, has_long_counters);
        if let Ok(octets) = socket.send(&payload) {
            pace.sent(octets);
            count.bytes += octets as u64;
            count.packets += 1;
            count.last = start.elapsed();
            counters.publish(&count);
        } else {
            // A full queue, or news by ICMP: a sender without a rate must not spin on it.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The beginning of a datagram.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Header {
    /// By the sender's clock.
    sent: Duration,
    number: u64,
}

impl Header {
    /// `None` if the datagram is too short, or has no number.
    fn read(datagram: &[u8], has_long_counters: bool) -> Option<Self> {
        let half = |at: usize| -> Option<u32> {
            Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?))
        };
        let number = if has_long_counters {
            u64::from(half(8)?) << 32 | u64::from(half(12)?)
        } else {
            half(8)?.into()
        };
        let micros = half(4)?.min(999_999);
        let sent = Duration::new(half(0)?.into(), micros * 1000);
        (number > 0).then_some(Self { sent, number })
    }

    /// A payload is at least 16 bytes long: parameters are checked.
    fn write(self, payload: &mut [u8], has_long_counters: bool) {
        payload[..4].copy_from_slice(&(self.sent.as_secs() as u32).to_be_bytes());
        payload[4..8].copy_from_slice(&self.sent.subsec_micros().to_be_bytes());
        if has_long_counters {
            payload[8..16].copy_from_slice(&self.number.to_be_bytes());
        } else {
            payload[8..12].copy_from_slice(&(self.number as u32).to_be_bytes());
        }
    }
}

/// The numbers that are remembered, to tell late datagrams from copies: 0.07 s of 10 Gb/s.
const WINDOW: u64 = 1 << 16;

/// What arrived: sent = received + lost, where sent is the highest number.
struct DatagramAccount {
    count: Count,
    /// A bit for each of the last `WINDOW` numbers.
    seen: Vec<u64>,
    transit: Option<f64>,
}

impl DatagramAccount {
    fn new() -> Self {
        Self { count: Count::default(), seen: vec![0; (WINDOW / 64) as usize], transit: None }
    }

    /// Accounts for a datagram that arrived `at` by the monotonic clock.
    fn take(&mut self, header: Header, octets: usize, at: Duration) {
        if !self.is_new(header.number) {
            self.count.duplicates += 1;
            return;
        }
        if header.number > self.count.highest {
            self.count.highest = header.number;
        } else {
            self.count.out_of_order += 1;
        }
        self.count.packets += 1;
        self.count.bytes += octets as u64;
        self.count.last = at;
        // The clocks differ by a constant, which the difference of two transits has not.
        let transit = at.as_secs_f64() - header.sent.as_secs_f64();
        if let Some(before) = self.transit.replace(transit) {
            let jitter = &mut self.count.jitter_seconds;
            *jitter += ((transit - before).abs() - *jitter) / 16.0;
        }
    }

    /// Whether this number has not come before; remembers it.
    fn is_new(&mut self, number: u64) -> bool {
        let highest = self.count.highest;
        if highest - number.min(highest) >= WINDOW {
            return false;
        }
        if number > highest {
            self.forget(number);
        }
        let (word, bit) = place(number);
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }

    /// The numbers up to `number` take the places of those a window before them.
    fn forget(&mut self, number: u64) {
        let highest = self.count.highest;
        if number - highest >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for passed in highest + 1..=number {
            let (word, bit) = place(passed);
            self.seen[word] &= !bit;
        }
    }
}

fn place(number: u64) -> (usize, u64) {
    let index = number % WINDOW;
    ((index / 64) as usize, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn account(numbers: &[u64]) -> Count {
        let mut account = DatagramAccount::new();
        for (index, &number) in numbers.iter().enumerate() {
            let at = Duration::from_millis(index as u64);
            account.take(Header { sent: at, number }, 100, at);
        }
        account.count
    }

    #[test]
    fn late_datagrams_are_no_losses_and_copies_no_arrivals() {
        let count = account(&[1, 3, 2, 2, 6, 6, 1]);
        assert_eq!((count.highest, count.packets), (6, 4));
        assert_eq!((count.out_of_order, count.duplicates), (1, 3));
        assert_eq!(count.bytes, 400);
        assert!(count.jitter_seconds < 1e-12);
    }

    /// Transits that alternate by 16 ms: the first step adds 1/16 of it, later ones approach it.
    #[test]
    fn jitter_is_that_of_the_rfc() {
        let mut account = DatagramAccount::new();
        let at = |index: u64| Duration::from_millis(100 * index + 16 * (index % 2));
        for index in 0..2 {
            let sent = Duration::from_millis(100 * index);
            account.take(Header { sent, number: index + 1 }, 1, at(index));
        }
        assert!((account.count.jitter_seconds - 0.001).abs() < 1e-9);
        for index in 2..400 {
            let sent = Duration::from_millis(100 * index);
            account.take(Header { sent, number: index + 1 }, 1, at(index));
        }
        assert!((account.count.jitter_seconds - 0.016).abs() < 1e-6);
    }

    #[test]
    fn greetings_are_known_in_either_byte_order() {
        for said in [GREETING, GREETING.swap_bytes(), 123_456_789] {
            assert!(is_greeting(&said.to_ne_bytes()));
        }
        // The answer of an old server opens no stream.
        assert!(!is_greeting(&987_654_321_u32.to_ne_bytes()));
        assert!(!is_greeting(b"1234") && !is_greeting(b"") && !is_greeting(&[0; 1448]));
    }

    proptest! {
        #[test]
        fn headers_survive(seconds: u32, micros in 0..1_000_000_u32, number in 1..u64::MAX, long: bool) {
            let number = if long { number } else { (number >> 32).max(1) };
            let header = Header { sent: Duration::new(seconds.into(), micros * 1000), number };
            let mut payload = [0; 16];
            header.write(&mut payload, long);
            prop_assert_eq!(Header::read(&payload, long), Some(header));
        }

        #[test]
        fn accounts_balance(numbers in proptest::collection::vec(prop_oneof![1..200_u64, any::<u64>()], 0..200)) {
            let mut account = DatagramAccount::new();
            for &number in numbers.iter().filter(|number| **number > 0) {
                account.take(Header { sent: Duration::ZERO, number }, 1, Duration::ZERO);
                prop_assert!(account.count.packets <= account.count.highest);
            }
        }

        #[test]
        fn no_datagram_panics(octets in proptest::collection::vec(any::<u8>(), 0..40), long: bool) {
            let mut account = DatagramAccount::new();
            if let Some(header) = Header::read(&octets, long) {
                account.take(header, octets.len(), Duration::ZERO);
            }
        }
    }
}
