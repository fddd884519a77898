//! The broadcasts that this host receives and discards while an end draws.

use std::io;

use btu_contract::app::Discarded;
use btu_units::Time;

use crate::clock::now;

/// Statistics of the network namespace of the calling thread (proc(5)).
const STATISTICS: &str = "/proc/thread-self/net/snmp";

/// The kernel's count of datagrams to all or several hosts for which no process waits.
const COUNTER: &str = "IgnoredMulti";

/// A count that has begun.
pub(super) struct Tally {
    begun: Time,
    before: u64,
}

impl Tally {
    pub(super) fn begin() -> io::Result<Self> {
        Ok(Self { begun: now(), before: ignored()? })
    }

    pub(super) fn end(&self) -> io::Result<Discarded> {
        let broadcasts = ignored()?.saturating_sub(self.before);
        Ok(Discarded { broadcasts, span: now().since(self.begun) })
    }
}

fn ignored() -> io::Result<u64> {
    let text = std::fs::read_to_string(STATISTICS)
        .map_err(|error| io::Error::new(error.kind(), format!("read {STATISTICS}: {error}")))?;
    counter(&text).ok_or_else(|| {
        let problem = format!(
            "read {STATISTICS}: it has no {COUNTER} of UDP, so broadcasts cannot be counted"
        );
        io::Error::new(io::ErrorKind::Unsupported, problem)
    })
}

/// The counter's column, which the first of UDP's two lines names.
fn counter(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let column = lines.next()?.split_whitespace().position(|name| name == COUNTER)?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_name() {
        let text = "Ip: Forwarding\nIp: 1\nUdp: InDatagrams NoPorts IgnoredMulti\nUdp: 12 3 45\n\
                    UdpLite: InDatagrams NoPorts IgnoredMulti\nUdpLite: 0 0 0\n";
        assert_eq!(counter(text), Some(45));
        assert_eq!(counter("Udp: InDatagrams NoPorts\nUdp: 12 3\n"), None);
        assert_eq!(counter(""), None);
        let tally = Tally::begin().expect("every Linux kernel since 4.1 counts them");
        assert!(tally.end().is_ok());
    }
}
