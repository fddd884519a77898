//! The agent's life as a service: opens one entrance, serves, follows signals, and leaves nothing
//! behind.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use btu_testbed::netem;
use btu_testbed::note;
use btu_testbed::pages::give_back_code;
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
use super::tls_listener::{ListenerHandle, ListenerLimits, TlsListener};
use crate::protocol::{self, SILENCE};
use crate::trust::{self, Identity, Pairing, Revocations, Role};

/// The entrance of controllers.
#[derive(Debug, Clone)]
pub enum Entrance {
    /// By a Unix socket at this path, for this machine's own user.
    Unix(PathBuf),
    /// By standard input and output; the agent ends with the connection.
    Stdio,
    /// By TLS over TCP.
    Network {
        /// The address on which the agent listens.
        listen: SocketAddr,
        /// The certificates that the agent trusts.
        trust: Trust,
    },
    /// By TLS over TCP, for one job.
    Launched(Arc<Launched>),
}

/// The certificates that an agent trusts.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Controllers of the same authority.
    Identity {
        /// The agent's own identity.
        identity: PathBuf,
        /// The authority's list of revoked certificates.
        revoked: Option<PathBuf>,
    },
    /// The controller that has the code.
    Pair,
}

/// Tells that an agent listens, with its address and the pairing code if there is one.
pub type Ready = Box<dyn Fn(&str, Option<&str>)>;

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

/// Serves until SIGTERM or SIGINT, or until the connection of [`Entrance::Stdio`] ends. SIGHUP
/// reads the policy, the identity and the revocations again.
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
            Entrance::Stdio => by_stdio(&host, settings, &mut signals).await,
            Entrance::Network { listen, trust } => {
                by_network(&host, *listen, trust, settings, &mut signals).await
            }
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
        Ok(_) => true,
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
            "agent: what an earlier agent may have left stays, because it is not known whether other agents live: {error}"
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
    (settings.ready)(&path.display().to_string(), None);
    tokio::select! {
        () = to_this_machine(host, &listener) => {}
        () = signals.follow(|| reload_policy(host, settings)) => {}
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

/// Serves controllers on other machines, as long as this is not dropped and listens.
pub(super) async fn to_clients(host: &Arc<HostAgent>, mut listener: TlsListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            client = listener.accept() => {
                let Some(client) = client else { return };
                let caller = Caller::named(&client.peer().name, client.connection());
                let service = CallerService { host: Arc::clone(host), caller };
                connections.spawn(async move {
                    drop(protocol::serve(client, &service, Some(SILENCE)).await);
                });
            }
        }
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

async fn by_stdio(
    host: &Arc<HostAgent>,
    settings: &ServiceSettings,
    signals: &mut Signals,
) -> Result<(), AgentError> {
    let (connection, written) = stdio::take().map_err(AgentError::Stdio)?;
    let service = CallerService { host: Arc::clone(host), caller: Caller::starter() };
    tokio::select! {
        _ = protocol::serve(connection, &service, Some(SILENCE)) => {
            // The agent does not wait for a caller that does not read its answers.
            let _ = tokio::time::timeout(LAST_WORDS, written).await;
        }
        () = signals.follow(|| reload_policy(host, settings)) => {}
    }
    Ok(())
}

async fn by_network(
    host: &Arc<HostAgent>,
    listen: SocketAddr,
    trust: &Trust,
    settings: &ServiceSettings,
    signals: &mut Signals,
) -> Result<(), AgentError> {
    let pairing = matches!(trust, Trust::Pair).then(Pairing::new).transpose()?;
    let Shown { identity, config, .. } = match (&pairing, trust) {
        (Some(pairing), _) => Shown::of(pairing.agent()?, None)?,
        (None, Trust::Identity { identity, revoked }) => read_trust(identity, revoked.as_deref())?,
        (None, Trust::Pair) => return Ok(()),
    };
    let mut shown = identity;
    let listener = open(host, listen, config)?;
    let handle = listener.handle();
    (settings.ready)(
        &listener.address().to_string(),
        pairing.as_ref().map(Pairing::code).as_deref(),
    );
    tokio::select! {
        () = to_clients(host, listener) => {}
        () = signals.follow(|| {
            reload_policy(host, settings);
            reload_trust(&handle, trust, &mut shown);
        }) => {}
    }
    Ok(())
}

async fn by_launcher(
    host: &Arc<HostAgent>,
    launched: &Launched,
    settings: &ServiceSettings,
    signals: &mut Signals,
) -> Result<(), AgentError> {
    let config = trust::server_config(&launched.identity, None)?;
    let listener = open(host, launched.listen, config)?;
    let handle = listener.handle();
    (settings.ready)(&listener.address().to_string(), None);
    tokio::select! {
        () = to_clients(host, listener) => {}
        why = launched.end(&handle) => note!("agent: ends: {why}"),
        () = signals.follow(|| reload_policy(host, settings)) => {}
    }
    Ok(())
}

/// Begins to listen to controllers on other machines.
fn open(
    host: &Arc<HostAgent>,
    listen: SocketAddr,
    config: Arc<rustls::ServerConfig>,
) -> Result<TlsListener, AgentError> {
    let tell = Box::new(|line: &str| note!("agent: {line}"));
    let listener = TlsListener::open(listen, config, ListenerLimits::STANDARD, tell);
    let listener = listener.map_err(|source| AgentError::Open { address: listen, source })?;
    host.behind(listener.handle());
    Ok(listener)
}

/// The data about this agent for controllers.
struct Shown {
    identity: Identity,
    revocations: Option<Revocations>,
    config: Arc<rustls::ServerConfig>,
}

impl Shown {
    fn of(identity: Identity, revocations: Option<Revocations>) -> Result<Self, AgentError> {
        let config = trust::server_config(&identity, revocations.as_ref())?;
        Ok(Self { identity, revocations, config })
    }
}

fn read_trust(identity: &Path, revoked: Option<&Path>) -> Result<Shown, AgentError> {
    let identity = Identity::load(identity)?;
    identity.card().check_role(Role::Agent)?;
    Shown::of(identity, revoked.map(Revocations::load).transpose()?)
}

/// Reads both again; `shown` is the identity that was read before.
fn reload_trust(handle: &ListenerHandle, trust: &Trust, shown: &mut Identity) {
    let Trust::Identity { identity, revoked } = trust else { return };
    match read_trust(identity, revoked.as_deref()) {
        Ok(Shown { identity, revocations, config }) => {
            if identity.is_of_the_authority_of(shown) {
                handle.reload(config);
            } else {
                for peer in handle.replace(config) {
                    note!(
                        "agent: controller {} is sent away: it is of an earlier authority",
                        peer.name
                    );
                }
            }
            *shown = identity;
            for peer in revocations.iter().flat_map(|revocations| handle.dismiss(revocations)) {
                note!("agent: controller {} is sent away: its certificate is revoked", peer.name);
            }
            // This line tells the sender of SIGHUP that the new list counts from now on.
            note!("agent: read the identity and the revocations again");
        }
        Err(error) => {
            note!("agent: the identity and the revocations stay as they are: {error}");
        }
    }
}

fn reload_policy(host: &HostAgent, settings: &ServiceSettings) {
    match load_policy(settings) {
        Ok(policy) => {
            note!("agent: read {policy} again");
            host.set_policy(policy);
        }
        Err(error) => note!("agent: the policy stays as it is: {error}"),
    }
}

/// A signal from the service manager, or from a user.
struct Signals {
    end: Signal,
    interrupt: Signal,
    reload: Signal,
}

impl Signals {
    fn take() -> io::Result<Self> {
        Ok(Self {
            end: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reload: signal(SignalKind::hangup())?,
        })
    }

    /// Returns when the agent must end; calls `reload` meanwhile.
    async fn follow(&mut self, mut reload: impl FnMut()) {
        loop {
            tokio::select! {
                _ = self.end.recv() => return,
                _ = self.interrupt.recv() => return,
                heard = self.reload.recv() => match heard {
                    Some(()) => reload(),
                    None => return,
                },
            }
        }
    }
}
