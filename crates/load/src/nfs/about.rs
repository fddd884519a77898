//! The server's information about its file system as a whole (RFC 1813, sections 3.3.17 to 3.3.20).

use super::protocol::{LONGEST_NAME, MOST_DATA};
use super::xdr::Writer;
use crate::volume::{MOST_NODES, Volume};

/// Octets of an entry of READDIR at most: two flags, number, cookie, and a name of the longest.
const ENTRY: usize = 4 + 8 + 8 + 4 + LONGEST_NAME.next_multiple_of(4);

/// Like `ENTRY`, for READDIRPLUS: with attributes and a handle.
const ENTRY_PLUS: usize = ENTRY + 4 + 84 + 4 + 4 + 64;

/// Most names in one answer.
const MOST_NAMES: usize = 256;

/// Properties of FSINFO: PATHCONF is the same for all files; times can be set.
const HOMOGENEOUS: u32 = 8;
const CAN_SET_TIME: u32 = 16;

/// The number of names that fit into an answer of this size; at least one is tried.
pub(super) fn names_within(octets: u32, is_plus: bool) -> usize {
    let entry = if is_plus { ENTRY_PLUS } else { ENTRY };
    // Status, attributes, verifier, and the end of the list.
    ((octets as usize).saturating_sub(120) / entry).clamp(1, MOST_NAMES)
}

/// FSSTAT: octets in all, free, and free for this user; the same of files; for how many seconds
/// that holds.
pub(super) fn status(volume: &Volume) -> impl FnOnce(&mut Writer<'_>) {
    let (octets, files) = volume.left();
    move |to: &mut Writer<'_>| {
        (0..3).for_each(|_| to.long(octets.count()));
        to.long(MOST_NODES as u64);
        (0..2).for_each(|_| to.long(files as u64));
        to.number(0);
    }
}

/// FSINFO: most octets of READ and of WRITE, preferred ones and multiples; of READDIR; the largest
/// file; the grain of times; no links, no symbolic links, the same for all files, times can be set
/// (which is taken and not kept).
pub(super) fn information() -> impl FnOnce(&mut Writer<'_>) {
    |to: &mut Writer<'_>| {
        for _ in 0..2 {
            for number in [MOST_DATA as u32, MOST_DATA as u32, 1] {
                to.number(number);
            }
        }
        to.number(64 << 10);
        to.long(i64::MAX as u64);
        to.long(1);
        to.number(HOMOGENEOUS | CAN_SET_TIME);
    }
}

/// PATHCONF: links of a file, the longest name; longer ones are refused, only root changes owners,
/// capitals are told apart and kept.
pub(super) fn path() -> impl FnOnce(&mut Writer<'_>) {
    |to: &mut Writer<'_>| {
        to.number(1);
        to.number(LONGEST_NAME as u32);
        for flag in [true, true, false, true] {
            to.flag(flag);
        }
    }
}
