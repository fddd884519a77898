//! The server: a thread for new callers, and one for each client.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use btu_contract::activity::Token;
use btu_contract::peers::Callers;
use btu_units::{Bytes, Span};

use super::account::{ClientAccount, ClientAccounts};
use super::listener::{Guest, Listener};
use super::moments::{Moments, Moved};
use super::session::{NfsService, NfsSession};
use crate::volume::Volume;
use crate::{LoadError, account};

/// Most clients at a time.
pub const MOST_CLIENTS: usize = 128;

/// The time for clients to end after a stop of the server.
const GRACE: Duration = Duration::from_secs(2);

/// The file system of a server, and its settings.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The address on which it listens, on any free port.
    pub address: IpAddr,
    /// A client with the token may do everything; others get no answer.
    pub token: Token,
    /// An existing directory for the content of files, which have no name there.
    pub directory: PathBuf,
    /// Most that all files hold together.
    pub room: Bytes,
    /// What each operation takes at least, one after the other; zero leaves them to the machine. At
    /// most a second.
    pub service: Span,
}

/// An NFS version 3 server over TCP (RFC 1813), running since it was started.
///
/// It serves a file system of its own, empty at first, which is gone with it. Its clients send a
/// token, as the machine name of their `AUTH_SYS` credential (RFC 5531), and the root's handle
/// follows from it: there is no MOUNT protocol and no portmapper. A caller that has not sent the
/// token within a second is disconnected without an answer; at most 32 such callers are served at a
/// time. Clients are served by a thread each, 128 at most, their calls one after the other in the
/// order in which they come, and messages of 1 MiB and some at most. A client that is silent for
/// five minutes is disconnected.
#[derive(Debug)]
pub struct NfsServer {
    address: SocketAddr,
    service: Arc<NfsService>,
    /// Whether new clients are refused.
    closing: Arc<AtomicBool>,
    /// Whether sessions must end after their current call.
    ending: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl NfsServer {
    /// Starts to serve allowed callers.
    ///
    /// # Errors
    /// An address that cannot be listened on, a directory that cannot be used or has less room.
    pub fn start(settings: &ServerSettings, callers: &Callers) -> Result<Self, LoadError> {
        let volume = Volume::new(&settings.directory, settings.room, settings.service)?;
        Self::serve(volume, settings.address, settings.token, callers)
    }

    /// Serves an existing file system.
    pub(crate) fn serve(
        volume: Volume,
        address: IpAddr,
        token: Token,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let listener = Listener::open(address, callers)?;
        let address = listener.address();
        let verifier = account::now()?.nanoseconds().to_be_bytes();
        let accounts = ClientAccounts::default();
        let service =
            Arc::new(NfsService { volume, token, verifier, accounts, moments: Moments::default() });
        let [closing, ending] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let parts = (Arc::clone(&service), Arc::clone(&closing), Arc::clone(&ending));
        let accepting = thread::Builder::new()
            .name("nfs-listener".to_owned())
            .spawn(move || accept(listener, &parts.0, &parts.1, &parts.2))
            .map_err(|source| LoadError::Kernel {
                operation: "start the NFS server's thread",
                source,
            })?;
        Ok(Self { address, service, closing, ending, accepting: Some(accepting) })
    }

    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no new clients, waits up to two seconds for the connected ones to end, and ends the
    /// others after their current call. Returns the account of each client, by the number that it
    /// sent.
    pub fn stop(mut self) -> BTreeMap<u32, ClientAccount> {
        self.shut_down(GRACE);
        self.service.accounts.of_all()
    }

    /// Like `stop`; returns when files were read or written, and passes the file system to a
    /// function.
    pub(crate) fn stop_and_look<T>(
        mut self,
        look: impl FnOnce(&Volume) -> T,
    ) -> (Option<Moved>, T) {
        self.shut_down(GRACE);
        (self.service.moments.all(), look(&self.service.volume))
    }

    fn shut_down(&mut self, grace: Duration) {
        self.closing.store(true, Ordering::Relaxed);
        let Some(accepting) = self.accepting.take() else { return };
        let end = Instant::now() + grace;
        while !accepting.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        self.ending.store(true, Ordering::Relaxed);
        // A thread that panicked is a bug of btu; its clients see the connection end.
        let _ = accepting.join();
    }
}

impl Drop for NfsServer {
    fn drop(&mut self) {
        self.shut_down(Duration::ZERO);
    }
}

/// Accepts callers until `closing`, then waits for the sessions.
fn accept(
    mut listener: Listener,
    service: &Arc<NfsService>,
    closing: &AtomicBool,
    ending: &Arc<AtomicBool>,
) {
    // The default slack of 50 us is added to every wait (prctl(2)), and is inherited by the
    // sessions' threads.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut sessions: Vec<JoinHandle<()>> = Vec::new();
    while !closing.load(Ordering::Relaxed) {
        let Some(guest) = listener.admit(&service.token) else { continue };
        sessions.retain(|session| !session.is_finished());
        if sessions.len() >= MOST_CLIENTS {
            listener.is_full(&guest);
            continue;
        }
        // Without a thread the guest sees its connection end.
        sessions.extend(attend(guest, service, ending));
    }
    drop(listener);
    for session in sessions {
        let _ = session.join();
    }
}

fn attend(
    guest: Guest,
    service: &Arc<NfsService>,
    ending: &Arc<AtomicBool>,
) -> Option<JoinHandle<()>> {
    let (service, ending) = (Arc::clone(service), Arc::clone(ending));
    let serve = move || {
        // A failure here concerns only this client, which sees its connection end.
        if let Ok(session) = NfsSession::open(&service, guest) {
            let _ = session.serve(&ending);
        }
    };
    thread::Builder::new().name("nfs-client".to_owned()).spawn(serve).ok()
}
