//! Counts the connections at the listener and the clients that are connected.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep_until;
use tokio_rustls::server::TlsStream;

use super::client::look;
use super::log::{RefusalCause, RefusalSummary};
use super::pace::Paces;
use super::places::{Places, Taken, block, network};
use super::{ListenerLimits, TlsClient};
use crate::trust::{Peer, Revocations};

/// The numbers of refused callers since the listener was opened, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerCounts {
    /// Connections that were accepted and became clients.
    pub welcomed: u64,
    /// They had not finished the handshake when other callers needed the place.
    pub crowded: u64,
    /// Like `crowded`, for other callers from their own address.
    pub crowded_address: u64,
    /// They called too often: all, or those of their network.
    pub often: u64,
    /// They did not finish the handshake in time.
    pub slow: u64,
    /// Their certificate, or another message in its place, was refused.
    pub refused: u64,
    /// There were too many clients.
    pub full: u64,
    /// Clients that were disconnected because their certificate was revoked, expired, or of an
    /// earlier authority.
    pub dismissed: u64,
}

impl CallerCounts {
    /// All callers that did not become clients.
    pub fn turned_away(&self) -> u64 {
        [self.crowded, self.crowded_address, self.often, self.slow, self.refused, self.full]
            .iter()
            .sum()
    }
}

/// Controls an open listener.
#[derive(Debug, Clone)]
pub struct ListenerHandle {
    shared: Arc<SharedListener>,
}

#[derive(Debug)]
struct SharedListener {
    limits: ListenerLimits,
    state: Mutex<ListenerState>,
    /// Notified when a caller was refused.
    news: Notify,
}

#[derive(Debug)]
struct ListenerState {
    /// The number of the authority, counted from the first, and the configuration for new callers.
    config: (u64, Arc<ServerConfig>),
    /// The newest list: a handshake may have begun with the configuration of an older one.
    revoked: Option<Revocations>,
    /// The places for handshakes in progress.
    places: Places,
    /// The rates of callers of each network, and of known addresses.
    networks: Paces<IpAddr>,
    /// The rate of all callers.
    all: Paces<()>,
    clients: HashMap<u64, (Peer, oneshot::Sender<()>)>,
    next_client: u64,
    counts: CallerCounts,
    report: RefusalSummary,
}

impl ListenerState {
    /// Disconnects the clients for which `is` returns true.
    fn dismiss(&mut self, is: impl Fn(&Peer) -> bool) -> Vec<Peer> {
        let gone = self.clients.extract_if(|_, (peer, _)| is(peer)).map(|(_, (peer, dismiss))| {
            // It fails when the client has gone meanwhile.
            let _ = dismiss.send(());
            peer
        });
        let gone = gone.collect::<Vec<_>>();
        self.counts.dismissed += gone.len() as u64;
        gone
    }
}

/// The place of a caller in a handshake.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandshakePlace {
    /// The number of its place.
    pub(super) number: u64,
    pub(super) from: IpAddr,
    /// The authority of the certificate that it must show.
    pub(super) authority: u64,
}

impl ListenerHandle {
    pub(super) fn new(config: Arc<ServerConfig>, limits: ListenerLimits) -> Self {
        let now = Instant::now();
        let state = ListenerState {
            config: (0, config),
            revoked: None,
            places: Places::default(),
            networks: Paces::new(limits.network_pace, now),
            all: Paces::new(limits.pace, now),
            clients: HashMap::new(),
            next_client: 0,
            counts: CallerCounts::default(),
            report: RefusalSummary::default(),
        };
        Self {
            shared: Arc::new(SharedListener {
                limits,
                state: Mutex::new(state),
                news: Notify::new(),
            }),
        }
    }

    /// From now on new callers get this configuration: a new certificate, a new list of revoked
    /// ones.
    pub fn reload(&self, config: Arc<ServerConfig>) {
        self.state().config.1 = config;
    }

    /// Like `reload`, with another authority: clients of the earlier one are disconnected; returns
    /// them.
    pub fn replace(&self, config: Arc<ServerConfig>) -> Vec<Peer> {
        let mut state = self.state();
        state.config = (state.config.0 + 1, config);
        state.dismiss(|_| true)
    }

    /// Disconnects clients with a revoked certificate, and admits none any more; returns them.
    pub fn dismiss(&self, revocations: &Revocations) -> Vec<Peer> {
        let mut state = self.state();
        state.revoked = Some(revocations.clone());
        state.dismiss(|peer| revocations.names(peer))
    }

    /// The counts of the listener.
    pub fn counts(&self) -> CallerCounts {
        self.state().counts
    }

    /// The peers that are connected as clients now.
    pub fn clients(&self) -> Vec<Peer> {
        self.state().clients.values().map(|(peer, _)| peer.clone()).collect()
    }

    pub(super) fn limits(&self) -> ListenerLimits {
        self.shared.limits
    }

    /// The current configuration for new callers, and the number of its authority.
    pub(super) fn config(&self) -> (u64, Arc<ServerConfig>) {
        self.state().config.clone()
    }

    /// Takes one of the places for handshakes; another caller may lose it.
    pub(super) fn try_hand(&self, from: IpAddr) -> Result<Hand, RefusalCause> {
        let now = Instant::now();
        let mut state = self.state();
        let is_known = state.places.knows(from);
        let who = if is_known { block(from) } else { network(from) };
        if !state.networks.admit(who, now) || !is_known && !state.all.admit((), now) {
            return Err(RefusalCause::Often);
        }
        let (taken, left) = state.places.take(from, &self.shared.limits);
        drop(state);
        if let Some((gone, cause)) = left {
            self.turned_away(gone, cause);
        }
        Ok(Hand { handle: self.clone(), taken })
    }

    /// Makes the caller in place `number` a client; the place is free again.
    pub(super) fn welcome(
        &self,
        HandshakePlace { number, from, authority }: HandshakePlace,
        stream: TlsStream<TcpStream>,
        peer: Peer,
    ) -> Result<TlsClient, RefusalCause> {
        let mut state = self.state();
        if state.revoked.as_ref().is_some_and(|revoked| revoked.names(&peer)) {
            return Err(RefusalCause::Refused(format!(
                "the certificate of controller {} is revoked",
                peer.name
            )));
        }
        if state.config.0 != authority {
            return Err(RefusalCause::Refused(format!(
                "the certificate of controller {} is of an earlier authority",
                peer.name
            )));
        }
        let left = peer.left().ok_or_else(|| RefusalCause::Lapsed(peer.clone()))?;
        let limits = &self.shared.limits;
        let namesakes = state.clients.values().filter(|(client, _)| client.name == peer.name);
        if state.clients.len() >= limits.clients
            || namesakes.count() >= limits.clients_per_controller
        {
            return Err(RefusalCause::Full(peer));
        }
        if !state.places.give_back(number) {
            return Err(RefusalCause::Crowded);
        }
        let number = state.next_client;
        state.next_client += 1;
        state.counts.welcomed += 1;
        state.places.remember(from);
        let (dismiss, dismissed) = oneshot::channel();
        state.clients.insert(number, (peer.clone(), dismiss));
        let stay = Stay { handle: self.clone(), from, number };
        Ok(TlsClient {
            stream,
            peer,
            dismissed,
            look: Box::pin(sleep_until(look(left))),
            over: None,
            stay,
        })
    }

    /// Counts a caller that the listener itself refuses.
    pub(super) fn turned_away(&self, from: IpAddr, cause: RefusalCause) {
        self.count(&mut self.state(), from, cause);
    }

    /// Counts the caller in this place as refused, once.
    pub(super) fn refuse(&self, number: u64, from: IpAddr, cause: RefusalCause) {
        let mut state = self.state();
        if state.places.judge(number) {
            self.count(&mut state, from, cause);
        }
    }

    fn count(&self, state: &mut ListenerState, from: IpAddr, cause: RefusalCause) {
        let counts = &mut state.counts;
        *match &cause {
            RefusalCause::Crowded => &mut counts.crowded,
            RefusalCause::CrowdedAddress => &mut counts.crowded_address,
            RefusalCause::Often => &mut counts.often,
            RefusalCause::Slow => &mut counts.slow,
            RefusalCause::Refused(_) => &mut counts.refused,
            RefusalCause::Full(_) => &mut counts.full,
            RefusalCause::Lapsed(_) => &mut counts.dismissed,
        } += 1;
        state.report.add(from, cause);
        self.shared.news.notify_one();
    }

    /// Waits until a caller was refused.
    pub(super) async fn news(&self) {
        self.shared.news.notified().await;
    }

    /// Takes the report about callers that were refused since the last call.
    pub(super) fn report(&self) -> RefusalSummary {
        std::mem::take(&mut self.state().report)
    }

    fn state(&self) -> MutexGuard<'_, ListenerState> {
        // A panic leaves no half-done change in here.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the handshakes.
#[derive(Debug)]
pub(super) struct Hand {
    handle: ListenerHandle,
    taken: Taken,
}

impl Hand {
    /// Which place it is.
    pub(super) const fn number(&self) -> u64 {
        self.taken.0
    }

    /// Waits until another caller has taken the place.
    pub(super) async fn taken_away(&mut self) {
        // The handle removes a place only when it is taken away or released.
        let _ = (&mut self.taken.1).await;
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.handle.state().places.give_back(self.taken.0);
    }
}

/// A place among the clients.
#[derive(Debug)]
pub(super) struct Stay {
    handle: ListenerHandle,
    from: IpAddr,
    number: u64,
}

impl Stay {
    /// Counts and reports that this client is disconnected because its certificate has expired.
    pub(super) fn lapsed(&self, peer: &Peer) {
        self.handle.turned_away(self.from, RefusalCause::Lapsed(peer.clone()));
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.handle.state().clients.remove(&self.number);
    }
}
