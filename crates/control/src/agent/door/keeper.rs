//! Who is at the door and who is inside.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio_rustls::server::TlsStream;

use super::log::{Cause, Report};
use super::{DoorLimits, Guest};
use crate::trust::{Peer, Revocations};

/// How many were turned away since the door was opened, and for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// They became guests.
    pub welcomed: u64,
    /// Too many tried at once.
    pub crowded: u64,
    /// Too many tried at once from their address.
    pub crowded_address: u64,
    /// They did not finish the handshake in time.
    pub slow: u64,
    /// Their certificate, or what they said instead of one, was refused.
    pub refused: u64,
    /// There were too many guests.
    pub full: u64,
    /// Guests that were sent away because their certificate was revoked.
    pub dismissed: u64,
}

/// Steers an open door.
#[derive(Debug, Clone)]
pub struct Keeper {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: DoorLimits,
    state: Mutex<State>,
    /// Somebody was turned away.
    news: Notify,
}

#[derive(Debug)]
struct State {
    config: Arc<ServerConfig>,
    /// The newest list: a handshake may have begun with the configuration of an older one.
    revoked: Option<Revocations>,
    /// Handshakes going on, by address; those with none are not kept.
    hands: HashMap<IpAddr, usize>,
    guests: HashMap<u64, (Peer, oneshot::Sender<()>)>,
    next_guest: u64,
    counts: Counts,
    report: Report,
}

impl Keeper {
    pub(super) fn new(config: Arc<ServerConfig>, limits: DoorLimits) -> Self {
        let state = State {
            config,
            revoked: None,
            hands: HashMap::new(),
            guests: HashMap::new(),
            next_guest: 0,
            counts: Counts::default(),
            report: Report::default(),
        };
        Self { shared: Arc::new(Shared { limits, state: Mutex::new(state), news: Notify::new() }) }
    }

    /// From now on strangers meet this configuration: a new certificate, a new list of revoked ones.
    pub fn reload(&self, config: Arc<ServerConfig>) {
        self.state().config = config;
    }

    /// Sends guests away whose certificate is revoked, and takes none in any more; returns who they were.
    pub fn dismiss(&self, revocations: &Revocations) -> Vec<Peer> {
        let mut state = self.state();
        state.revoked = Some(revocations.clone());
        let gone = state.guests.extract_if(|_, (peer, _)| revocations.names(peer));
        let gone = gone.map(|(_, (peer, dismiss))| {
            // It fails when the guest has gone meanwhile.
            dismiss.send(()).ok();
            peer
        });
        let gone = gone.collect::<Vec<_>>();
        state.counts.dismissed += gone.len() as u64;
        gone
    }

    /// What happened at the door.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }

    /// Who is inside.
    pub fn guests(&self) -> Vec<Peer> {
        self.state().guests.values().map(|(peer, _)| peer.clone()).collect()
    }

    pub(super) fn limits(&self) -> DoorLimits {
        self.shared.limits
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.state().config)
    }

    /// Takes one of the places for handshakes.
    pub(super) fn try_hand(&self, address: IpAddr) -> Result<Hand, Cause> {
        let limits = self.limits();
        let mut state = self.state();
        if state.hands.values().sum::<usize>() >= limits.handshakes {
            return Err(Cause::Crowded);
        }
        let held = state.hands.entry(address).or_default();
        if *held >= limits.handshakes_per_address {
            return Err(Cause::CrowdedAddress);
        }
        *held += 1;
        Ok(Hand { keeper: self.clone(), address })
    }

    pub(super) fn welcome(&self, stream: TlsStream<TcpStream>, peer: Peer) -> Result<Guest, Cause> {
        let mut state = self.state();
        if state.revoked.as_ref().is_some_and(|revoked| revoked.names(&peer)) {
            return Err(Cause::Refused(format!("the certificate of controller {} is revoked", peer.name)));
        }
        if state.guests.len() >= self.shared.limits.guests {
            return Err(Cause::Full(peer));
        }
        let number = state.next_guest;
        state.next_guest += 1;
        state.counts.welcomed += 1;
        let (dismiss, dismissed) = oneshot::channel();
        state.guests.insert(number, (peer.clone(), dismiss));
        Ok(Guest { stream, peer, dismissed, is_dismissed: false, _stay: Stay { keeper: self.clone(), number } })
    }

    pub(super) fn turned_away(&self, from: IpAddr, cause: Cause) {
        let mut state = self.state();
        let counts = &mut state.counts;
        *match &cause {
            Cause::Crowded => &mut counts.crowded,
            Cause::CrowdedAddress => &mut counts.crowded_address,
            Cause::Slow => &mut counts.slow,
            Cause::Refused(_) => &mut counts.refused,
            Cause::Full(_) => &mut counts.full,
        } += 1;
        state.report.add(from, cause);
        self.shared.news.notify_one();
    }

    /// Waits until somebody was turned away, and takes the report.
    pub(super) async fn report(&self) -> Report {
        self.shared.news.notified().await;
        std::mem::take(&mut self.state().report)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here is left half done by a panic.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the handshakes.
#[derive(Debug)]
pub(super) struct Hand {
    keeper: Keeper,
    address: IpAddr,
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut state = self.keeper.state();
        if let Some(held) = state.hands.get_mut(&self.address) {
            *held -= 1;
            if *held == 0 {
                state.hands.remove(&self.address);
            }
        }
    }
}

/// A place among the guests.
#[derive(Debug)]
pub(super) struct Stay {
    keeper: Keeper,
    number: u64,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.keeper.state().guests.remove(&self.number);
    }
}
