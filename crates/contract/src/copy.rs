//! Copying large files under contention (CITI report 89-4): the order of trials, what a copy's time
//! consists of, and the background held at a level. Pure: no file, no socket, no clock.

#[macro_use]
mod names;

mod file;
mod servo;

use std::fmt;
use std::str::FromStr;

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

pub use file::{Cache, Direction, FileCopied, FileEnd, FilePlace, Marks, Program, Storage};
pub use names::ProgramError;
pub use servo::{Held, Hold, MOST_OFFERED, Mode, READING_INTERVAL, Servo, State};

/// The counts of an interface, or of all interfaces of a station, since a copy began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PacketCount {
    /// When, since the copy began.
    #[serde(rename = "at_ns")]
    pub at: Span,
    /// Packets sent, and their octets without what Ethernet puts around them but its header.
    pub sent: u64,
    /// The octets of the packets sent, with their Ethernet headers, without Ethernet's other
    /// overhead.
    pub sent_octets: u64,
    /// Like `sent_octets`, for what was received.
    pub received: u64,
    /// The octets of the packets received, with their Ethernet headers, without Ethernet's other
    /// overhead.
    pub received_octets: u64,
}

/// WRITEs of so many octets, so many of them without an answer at a time, each durable when it is
/// answered or all with a COMMIT at the end. Written `nfs`, then what is not usual: `nfs-16`,
/// `nfs-64k`, `nfs-16-64k-sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NfsWrites {
    /// WRITEs on their way, 1 to 256.
    window: u16,
    /// Octets of one, in KiB: 1 to 1024.
    block_kibibytes: u16,
    /// Whether each is durable when it is answered (`FILE_SYNC`), as of version 2; else a COMMIT
    /// follows the last.
    is_sync: bool,
}

const MOST_WINDOW: u16 = 256;
const MOST_BLOCK: u16 = 1024;

impl NfsWrites {
    /// One block of 8 KiB at a time, and a COMMIT.
    pub const USUAL: Self = Self { window: 1, block_kibibytes: 8, is_sync: false };

    /// Like `USUAL`, each block durable before it is answered.
    pub(crate) const SYNC: Self = Self { is_sync: true, ..Self::USUAL };

    /// WRITEs on their way.
    pub fn window(self) -> usize {
        self.window.into()
    }

    /// The size of one WRITE, from 1 KiB to 1024 KiB.
    pub fn block(self) -> Bytes {
        Bytes::new(u64::from(self.block_kibibytes) << 10)
    }

    /// Whether each is durable when it is answered.
    pub const fn is_sync(self) -> bool {
        self.is_sync
    }
}

impl fmt::Display for NfsWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nfs")?;
        if self.window != Self::USUAL.window {
            write!(f, "-{}", self.window)?;
        }
        if self.block_kibibytes != Self::USUAL.block_kibibytes {
            write!(f, "-{}k", self.block_kibibytes)?;
        }
        if self.is_sync { f.write_str("-sync") } else { Ok(()) }
    }
}

impl FromStr for NfsWrites {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut writes = Self::USUAL;
        let mut words = text.split('-');
        if words.next() != Some("nfs") {
            return Err(());
        }
        for word in words {
            match (word, word.strip_suffix('k')) {
                ("sync", _) => writes.is_sync = true,
                (_, Some(kibibytes)) => writes.block_kibibytes = kibibytes.parse().map_err(drop)?,
                (window, None) => writes.window = window.parse().map_err(drop)?,
            }
        }
        let is_possible = (1..=MOST_WINDOW).contains(&writes.window)
            && (1..=MOST_BLOCK).contains(&writes.block_kibibytes);
        // One way of writing for each: a name is a cell's in the store.
        if is_possible && writes.to_string() == text { Ok(writes) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_say_what_is_not_usual() {
        let read = |text: &str| text.parse::<NfsWrites>();
        assert_eq!(read("nfs"), Ok(NfsWrites::USUAL));
        let large = read("nfs-16-64k-sync").unwrap();
        assert_eq!(
            (large.window(), large.block(), large.is_sync()),
            (16, Bytes::new(65_536), true)
        );
        for text in [
            "",
            "nfs-",
            "nfs-1",
            "nfs-0",
            "nfs-257",
            "nfs-8k",
            "nfs-1025k",
            "nfs-sync-16",
            "nfs-k",
            "nfs-016",
        ] {
            assert_eq!(read(text), Err(()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn all_are_read_as_they_are_written(window in 1u16..=256, block_kibibytes in 1u16..=1024, is_sync: bool) {
            let writes = NfsWrites { window, block_kibibytes, is_sync };
            prop_assert_eq!(writes.to_string().parse(), Ok(writes));
        }

        #[test]
        fn what_is_read_is_written_so(text in "nfs[-0-9ksync]{0,12}") {
            if let Ok(writes) = text.parse::<NfsWrites>() {
                prop_assert_eq!(writes.to_string(), text);
            }
        }
    }
}
