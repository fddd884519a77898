//! The file server of a cell.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_contract::activity::{FilesServe, Performance, Performed, Tell};
use btu_contract::lan::{FilesServed, ServedClient};
use btu_contract::peers::Callers;
use btu_contract::record::Outcome;

use crate::LoadError;
use crate::account::Account;
use crate::nfs::{ClientAccount, NfsServer, ServerSettings};

/// The interval of checks for `stop`.
const TICK: Duration = Duration::from_millis(5);

/// The server, running since it was prepared: files are made before the clock of any activity
/// starts.
#[derive(Debug)]
pub(crate) struct ServingFiles {
    server: NfsServer,
}

impl ServingFiles {
    pub(crate) fn prepare(order: &FilesServe, callers: &Callers) -> Result<Self, LoadError> {
        let settings = ServerSettings {
            address: order.address,
            token: order.token,
            directory: order.directory.clone(),
            room: order.room,
            service: order.service,
        };
        Ok(Self { server: NfsServer::start(&settings, callers)? })
    }
}

impl Performance for ServingFiles {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.server.address())
    }

    fn perform_telling(self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(TICK);
        }
        // The background stations get a `stop` at that time, too, and end their transactions first.
        let clients = self.server.stop();
        let closed = account.close()?;
        let clients = clients.iter().map(|(client, account)| served(*client, account)).collect();
        Ok(closed.report(Outcome::FilesServed(FilesServed { clients })))
    }
}

fn served(client: u32, account: &ClientAccount) -> ServedClient {
    let ClientAccount { operations, read, written, met, stayed } = *account;
    ServedClient { client, operations, read, written, met, stayed }
}
