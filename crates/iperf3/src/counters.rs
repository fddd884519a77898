//! What a stream has moved so far. Its thread alone writes; the test's thread reads at any time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The counters of one stream, from its start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    bytes: AtomicU64,
    packets: AtomicU64,
    highest: AtomicU64,
    out_of_order: AtomicU64,
    duplicates: AtomicU64,
    /// The bits of seconds as `f64`.
    jitter: AtomicU64,
    last_ns: AtomicU64,
}

/// Their values at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Count {
    /// Payload of TCP or UDP; what came twice counts once.
    pub(crate) bytes: u64,
    /// Datagrams that were sent, or that arrived: each once.
    pub(crate) packets: u64,
    /// The highest number of a datagram that arrived: as many were sent.
    pub(crate) highest: u64,
    /// Datagrams that arrived after one with a higher number.
    pub(crate) out_of_order: u64,
    /// Datagrams that came again, or too late to tell.
    pub(crate) duplicates: u64,
    /// RFC 3550 section 6.4.1.
    pub(crate) jitter_seconds: f64,
    /// The last arrival or write, since the start of the test.
    pub(crate) last: Duration,
}

impl Counters {
    /// Publishes the values of the stream's thread.
    pub(crate) fn publish(&self, count: &Count) {
        self.bytes.store(count.bytes, Relaxed);
        self.packets.store(count.packets, Relaxed);
        self.highest.store(count.highest, Relaxed);
        self.out_of_order.store(count.out_of_order, Relaxed);
        self.duplicates.store(count.duplicates, Relaxed);
        self.jitter.store(count.jitter_seconds.to_bits(), Relaxed);
        self.last_ns.store(count.last.as_nanos() as u64, Relaxed);
    }

    /// The values now.
    pub(crate) fn read(&self) -> Count {
        Count {
            bytes: self.bytes.load(Relaxed),
            packets: self.packets.load(Relaxed),
            highest: self.highest.load(Relaxed),
            out_of_order: self.out_of_order.load(Relaxed),
            duplicates: self.duplicates.load(Relaxed),
            jitter_seconds: f64::from_bits(self.jitter.load(Relaxed)),
            last: Duration::from_nanos(self.last_ns.load(Relaxed)),
        }
    }
}

impl Count {
    /// What came after `earlier`; the jitter and the last moment are those of the end.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            packets: self.packets.saturating_sub(earlier.packets),
            highest: self.highest.saturating_sub(earlier.highest),
            out_of_order: self.out_of_order.saturating_sub(earlier.out_of_order),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            ..self
        }
    }
}
