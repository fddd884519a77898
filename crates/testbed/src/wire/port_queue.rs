//! A port and its outgoing frames.

use btu_units::Time;

use super::WireError;
use super::accounts::{Lateness, PortAccounts, PortView};
use crate::capture::{Capture, FrameDirection};
use crate::port::{BATCH, Batch, Buffers, Port, PortError, now};

/// The state that all port queues share.
pub(super) struct SharedQueueState {
    pub(super) batch: Batch,
    pub(super) buffers: Buffers,
    pub(super) lateness: Lateness,
    pub(super) capture: Option<Capture>,
}

/// A port and its queue.
pub(super) struct PortQueue {
    /// Its place among the port queues.
    number: u32,
    pub(super) port: Port,
    /// Whether it is in the list of queues to read, so that it is there once.
    pub(super) is_listed: bool,
    /// Arrival of the port's latest frame.
    pub(super) latest: Time,
    outgoing: Vec<u32>,
    dues: Vec<Time>,
    accounts: PortAccounts,
}

impl PortQueue {
    pub(super) fn new(number: u32, port: Port) -> Self {
        Self {
            number,
            port,
            is_listed: true,
            latest: Time::ZERO,
            outgoing: Vec::with_capacity(BATCH),
            dues: Vec::with_capacity(BATCH),
            accounts: PortAccounts::default(),
        }
    }

    /// Takes a batch of frames; returns whether there may be more.
    pub(super) fn receive(&mut self, shared: &mut SharedQueueState) -> Result<bool, PortError> {
        let took = self.port.receive(&mut shared.batch, &mut shared.buffers)?;
        self.accounts.received += shared.batch.received().len() as u64;
        Ok(took.more)
    }

    /// Queues a frame; returns the number of queued frames.
    pub(super) fn queue(&mut self, buffer: u32, due: Time) -> usize {
        self.outgoing.push(buffer);
        self.dues.push(due);
        self.outgoing.len()
    }

    /// Whether as many are queued as one system call sends.
    pub(super) fn is_full(&self) -> bool {
        self.outgoing.len() == BATCH
    }

    /// Sends the queued frames, and records the lateness of each: they leave evenly over the time
    /// of the sending.
    pub(super) fn send(&mut self, shared: &mut SharedQueueState) -> Result<(), WireError> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let begin = now();
        let sent = self.port.send(&mut shared.batch, &shared.buffers, &self.outgoing)?;
        let end = now();
        shared.lateness.record(&self.dues, begin, end);
        if let Some(capture) = &mut shared.capture {
            for &buffer in &self.outgoing {
                capture.frame(
                    self.number,
                    FrameDirection::Outbound,
                    end,
                    shared.buffers.frame(buffer),
                );
            }
        }
        self.accounts.offered += self.outgoing.len() as u64;
        self.accounts.sent += sent as u64;
        self.outgoing.drain(..).for_each(|buffer| shared.buffers.release(buffer));
        self.dues.clear();
        Ok(())
    }

    /// Sends a frame with one bit inverted, after the queued ones. Its buffer may be shared with
    /// other copies, so the bit is inverted only for as long as the kernel takes to copy it.
    pub(super) fn send_damaged(
        &mut self,
        buffer: u32,
        bit: u64,
        due: Time,
        shared: &mut SharedQueueState,
    ) -> Result<(), WireError> {
        self.send(shared)?;
        shared.buffers.hold(buffer);
        shared.buffers.invert(buffer, bit);
        self.queue(buffer, due);
        let sent = self.send(shared);
        shared.buffers.invert(buffer, bit);
        shared.buffers.release(buffer);
        sent
    }

    /// Resets the accounts to what is inside now.
    pub(super) fn reset(&mut self) -> Result<(), PortError> {
        let (kernel_drops_before, misfits_before) =
            (self.port.kernel_drops()?, self.port.misfits());
        self.accounts =
            PortAccounts { kernel_drops_before, misfits_before, ..PortAccounts::default() };
        Ok(())
    }

    /// The accounts as they are shown.
    pub(super) fn view(&mut self) -> Result<PortView<'_>, PortError> {
        let kernel_drops = self.port.kernel_drops()?;
        let misfits = self.port.misfits();
        Ok(PortView {
            interface: self.port.interface(),
            accounts: self.accounts,
            kernel_drops,
            misfits,
        })
    }
}
