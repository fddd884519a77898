//! Handshakes in memory, between valid and invalid peers.

mod handshake;
mod identities;
mod pairing;
mod refusals;

use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use tempfile::TempDir;

use super::issue::{DAY_S, Validity, now_unix_s};
use super::*;

/// An authority in a directory of its own.
pub(crate) struct TestAuthority {
    pub(crate) directory: TempDir,
    pub(crate) authority: Authority,
}

impl TestAuthority {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::create(directory.path()).unwrap();
        Self { directory, authority }
    }

    pub(crate) fn identity(&mut self, name: &str, role: Role) -> Identity {
        self.authority.sign(name, role, Validity::days(30)).unwrap()
    }

    /// An identity that has lapsed.
    pub(crate) fn lapsed(&mut self, name: &str, role: Role) -> Identity {
        let now = now_unix_s();
        let past = Validity { from_unix_s: now - 2 * DAY_S, to_unix_s: now - DAY_S };
        self.authority.sign(name, role, past).unwrap()
    }

    /// An identity that expires after this number of seconds.
    pub(crate) fn lapsing(&mut self, name: &str, role: Role, seconds: i64) -> Identity {
        let now = now_unix_s();
        let soon = Validity { from_unix_s: now - DAY_S, to_unix_s: now + seconds };
        self.authority.sign(name, role, soon).unwrap()
    }

    pub(crate) fn revoke(&mut self, name: &str) -> Revocations {
        self.authority.revoke(&Choice { name: name.to_owned(), role: None, serial: None }).unwrap();
        Revocations::load(&self.authority.list_path()).unwrap()
    }
}

/// Both ends of a handshake that is over: the error of each, if it has one.
struct Ends {
    client: Result<(), rustls::Error>,
    server: Result<Peer, rustls::Error>,
}

impl Ends {
    fn met(&self) -> bool {
        self.client.is_ok() && self.server.is_ok()
    }
}

/// Runs a handshake in memory until neither side sends more data.
fn shake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, expected: &str) -> Ends {
    let mut client =
        ClientConnection::new(Arc::clone(client), server_name(expected).unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let (mut client_said, mut server_said) = (Ok(()), Ok(()));
    while client.wants_write() || server.wants_write() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server_said = server_said.and(give(&wire, |bytes| {
            server.read_tls(bytes).unwrap();
            server.process_new_packets().map(drop)
        }));
        wire.clear();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client_said = client_said.and(give(&wire, |bytes| {
            client.read_tls(bytes).unwrap();
            client.process_new_packets().map(drop)
        }));
    }
    let peer = server_said.map(|()| Peer::of(server.peer_certificates()).unwrap());
    Ends { client: client_said, server: peer }
}

fn give(
    mut wire: &[u8],
    mut take: impl FnMut(&mut &[u8]) -> Result<(), rustls::Error>,
) -> Result<(), rustls::Error> {
    while !wire.is_empty() {
        take(&mut wire)?;
    }
    Ok(())
}

fn explained(ends: &Ends) -> String {
    explain("hostb", ends.client.as_ref().unwrap_err()).unwrap()
}
