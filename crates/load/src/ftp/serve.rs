//! The embedded FTP server: it gives each client a [`session`] of its own, with the files of
//! [`VirtualFiles`].

mod control;
mod session;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use btu_contract::activity::{FtpServe, Performance, Performed, Tell};
use btu_contract::peers::{Callers, Refused};
use btu_contract::record::Outcome;
use btu_units::Bytes;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::virtual_files::{ExtraFile, VirtualFiles};
use crate::account::Account;
use crate::{LoadError, content};

/// Control connections at a time; the transfer of a cell takes one.
const SESSIONS: usize = 8;

/// The interval of checks for `stop`.
const TICK: Duration = Duration::from_millis(5);

/// How long open sessions may take to end.
const GRACE: Duration = Duration::from_millis(200);

/// The server, running since it was prepared: a client logs in before the clock of any activity
/// starts.
#[derive(Debug)]
pub(crate) struct Serving {
    address: SocketAddr,
    files: VirtualFiles,
    /// The places of sessions; a session that has ended has returned its place.
    places: Arc<Semaphore>,
    runtime: Option<Runtime>,
}

impl Serving {
    /// Starts to serve on any free port of the order's address.
    pub(crate) fn prepare(order: &FtpServe, callers: &Callers) -> Result<Self, LoadError> {
        Self::open(order, callers, None)
    }

    /// Like `prepare`, with one more file, or with a place for one that a client stores.
    pub(super) fn open(
        order: &FtpServe,
        callers: &Callers,
        place: Option<ExtraFile>,
    ) -> Result<Self, LoadError> {
        content::pool();
        let wanted = SocketAddr::new(order.address, 0);
        let failed =
            |operation| move |source| LoadError::Listen { operation, address: wanted, source };
        // One thread: on a machine with few processors, the server must not occupy all of them.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(failed("start the FTP server's thread"))?;
        let listener =
            runtime.block_on(TcpListener::bind(wanted)).map_err(failed("listen for FTP"))?;
        let address = listener.local_addr().map_err(failed("learn the FTP server's port"))?;
        let (files, places) = (VirtualFiles::with(place), Arc::new(Semaphore::new(SESSIONS)));
        let password = order.password.clone();
        runtime.spawn(accept(
            listener,
            files.clone(),
            password,
            callers.clone(),
            Arc::clone(&places),
        ));
        Ok(Self { address, files, places, runtime: Some(runtime) })
    }

    /// The address on which it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a client is connected.
    pub(super) fn has_sessions(&self) -> bool {
        self.places.available_permits() < SESSIONS
    }
}

impl Performance for Serving {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn perform_telling(mut self: Box<Self>, stop: &AtomicBool, _: Tell<'_>) -> Performed {
        let account = Account::open()?;
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(TICK);
        }
        let closed = account.close()?;
        self.shut_down();
        Ok(closed.report(Outcome::Served { bytes: Bytes::new(self.files.served()) }))
    }
}

impl Serving {
    fn shut_down(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Gives every connection of an allowed client a session of its own, until the runtime ends. Other
/// clients get no answer.
async fn accept(
    listener: TcpListener,
    files: VirtualFiles,
    password: String,
    callers: Callers,
    places: Arc<Semaphore>,
) {
    loop {
        match listener.accept().await {
            Ok((_, client)) if !callers.may_call(client) => {}
            Ok((connection, client)) => {
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    let (client, files) = (client.ip().to_canonical(), files.clone());
                    let (password, callers) = (password.clone(), callers.clone());
                    tokio::spawn(async move {
                        let session =
                            session::serve(connection, client, files, &password, &callers);
                        // A failure here concerns only this peer, which knows of it: the server
                        // continues.
                        let _ = session.await;
                        drop(place);
                    });
                } else {
                    callers.refuse(client.ip(), Refused::Full);
                }
            }
            // Out of descriptors or the peer is gone already: neither ends the server, and neither
            // may spin it.
            Err(_) => tokio::time::sleep(TICK).await,
        }
    }
}

#[cfg(test)]
mod tests;
