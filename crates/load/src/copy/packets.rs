//! The counts of this network namespace's interfaces, once a second while a file is copied.

use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use btu_contract::copy::PacketCount;
use btu_units::{Span, Time};

use crate::account::now;

/// Of all interfaces (`proc_pid_net(5)`).
const COUNTS: &str = "/proc/thread-self/net/dev";

const SECOND: Span = Span::from_seconds(1);

/// Counts until the copy is over.
pub(super) struct Counting {
    over: Sender<()>,
    counts: Option<JoinHandle<Vec<PacketCount>>>,
}

impl Counting {
    /// Begins to count at `start`. Where it cannot, there are no counts.
    pub(super) fn begin(start: Time) -> Self {
        let (over, told) = channel::<()>();
        let count = move || {
            let Some(before) = counted() else { return Vec::new() };
            let mut counts = vec![PacketCount::default()];
            let mut next = start + SECOND;
            loop {
                let wait = now().map_or(Duration::ZERO, |now| next.since(now).into());
                let ended = !matches!(told.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
                let (Ok(at), Some(counted)) = (now(), counted()) else { return counts };
                counts.push(since(before, counted, at.since(start)));
                if ended {
                    return counts;
                }
                next += SECOND;
            }
        };
        let counts = thread::Builder::new().name("packet-counts".to_owned()).spawn(count).ok();
        Self { over, counts }
    }

    /// The copy is over: all counts, the last one of now.
    pub(super) fn end(self) -> Vec<PacketCount> {
        drop(self.over);
        self.counts.and_then(|counts| counts.join().ok()).unwrap_or_default()
    }
}

fn since(before: PacketCount, now: PacketCount, at: Span) -> PacketCount {
    PacketCount {
        at,
        sent: now.sent.saturating_sub(before.sent),
        sent_octets: now.sent_octets.saturating_sub(before.sent_octets),
        received: now.received.saturating_sub(before.received),
        received_octets: now.received_octets.saturating_sub(before.received_octets),
    }
}

fn counted() -> Option<PacketCount> {
    read(&fs::read_to_string(COUNTS).ok()?)
}

/// All interfaces except loopback: `name: octets packets` and six further counts of received data,
/// then those of sent data.
fn read(text: &str) -> Option<PacketCount> {
    let mut all = PacketCount::default();
    for line in text.lines() {
        let Some((name, numbers)) = line.split_once(':') else { continue };
        if name.trim() == "lo" {
            continue;
        }
        let numbers: Vec<u64> =
            numbers.split_whitespace().map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let [received_octets, received, _, _, _, _, _, _, sent_octets, sent, ..] = numbers[..]
        else {
            return None;
        };
        all.received_octets += received_octets;
        all.received += received;
        all.sent_octets += sent_octets;
        all.sent += sent;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_added_up_and_the_one_to_oneself_is_not() {
        let text = "Inter-|   Receive                                                |  Transmit\n\
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n\
                        lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  eth0: 1380 10 0 0 0 0 0 0 87600 60 0 0 0 0 0 0\n  eth1:1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n";
        let all = read(text).expect("counts");
        assert_eq!(
            (all.received, all.received_octets, all.sent, all.sent_octets),
            (12, 1381, 64, 87_603)
        );
        assert_eq!(read("eth0: 1 2 x\n"), None);
        assert_eq!(read("eth0: 1 2\n"), None);
    }

    #[test]
    fn a_copy_has_a_count_at_its_begin_each_second_and_at_its_end() {
        let start = now().expect("a clock");
        let counting = Counting::begin(start);
        thread::sleep(Duration::from_millis(1100));
        let counts = counting.end();
        assert_eq!(counts.len(), 3, "{counts:?}");
        assert!(counts[1].at >= SECOND && counts[1].at < counts[2].at, "{counts:?}");
    }
}
