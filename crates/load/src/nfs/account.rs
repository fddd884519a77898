//! A server's accounts of its clients.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use btu_units::{Bytes, Span};

/// The largest number of clients with their own accounts; all others share one.
const MOST_CLIENTS: usize = 256;

/// The client for which that is counted.
pub const OTHERS: u32 = u32::MAX;

/// A server's account of one client, by the number that the client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientAccount {
    /// Calls answered, whatever the answer; the one that opens a connection is none.
    pub operations: u64,
    /// Octets of files that were read.
    pub read: Bytes,
    /// Octets of files that were written.
    pub written: Bytes,
    /// Sum over its operations: how many others were waiting or served when it came.
    pub met: u64,
    /// Sum over its operations: from when a call was read to when its answer was ready.
    pub stayed: Span,
}

impl ClientAccount {
    pub(super) fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.read += other.read;
        self.written += other.written;
        self.met += other.met;
        self.stayed += other.stayed;
    }
}

/// The account of all clients.
#[derive(Debug, Default)]
pub(super) struct ClientAccounts {
    clients: Mutex<BTreeMap<u32, ClientAccount>>,
}

impl ClientAccounts {
    /// Adds the counts of a connection of `client`, at its end or during it.
    pub(super) fn add(&self, client: u32, account: &ClientAccount) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = clients.contains_key(&client) || clients.len() < MOST_CLIENTS;
        clients.entry(if is_known { client } else { OTHERS }).or_default().add(account);
    }

    pub(super) fn of_all(&self) -> BTreeMap<u32, ClientAccount> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_apart_as_far_as_there_is_room() {
        let accounts = ClientAccounts::default();
        let one = ClientAccount { operations: 1, read: Bytes::new(2), ..ClientAccount::default() };
        (0..1000).for_each(|client| accounts.add(client, &one));
        accounts.add(3, &one);
        let all = accounts.of_all();
        assert_eq!(
            (all.len(), all[&3].operations, all[&3].read),
            (MOST_CLIENTS + 1, 2, Bytes::new(4))
        );
        assert_eq!(all[&OTHERS].operations, 1000 - MOST_CLIENTS as u64);
    }
}
