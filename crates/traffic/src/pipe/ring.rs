//! TCP through `io_uring`: one call submits a request and waits for its completion.

use std::io;
use std::net::SocketAddr;

use btu_contract::activity::PipeMeeting;

use super::check::refuse;
use super::tcp::Tcp;
use super::{Pipe, Setup, Terms};
use crate::clock::Limit;
use crate::error::TrafficError;
use crate::sys::ring::IoUringInstance;
use crate::tcp::line::TcpConnection;

/// A TCP end with a ring.
pub(super) struct RingTcp {
    tcp: Tcp,
    ring: IoUringInstance,
}

impl Setup for RingTcp {
    type Pipe = RingPipe;

    fn prepare(meeting: &PipeMeeting, terms: &Terms) -> Result<Self, TrafficError> {
        let ring = IoUringInstance::new().map_err(|why| refuse(explain(&why)))?;
        Ok(Self { tcp: Tcp::prepare(meeting, terms)?, ring })
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        self.tcp.endpoint()
    }

    fn meet(self, limit: &Limit<'_>) -> Result<RingPipe, TrafficError> {
        Ok(RingPipe { line: self.tcp.line(limit)?, ring: self.ring })
    }
}

fn explain(why: &io::Error) -> String {
    let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    let who = match (setting.trim(), why.raw_os_error()) {
        ("1" | "2", _) => {
            format!("; the kernel's setting kernel.io_uring_disabled is {}", setting.trim())
        }
        (_, Some(libc::EPERM | libc::EACCES)) => "; a sandbox (seccomp) forbids it".to_owned(),
        (_, Some(libc::ENOSYS)) => "; this kernel has none".to_owned(),
        _ => String::new(),
    };
    format!("io_uring cannot be used here ({why}){who}: measure with --engine blocking")
}

/// A connection used through a ring.
pub(super) struct RingPipe {
    line: TcpConnection,
    ring: IoUringInstance,
}

impl Pipe for RingPipe {
    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.ring.exchange(self.line.socket(), message, &mut [])
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> io::Result<()> {
        self.ring.exchange(self.line.socket(), &[], room)
    }

    fn exchange(&mut self, message: &[u8], room: &mut [u8]) -> io::Result<()> {
        self.ring.exchange(self.line.socket(), message, room)
    }
}
