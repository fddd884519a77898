//! TCP that sends from the program's own memory (`MSG_ZEROCOPY`).
//!
//! The kernel uses the message's memory and reports in the socket's error queue when it no longer
//! needs it. The memory is not written again before that, and waiting for it is part of the time,
//! as it would be in any program with one buffer.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use btu_contract::activity::PipeMeeting;
use nix::poll::PollFlags;

use super::pieces::retry_or_fail;
use super::stream::StreamPipe;
use super::tcp::Tcp;
use super::{Pipe, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::{completions, option, stream};
use crate::tcp::line::TcpConnection;

/// A TCP end that will send without a copy.
pub(super) struct ZeroCopyTcp(Tcp);

impl Setup for ZeroCopyTcp {
    type Pipe = ZeroCopyPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        Tcp::prepare(meeting, terms).map(Self)
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.0.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<ZeroCopyPipe, TrafficError> {
        let pipe = self.0.meet(limit)?;
        option::zero_copy(pipe.socket())
            .map_err(TrafficError::socket("set SO_ZEROCOPY", pipe.socket().peer()))?;
        Ok(ZeroCopyPipe { pipe, asked: 0, done: 0, copied: 0 })
    }
}

/// A connection that lends its messages to the kernel.
pub(super) struct ZeroCopyPipe {
    pipe: StreamPipe<TcpConnection>,
    /// Calls that have lent something, those that are done with it, and those of them that copied
    /// after all.
    asked: u64,
    done: u64,
    copied: u64,
}

impl ZeroCopyPipe {
    /// Reads the completions.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(note) = completions::next(self.pipe.fd())? {
            self.done += u64::from(note.calls);
            self.copied += if note.copied { u64::from(note.calls) } else { 0 };
        }
        Ok(())
    }
}

impl Pipe for ZeroCopyPipe {
    fn send(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match stream::send(self.pipe.fd(), message, libc::MSG_ZEROCOPY) {
                Ok(sent) => {
                    self.asked += 1;
                    message = &message[sent..];
                }
                // Too much is lent already (net.core.optmem_max).
                Err(error)
                    if error.raw_os_error() == Some(libc::ENOBUFS) && self.asked > self.done =>
                {
                    self.reclaim()?;
                }
                Err(error) => retry_or_fail(error)?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.pipe.receive(room)
    }

    fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.pipe.send(words)
    }

    fn reclaim(&mut self) -> io::Result<()> {
        self.reap()?;
        while self.done < self.asked {
            // Errors are always waited for; a peer that is gone ends the wait, and the next call
            // says so.
            self.pipe.wait(PollFlags::empty())?;
            let before = self.done;
            self.reap()?;
            if before == self.done && self.pipe.is_ended()? {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end is gone"));
            }
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let Self { done, copied, .. } = *self;
        let verdict = match copied {
            0 => "the kernel copied none of them",
            _ if copied == done => {
                "the kernel copied all of them after all, as it does where both ends are on one machine"
            }
            _ => "the kernel copied some of them after all",
        };
        vec![format!("zero copy: {done} sends, {copied} copied: {verdict}")]
    }
}
