//! What a program left to TCP when it ended: a time that ends with the program is then that of writing, not that of
//! arriving.

use std::fs;

use btu_units::Bytes;

/// The state of a connection that only waits for late segments (`linux/tcp_states.h`).
const TIME_WAIT: &str = "06";

/// How many connections of this station were reset while they were open (RFC 1213, `tcpEstabResets`):
/// what was not acknowledged then is thrown away.
pub(super) fn resets() -> u64 {
    let tables = fs::read_to_string("/proc/self/net/snmp").unwrap_or_default();
    counted(&tables).unwrap_or_default()
}

fn counted(tables: &str) -> Option<u64> {
    let mut lines = tables.lines().filter(|line| line.starts_with("Tcp: "));
    let place = lines.next()?.split(' ').position(|name| name == "EstabResets")?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}

/// What the far ends have not acknowledged of connections of this station that no process has any
/// more. The kernel looks at every connection of the machine for it, so it is not read while a
/// program runs.
pub(super) fn orphaned() -> Bytes {
    let read = |name| fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default();
    Bytes::new(["tcp", "tcp6"].map(|name| left(&read(name))).iter().sum())
}

fn left(table: &str) -> u64 {
    let octets = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_orphan = *fields.get(9)? == "0" && fields[3] != TIME_WAIT;
        let waiting = u64::from_str_radix(fields[4].split_once(':')?.0, 16).ok()?;
        // The end of the connection counts as one.
        is_orphan.then(|| waiting.saturating_sub(1))
    };
    table.lines().filter_map(octets).sum()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     \x20  0: 010012C6:9130 020012C6:0052 04 0008BAD1:00000000 01:00000014 00000000     0        0 0 2 0000\n\
                     \x20  1: 010012C6:9131 020012C6:0052 01 00000100:00000000 01:00000014 00000000     0        0 4711 2 0\n\
                     \x20  2: 010012C6:BB5C 020012C6:1451 06 00000000:00000000 03:00000014 00000000     0        0 0 3 0000\n";
        assert_eq!(left(table), 0x8bad0);
        let tables = "Ip: Forwarding\nIp: 1\nTcp: RtoMin AttemptFails EstabResets\nTcp: 200 1 37\n";
        assert_eq!(counted(tables), Some(37));
        assert_eq!(counted(""), None);
    }

    #[test]
    fn what_a_closed_connection_has_not_sent_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (there, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        while stream.write(&[0; 4096]).is_ok() {}
        let before = orphaned();
        drop(stream);
        assert!(orphaned() > before, "{before}");
        drop(there);
    }
}
