//! A server to which one file is stored, for copies: the embedded server with a place for it.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use btu_contract::activity::{FtpServe, Token};
use btu_contract::peers::Callers;
use btu_traffic::Limit;
use btu_units::{Time, hexadecimal};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::virtual_files::ExtraFile;
use super::{Serving, USER};
use crate::LoadError;
use crate::account::now;
use crate::copy::{BLOCK, Moved, Over, Stored};

/// The name of the file.
pub(super) const NAME: &str = "copy.bin";

/// The interval of checks whether the file has arrived.
pub(super) const TICK: Duration = Duration::from_millis(2);

/// A login that is as hard to guess as the token.
pub(crate) fn password(token: &Token) -> String {
    hexadecimal(token)
}

/// What a client of a copy says: as whom it comes, and for which file.
pub(crate) struct CopyLogin {
    pub(crate) user: &'static str,
    pub(crate) password: String,
    pub(crate) file: String,
}

impl CopyLogin {
    /// At a server of ours.
    pub(crate) fn ours(token: &Token) -> Self {
        Self { user: USER, password: password(token), file: NAME.to_owned() }
    }
}

/// The place of the file; clones share it.
#[derive(Debug, Clone)]
pub(super) struct FileSlot(Arc<Mutex<Content>>);

/// Its state.
#[derive(Debug)]
enum Content {
    Free(Stored),
    /// A client is storing the file.
    Taken,
    Filled(Over, Stored),
    Failed(LoadError),
}

impl FileSlot {
    fn new(copy: Stored) -> Self {
        Self(Arc::new(Mutex::new(Content::Free(copy))))
    }

    /// Stores `next` and returns the former state.
    fn replace(&self, next: Content) -> Content {
        // No operation under the lock can be interrupted halfway.
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), next)
    }

    /// The place, if no client has taken it before.
    pub(super) fn take(&self) -> Option<Stored> {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*content, Content::Free(_)) {
            return None;
        }
        match std::mem::replace(&mut *content, Content::Taken) {
            Content::Free(copy) => Some(copy),
            _ => None,
        }
    }

    /// Stores the arriving data to their end, and makes them durable; returns whether that is the
    /// whole file. The client is at `client`.
    pub(super) async fn fill(
        &self,
        copy: Stored,
        input: impl AsyncRead + Unpin,
        client: IpAddr,
    ) -> bool {
        match store(&copy, input, SocketAddr::new(client, 0)).await {
            Ok(over) => {
                self.replace(Content::Filled(over, copy));
                true
            }
            Err(error) => {
                self.replace(Content::Failed(error));
                false
            }
        }
    }

    /// The outcome, once it is known.
    fn result(&self) -> Option<Result<(Over, Stored), LoadError>> {
        match self.replace(Content::Taken) {
            Content::Filled(over, copy) => Some(Ok((over, copy))),
            Content::Failed(error) => Some(Err(error)),
            other => {
                self.replace(other);
                None
            }
        }
    }
}

async fn store(
    copy: &Stored,
    mut input: impl AsyncRead + Unpin,
    peer: SocketAddr,
) -> Result<Over, LoadError> {
    let connected = now()?;
    let other = |told: String| LoadError::FileSize { peer, expected: copy.size(), told };
    let (mut block, mut offset) = (vec![0; BLOCK], 0);
    let mut moved: Option<Moved> = None;
    loop {
        let length = input
            .read(&mut block)
            .await
            .map_err(|error| other(format!("broke off after {offset}: {error}")))?;
        if length == 0 {
            break;
        }
        let came = now()?;
        if length as u64 > copy.size() - offset {
            return Err(other("sent more".to_owned()));
        }
        copy.write(&block[..length], offset)?;
        offset += length as u64;
        let first = moved.map_or(came, |moved| moved.first);
        moved = Some(Moved { first, last: came });
    }
    match moved {
        Some(moved) if offset == copy.size() => {
            copy.make_durable()?;
            Ok(Over { connected, moved, durable: now()?, tcp: None })
        }
        _ => Err(other(format!("ended after {offset}"))),
    }
}

/// The server with its place, listening.
#[derive(Debug)]
pub(crate) struct Inbox {
    server: Serving,
    slot: FileSlot,
}

impl Inbox {
    /// Listens on any free port of `address`.
    pub(crate) fn open(
        address: IpAddr,
        token: &Token,
        copy: Stored,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let slot = FileSlot::new(copy);
        let order = FtpServe { address, password: password(token) };
        Ok(Self {
            server: Serving::open(&order, callers, Some(ExtraFile::Slot(slot.clone())))?,
            slot,
        })
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Waits until the file has come and its client has gone.
    pub(crate) fn wait(self, limit: &Limit<'_>) -> Result<(Over, Stored), LoadError> {
        let doing = "wait for a file by FTP";
        let check = |now: Time| Ok::<_, LoadError>(limit.check(now, doing, self.address())?);
        let result = loop {
            if let Some(result) = self.slot.result() {
                break result;
            }
            check(now()?)?;
            thread::sleep(TICK);
        };
        // The client has not got the reply yet.
        while self.server.has_sessions() {
            check(now()?)?;
            thread::sleep(TICK);
        }
        result
    }
}
