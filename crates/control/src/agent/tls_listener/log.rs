//! The log of refused connections. All are counted; at most one line a second shows the newest
//! address, for any number of callers.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::ListenerHandle;
use crate::trust::Peer;

/// Takes a line for the agent's log.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// No more than a line in this time.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a caller was refused.
#[derive(Debug)]
pub(super) enum RefusalCause {
    Crowded,
    CrowdedAddress,
    Often,
    Slow,
    Refused(String),
    Full(Peer),
    Lapsed(Peer),
}

impl fmt::Display for RefusalCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crowded => f.write_str("no handshake before others came"),
            Self::CrowdedAddress => f.write_str("no handshake before others came from there"),
            Self::Often => f.write_str("too many connections a second"),
            Self::Slow => f.write_str("no handshake in time"),
            Self::Refused(why) => f.write_str(why),
            Self::Full(peer) => {
                write!(f, "too many connections of clients, for controller {}", peer.name)
            }
            Self::Lapsed(peer) => {
                write!(f, "the certificate of controller {} has lapsed", peer.name)
            }
        }
    }
}

/// The counts since the last line.
#[derive(Debug, Default)]
pub(super) struct RefusalSummary {
    connections: u64,
    newest: Option<(IpAddr, RefusalCause)>,
}

impl RefusalSummary {
    pub(super) fn add(&mut self, from: IpAddr, cause: RefusalCause) {
        self.connections += 1;
        self.newest = Some((from, cause));
    }

    fn line(&self) -> Option<String> {
        let (from, cause) = self.newest.as_ref()?;
        let count = match self.connections {
            1 => "a connection".to_owned(),
            more => format!("{more} connections, the newest"),
        };
        Some(format!("turned away {count} from {from}: {cause}"))
    }
}

/// Writes the log as long as it is not aborted, and at its end the counts that were not written
/// yet: the lines add up to all callers.
pub(super) async fn write(handle: ListenerHandle, tell: Tell) {
    let log = Log { handle, tell };
    loop {
        log.handle.news().await;
        log.tell();
        tokio::time::sleep(PAUSE).await;
    }
}

struct Log {
    handle: ListenerHandle,
    tell: Tell,
}

impl Log {
    fn tell(&self) {
        if let Some(line) = self.handle.report().line() {
            (self.tell)(&line);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.tell();
    }
}
