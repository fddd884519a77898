//! One host: its agent, its reservation and its clock, and how it is reached again after a loss.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use btu_contract::record::HostClock;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::client::AgentLink;
use super::super::error::ControllerError;
use super::clock::{Moment, Probes};
use super::transport::Transport;
use super::{Access, HostCall};
use crate::protocol::{DescribeReply, HelloReply, ReserveRequest};

/// The interval of lease renewals, a fifth of the lease.
const RENEW_EVERY: Duration = Duration::from_secs(1);

/// Probes of the clock before the measurement.
const FIRST_PROBES: usize = 8;

/// A host that was lost is called again after this, then ever more seldom, up to this.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// The end of its lease frees a host that does not accept the release.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);

/// The purpose of a reservation.
#[derive(Debug, Clone)]
pub(crate) struct Purpose {
    pub(crate) run: String,
    pub(crate) controller: String,
    /// Milliseconds that the run is expected to take from now on; all hosts are told.
    pub(crate) left_ms: Arc<AtomicU64>,
}

impl Purpose {
    pub(crate) fn left(&self) -> Duration {
        Duration::from_millis(self.left_ms.load(Ordering::Relaxed))
    }
}

/// The result of reaching a lost host again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reconnected {
    pub(crate) host: String,
    pub(crate) away: Duration,
    /// Whether it was another agent than before: it or its host was restarted.
    pub(crate) restarted: bool,
}

/// A reserved host.
pub(crate) struct RemoteHost {
    pub(crate) name: String,
    transport: Transport,
    pub(crate) link: AgentLink,
    pub(crate) hello: HelloReply,
    /// The last description.
    pub(crate) described: Option<DescribeReply>,
    probes: Arc<Mutex<Probes>>,
    renewing: Option<Renewing>,
}

/// Ends with its owner.
struct Renewing(JoinHandle<()>);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RemoteHost {
    /// Reaches a host; nothing is reserved yet.
    pub(crate) async fn call(call: &HostCall, access: &Access) -> Result<Self, ControllerError> {
        let transport = Transport::of(call, access)?;
        let (link, hello) = transport.connect(&call.name).await?;
        let name = call.name.clone();
        Ok(Self {
            name,
            transport,
            link,
            hello,
            described: None,
            probes: Arc::default(),
            renewing: None,
        })
    }

    /// Reserves the host and renews the lease; probes its clock. An earlier reservation by this
    /// controller is released.
    pub(crate) async fn reserve(&mut self, purpose: &Purpose) -> Result<(), ControllerError> {
        self.renewing = None;
        self.link.reserve(asking(purpose)).await?;
        for _ in 0..FIRST_PROBES {
            probe(&mut self.link, &self.probes, purpose).await?;
        }
        self.keep(purpose);
        Ok(())
    }

    fn keep(&mut self, purpose: &Purpose) {
        let (link, probes, purpose) =
            (self.link.clone(), Arc::clone(&self.probes), purpose.clone());
        self.renewing = Some(Renewing(tokio::spawn(renew(link, probes, purpose))));
    }

    /// The host's clock offsets.
    pub(crate) fn clock(&self) -> Option<HostClock> {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).best()
    }

    /// Examines the host, which must be reserved: the agent makes namespaces and tests netem there.
    pub(crate) async fn describe(&mut self) -> Result<DescribeReply, ControllerError> {
        let described = self.link.describe().await?;
        Ok(self.described.insert(described).clone())
    }

    /// Reaches the host again, if it was lost, within `timeout` of `since`.
    pub(crate) async fn find(
        &mut self,
        purpose: &Purpose,
        since: Instant,
        timeout: Duration,
    ) -> Result<Option<Reconnected>, ControllerError> {
        self.renewing = None;
        let heard =
            self.probes.lock().unwrap_or_else(PoisonError::into_inner).heard().unwrap_or(since);
        if self.link.renew(purpose.left()).await.is_ok() {
            self.keep(purpose);
            return Ok(None);
        }
        let mut pause = FIRST_PAUSE;
        loop {
            match self.meet(purpose).await {
                Ok(restarted) => {
                    self.keep(purpose);
                    return Ok(Some(Reconnected {
                        host: self.name.clone(),
                        away: heard.elapsed(),
                        restarted,
                    }));
                }
                Err(error) if !error.may_pass() => return Err(error),
                Err(error) if since.elapsed() + pause > timeout => {
                    return Err(ControllerError::Gone {
                        host: self.name.clone(),
                        timeout_s: timeout.as_secs(),
                        last: error.to_string(),
                    });
                }
                Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Connects and reserves again, and returns whether it is another agent. The old reservation is
    /// not used again, although it could be: requests on the lost connection may still arrive, and
    /// must not disturb later work.
    async fn meet(&mut self, purpose: &Purpose) -> Result<bool, ControllerError> {
        let (mut link, hello) = self.transport.connect(&self.name).await?;
        link.reserve(asking(purpose)).await?;
        // Another start has another clock; the probes of the old one are invalid then.
        let restarted = hello.instance != self.hello.instance;
        if restarted {
            *self.probes.lock().unwrap_or_else(PoisonError::into_inner) = Probes::default();
        }
        for _ in 0..FIRST_PROBES {
            probe(&mut link, &self.probes, purpose).await?;
        }
        (self.link, self.hello) = (link, hello);
        Ok(restarted)
    }

    /// Releases the host; the end of the lease frees one that does not answer.
    pub(crate) async fn release(&mut self) {
        self.renewing = None;
        let _ = self.link.release(FAREWELL_LIMIT).await;
    }
}

fn asking(purpose: &Purpose) -> ReserveRequest {
    ReserveRequest {
        run: purpose.run.clone(),
        controller: purpose.controller.clone(),
        expected_ms: purpose.left_ms.load(Ordering::Relaxed),
        session: Vec::new(),
    }
}

/// Renews the lease until the host refuses it; the next request to the host then fails with the
/// reason.
async fn renew(mut link: AgentLink, probes: Arc<Mutex<Probes>>, purpose: Purpose) {
    loop {
        sleep(RENEW_EVERY).await;
        if probe(&mut link, &probes, &purpose).await.is_err() {
            return;
        }
    }
}

async fn probe(
    link: &mut AgentLink,
    probes: &Mutex<Probes>,
    purpose: &Purpose,
) -> Result<(), ControllerError> {
    let before = Moment::now();
    let reply = link.renew(purpose.left()).await?;
    if let Some((before, after)) = before.zip(Moment::now()) {
        probes.lock().unwrap_or_else(PoisonError::into_inner).note(before, &reply, after);
    }
    Ok(())
}
