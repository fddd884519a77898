//! The relay: an FTP server elsewhere, offered under this station's address.
//!
//! Control connections are joined line by line with one through the [egress
//! proxy](super::egress_proxy). When the server offers a data port (227, 229), the relay opens one
//! of its own, joined with the server's, and offers that instead. It refuses modes that it cannot
//! carry: active mode, in which the server would have to connect to the client, and encryption,
//! which would hide the offers.

mod session;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use btu_suite::activity::{FtpRelay, Performance};
use btu_suite::peers::Callers;
use btu_suite::record::{Outcome, Report};
use btu_units::Bytes;

use super::egress_proxy::probe;
use super::gate::{self, Listener, Slots};
use crate::LoadError;
use crate::account::Account;

/// Control connections at the same time, and data connections of all of them together.
const MOST: usize = 8;

/// The interval of checks for `stop`.
const TICK: Duration = Duration::from_millis(5);

/// The state that all of the relay's threads share.
#[derive(Debug)]
struct Shared {
    egress_proxy: PathBuf,
    callers: Callers,
    stop: AtomicBool,
    /// Bytes that went over data connections to clients.
    served: AtomicU64,
    sessions: Slots,
    transfers: Slots,
}

/// The relay, running since it was prepared: a client logs in before the clock of any activity
/// starts.
#[derive(Debug)]
pub(crate) struct Relaying {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Relaying {
    /// Starts to relay on any free port of the order's address; the egress proxy must be there.
    pub(crate) fn prepare(order: &FtpRelay, callers: &Callers) -> Result<Self, LoadError> {
        probe(&order.egress_proxy).map_err(|source| LoadError::EgressProxy {
            path: order.egress_proxy.clone(),
            source,
        })?;
        let wanted = SocketAddr::new(order.address, 0);
        let failed =
            |operation| move |source| LoadError::Listen { operation, address: wanted, source };
        let listener = TcpListener::bind(wanted).map_err(failed("listen for FTP"))?;
        let address = listener.local_addr().map_err(failed("learn the FTP relay's port"))?;
        listener.do_not_block().map_err(failed("prepare for waiting"))?;
        let shared = Arc::new(Shared {
            egress_proxy: order.egress_proxy.clone(),
            callers: callers.clone(),
            stop: AtomicBool::new(false),
            served: AtomicU64::new(0),
            sessions: Slots::new(MOST),
            transfers: Slots::new(MOST),
        });
        let inner = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("ftp-relay".to_owned())
            .spawn(move || accept(&listener, &inner))
            .map_err(failed("start the FTP relay's thread"))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    fn shut_down(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported on standard error; the accounts are in `shared`.
            let _ = thread.join();
        }
    }
}

/// Gives every connection a session, until `stop`; all threads end with this one.
fn accept(listener: &TcpListener, shared: &Shared) {
    thread::scope(|scope| {
        while let Some((mut client, from)) =
            gate::next(listener, || !shared.stop.load(Ordering::Relaxed))
        {
            if !shared.callers.may_call(from) {
                continue;
            }
            match shared.sessions.take() {
                Some(slot) => {
                    scope.spawn(move || {
                        session::run(client, shared);
                        drop(slot);
                    });
                }
                // A new connection has room for one line; if the client is gone, the line is not
                // needed.
                None => {
                    let _ = client.write_all(b"421 All connections of the relay are in use.\r\n");
                }
            }
        }
    });
}

impl Performance for Relaying {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn perform(
        mut self: Box<Self>,
        stop: &AtomicBool,
    ) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let account = Account::open()?;
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(TICK);
        }
        let closed = account.close()?;
        self.shut_down();
        let bytes = Bytes::new(self.shared.served.load(Ordering::Relaxed));
        Ok(closed.report(Outcome::Served { bytes }))
    }
}

impl Drop for Relaying {
    fn drop(&mut self) {
        self.shut_down();
    }
}

#[cfg(test)]
mod tests;
