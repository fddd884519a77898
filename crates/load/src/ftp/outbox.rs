//! A server from which one file is got, for copies: the embedded server with one more file.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use btu_contract::activity::{FtpServe, Token};
use btu_contract::peers::Callers;
use btu_traffic::Limit;
use btu_units::Time;
use tokio::io::{AsyncRead, ReadBuf};

use super::Serving;
use super::inbox::{TICK, password};
use super::virtual_files::ExtraFile;
use crate::LoadError;
use crate::account::now;
use crate::copy::{Moved, Over, Stored};

/// The file; clones share it.
#[derive(Debug, Clone)]
pub(super) struct Offer(Arc<Offered>);

#[derive(Debug)]
struct Offered {
    source: Stored,
    moments: Mutex<ReadTimes>,
}

/// The times of the request, of the first and of the last read.
#[derive(Debug, Clone, Copy, Default)]
struct ReadTimes {
    asked: Option<Time>,
    first: Option<Time>,
    last: Option<Time>,
}

impl Offer {
    /// Its size.
    pub(super) fn size(&self) -> u64 {
        self.0.source.size()
    }

    /// A reader of it.
    pub(super) fn read_from(&self, offset: u64) -> OfferReader {
        self.note(|moments, now| {
            moments.asked.get_or_insert(now);
        });
        OfferReader { offer: self.clone(), offset: offset.min(self.size()) }
    }

    fn note(&self, change: impl FnOnce(&mut ReadTimes, Time)) {
        // A clock that cannot be read leaves the moment out: the file then counts as not given.
        if let Ok(now) = now() {
            change(&mut self.0.moments.lock().unwrap_or_else(PoisonError::into_inner), now);
        }
    }

    fn moments(&self) -> ReadTimes {
        *self.0.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file, as it is read for one session.
pub(super) struct OfferReader {
    offer: Offer,
    offset: u64,
}

impl AsyncRead for OfferReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let offer = self.offer.clone();
        if self.offset == offer.size() {
            return Poll::Ready(Ok(()));
        }
        let read = offer.0.source.read(room.initialize_unfilled(), self.offset).map(<[u8]>::len);
        let length = read.map_err(io::Error::other)?;
        room.advance(length);
        self.offset += length as u64;
        let is_last = self.offset == offer.size();
        offer.note(|moments, now| {
            moments.first.get_or_insert(now);
            moments.last = is_last.then_some(now);
        });
        Poll::Ready(Ok(()))
    }
}

/// The server with its file, listening.
#[derive(Debug)]
pub(crate) struct Outbox {
    server: Serving,
    offer: Offer,
}

impl Outbox {
    /// Listens on any free port of `address`.
    pub(crate) fn open(
        address: IpAddr,
        token: &Token,
        source: Stored,
        callers: &Callers,
    ) -> Result<Self, LoadError> {
        let offer = Offer(Arc::new(Offered { source, moments: Mutex::default() }));
        let order = FtpServe { address, password: password(token) };
        Ok(Self {
            server: Serving::open(&order, callers, Some(ExtraFile::Offer(offer.clone())))?,
            offer,
        })
    }

    /// The address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The file that is offered.
    pub(crate) fn source(&self) -> &Stored {
        &self.offer.0.source
    }

    /// Waits until the whole file was read and its client has gone.
    pub(crate) fn wait(&self, limit: &Limit<'_>) -> Result<Over, LoadError> {
        loop {
            let ReadTimes { asked, first, last } = self.offer.moments();
            if let (Some(connected), Some(first)) = (asked, first)
                && !self.server.has_sessions()
            {
                let moved = Moved { first, last: last.ok_or_else(gave_up)? };
                return Ok(Over { connected, moved, durable: now()?, tcp: None });
            }
            limit.check(now()?, "wait until a file is got by FTP", self.address())?;
            std::thread::sleep(TICK);
        }
    }
}

/// The error for a client that has gone with a part of the file.
fn gave_up() -> LoadError {
    LoadError::Program {
        program: "ftp",
        problem: "the client left before it had the whole file; its own account says why"
            .to_owned(),
    }
}
