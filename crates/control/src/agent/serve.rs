//! The agent's life as a service: opens one entrance, serves, follows signals, and leaves nothing
//! behind.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use btu_testbed::netem;
use btu_testbed::note;
use btu_testbed::own_process::give_back_code;
use btu_testbed::privilege::{Capabilities, confine_to};
use nix::net::if_::if_nameindex;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use super::AgentError;
use super::caller::Caller;
use super::host::HostAgent;
use super::launched::Launched;
use super::policy::Policy;
use super::presence::{AGENTS, Presence};
use super::service::CallerService;
use super::stdio;
use super::tls_listener::TlsListener;
use crate::protocol::{self, SILENCE};
use crate::trust;

/// The entrance of controllers.
#[derive(Debug, Clone)]
pub enum Entrance {
    /// By a Unix socket at this path, for this machine's own user.
    Unix(PathBuf),
    /// By standard input and output; the agent ends with the connection.
    Stdio,
    /// By TLS over TCP, for one job.
    Launched(Arc<Launched>),
}

/// Tells that an agent listens, and where.
pub type Ready = Box<dyn Fn(&str)>;

/// The settings of a service.
pub struct ServiceSettings {
    /// The host's name for controllers.
    pub name: String,
    /// The program; its `internal worker` performs activities.
    pub executable: PathBuf,
    /// The policy file; the default policy holds without one.
    pub policy: Option<PathBuf>,
    /// The entrance of controllers.
    pub entrance: Entrance,
    /// Called once the agent listens.
    pub ready: Ready,
}

/// The capabilities that an agent of the superuser keeps: those for its workers, a low port, and
/// namespaces, with which it tests the host's features when a controller requests it.
const CAPABILITIES: Capabilities =
    crate::worker::CAPABILITIES.and(Capabilities::LOW_PORTS).and(Capabilities::SYS_ADMIN);

/// Serves until SIGTERM, SIGINT or SIGHUP, or until the connection of [`Entrance::Stdio`] or the job
/// of [`Entrance::Launched`] ends.
pub fn serve(settings: &ServiceSettings) -> Result<(), AgentError> {
    let policy = load_policy(settings)?;
    confine_to(CAPABILITIES).map_err(AgentError::Privileges)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(AgentError::Runtime)?;
    runtime.block_on(async {
        let _presence = arrive();
        let netem = may_impair();
        let host = HostAgent::new(&settings.name, &settings.executable, Some(policy), netem)
            .map_err(AgentError::Random)?;
        let mut signals = Signals::take().map_err(AgentError::Signals)?;
        // The code for starting is not needed again. If the kernel refuses to release it, the agent
        // only uses more memory.
        let _ = give_back_code();
        let ended = match &settings.entrance {
            Entrance::Unix(path) => by_unix(&host, path, settings, &mut signals).await,
            Entrance::Stdio => by_stdio(&host, &mut signals).await,
            Entrance::Launched(launched) => {
                by_launcher(&host, launched, settings, &mut signals).await
            }
        };
        // Workers are killed and impairments undone before a controller can conclude that the agent
        // is gone.
        host.end();
        ended
    })
}

fn load_policy(settings: &ServiceSettings) -> Result<Policy, AgentError> {
    let path = settings.policy.as_deref();
    let mut policy = path.map_or_else(|| Ok(Policy::default()), Policy::load)?;
    if let Entrance::Launched(launched) = &settings.entrance {
        policy.add_peers(launched.limits.over);
    }
    let directory = policy.scratch_directory();
    std::fs::create_dir_all(directory)
        .map_err(|source| AgentError::Scratch { path: directory.to_owned(), source })?;
    Ok(policy)
}

/// Whether the kernel's netem is available. A test needs a network namespace, which a service may
/// not make; then its capabilities decide, and a later attempt to impair shows the rest.
fn may_impair() -> bool {
    match netem::probe() {
        Ok(()) => true,
        Err(netem::NetemError::Refused { .. }) => crate::doctor::may_administer_networks(),
        Err(_) => false,
    }
}

/// Joins the agents of this network namespace, and cleans up if it is the only one. An agent
/// without the right to change the network does not count.
fn arrive() -> Option<Presence> {
    if !crate::doctor::may_administer_networks() {
        return None;
    }
    let unknown = |error: io::Error| {
        note!(
            "agent: leftovers of an earlier agent stay, because it is unknown whether other agents are running: {error}"
        );
    };
    let presence = Presence::announce(AGENTS).map_err(unknown).ok()?;
    // With others here, delay and loss may be theirs.
    if presence.is_alone().map_err(unknown).unwrap_or(false) {
        clear_impairments();
    }
    Some(presence)
}

/// The remains of an earlier agent after a power cut or a kill.
fn clear_impairments() {
    for interface in if_nameindex().iter().flatten() {
        let name = interface.name().to_string_lossy();
        match netem::clear(&name) {
            Ok(true) => {
                note!("agent: took away what an earlier agent had left at {name}: delay or loss");
            }
            Ok(false) => {}
            Err(error) => note!("agent: cannot take away what an earlier agent left: {error}"),
        }
    }
}

async fn by_unix(
    host: &Arc<HostAgent>,
    path: &Path,
    settings: &ServiceSettings,
    signals: &mut Signals,
) -> Result<(), AgentError> {
    let listen = |source| AgentError::Listen { path: path.to_owned(), source };
    let listener = private_socket(path).await.map_err(listen)?;
    (settings.ready)(&path.display().to_string());
    tokio::select! {
        () = to_this_machine(host, &listener) => {}
        () = signals.end() => {}
    }
    let _ = std::fs::remove_file(path);
    Ok(())
}

/// When the system gives no connection (no descriptor is free, say), the pause until the next
/// attempt.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Serves who can open this socket, as long as this is not dropped.
pub(super) async fn to_this_machine(host: &Arc<HostAgent>, listener: &UnixListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Those that have ended are forgotten.
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let service = CallerService { host: Arc::clone(host), caller: Caller::local() };
                    // How a connection ended is its controller's concern.
                    connections.spawn(async move {
                        drop(protocol::serve(stream, &service, None).await);
                    });
                }
                Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
            },
        }
    }
}

/// Serves the controller of a job, as long as this is not dropped. `connected` is the number of its
/// connections.
async fn to_clients(host: &Arc<HostAgent>, mut listener: TlsListener, connected: &Cell<usize>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            client = listener.accept() => {
                let caller = Caller::of_job(client.get_ref().0);
                let service = CallerService { host: Arc::clone(host), caller };
                connections.spawn(async move {
                    drop(protocol::serve(client, &service, Some(SILENCE)).await);
                });
            }
        }
        connected.set(connections.len());
    }
}

/// A socket that only this user can open. A socket where no process listens any more is replaced;
/// any other file stays.
async fn private_socket(path: &Path) -> io::Result<UnixListener> {
    use nix::sys::stat::{Mode, umask};
    // Linux refuses connections to files that are not sockets with that error, too (connect(2)).
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket(path) && UnixStream::connect(path).await.is_err_and(refused) {
        std::fs::remove_file(path)?;
    }
    // The process has no other thread that makes files now.
    let before = umask(Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket())
}

/// The time for sending the last answers.
const LAST_WORDS: Duration = Duration::from_secs(1);

async fn by_stdio(host: &Arc<HostAgent>, signals: &mut Signals) -> Result<(), AgentError> {
    let (connection, written) = stdio::take().map_err(AgentError::Stdio)?;
    let service = CallerService { host: Arc::clone(host), caller: Caller::starter() };
    tokio::select! {
        _ = protocol::serve(connection, &service, Some(SILENCE)) => {
            // The agent does not wait for a caller that does not read its answers.
            let _ = tokio::time::timeout(LAST_WORDS, written).await;
        }
        () = signals.end() => {}
    }
    Ok(())
}

async fn by_launcher(
    host: &Arc<HostAgent>,
    launched: &Launched,
    settings: &ServiceSettings,
    signals: &mut Signals,
) -> Result<(), AgentError> {
    let config = trust::server_config(&launched.identity)?;
    let open = |source| AgentError::Open { address: launched.listen, source };
    let listener = TlsListener::open(launched.listen, config).map_err(open)?;
    (settings.ready)(&listener.address().map_err(open)?.to_string());
    let connected = Cell::new(0);
    tokio::select! {
        () = to_clients(host, listener, &connected) => {}
        why = launched.end(&connected) => note!("agent: ends: {why}"),
        () = signals.end() => {}
    }
    Ok(())
}

/// The signals that end an agent.
struct Signals([Signal; 3]);

impl Signals {
    fn take() -> io::Result<Self> {
        let [terminate, interrupt, hang_up] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self([terminate?, interrupt?, hang_up?]))
    }

    /// Returns when the agent must end.
    async fn end(&mut self) {
        let [terminate, interrupt, hang_up] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}
