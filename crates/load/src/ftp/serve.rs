//! The embedded FTP server: control part by libunftp, files by [`VirtualFiles`].
//!
//! The server accepts connections itself and gives each to a session of its own: so it can bind any
//! free port, for control and for data, and report it, without a moment in which another process
//! could take it.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use btu_suite::activity::{FtpServe, Performance};
use btu_suite::peers::{Callers, Refused};
use btu_suite::record::{Outcome, Report};
use btu_units::Bytes;
use libunftp::ServerBuilder;
use libunftp::options::Binder;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::data_port::DataPort;
use super::login::Login;
use super::virtual_files::{Place, VirtualFiles};
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
        place: Option<Place>,
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
                    let login = Login::new(&password);
                    let session =
                        session(connection, client.ip(), files.clone(), login, callers.clone());
                    tokio::spawn(async move {
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

/// One client's control connection, to its end.
async fn session(
    connection: TcpStream,
    client: IpAddr,
    files: VirtualFiles,
    login: Login,
    callers: Callers,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let connection = connection.into_std()?;
    let control = connection.try_clone()?;
    let login = Arc::new(login);
    let data = DataPort::of(client);
    let files = files.for_session(data.clone());
    let server = ServerBuilder::with_authenticator(
        Box::new(move || files.clone()),
        Arc::<Login>::clone(&login),
    )
    .greeting("btu: N.bin has N random bytes, for every N")
    .binder(AnyPort { data })
    .build()
    .map_err(io::Error::other)?;
    let mut session = pin!(server.service(TcpStream::from_std(connection)?));
    tokio::select! {
        _ = &mut session => return Ok(()),
        () = login.fails() => callers.refuse(client, Refused::NoLogin),
    }
    // The library's own task sees the end of the connection, and ends.
    control.shutdown(Shutdown::Both)?;
    session.await.map_err(io::Error::other)
}

/// Lets the kernel choose a free port for a data connection.
#[derive(Debug)]
struct AnyPort {
    data: DataPort,
}

#[async_trait]
impl Binder for AnyPort {
    async fn bind(&mut self, local: IpAddr, _ports: RangeInclusive<u16>) -> io::Result<TcpSocket> {
        let socket = if local.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.bind(SocketAddr::new(local, 0))?;
        self.data.set(socket.local_addr()?.port());
        Ok(socket)
    }
}

#[cfg(test)]
mod tests;
