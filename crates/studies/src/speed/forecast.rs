//! What the closed forms say of a run before it begins: whether anything can come through in time.

use btu_units::{Bytes, Span};

use super::Phase;
use super::plan::{MESSAGE, SpeedPlan};
use super::verdict::PathFormulas;
use btu_contract::experiment::Scripts;

/// The time that both ends give a new connection and its first answer.
const CONNECT_LIMIT: Span = Span::from_seconds(10);

/// The least bytes of a call of a stream: a full segment.
const LEAST_MESSAGE: Bytes = Bytes::new(1448);

/// How far a stream is ahead of TCP on a network of a file.
const AHEAD: Span = Span::from_milliseconds(100);

/// What Linux lets a new connection buffer (`net.ipv4.tcp_wmem`, with what it adds for headers).
const KERNELS_BUFFER: Bytes = Bytes::new(64 << 10);

/// The least send buffer: some segments.
const LEAST_WINDOW: Bytes = Bytes::new(8 << 10);

/// Bytes of one call of a stream that hands over so much: a stream ends with a whole call.
pub(super) fn message(handed_over: Option<Bytes>) -> Bytes {
    handed_over.map_or(MESSAGE, |bytes| bytes.min(MESSAGE))
}

impl PathFormulas<'_> {
    /// What the slower direction carries in [`AHEAD`]: little is left to send when a stream's time is
    /// over, and the network has something to do while the sender waits for a processor.
    pub(super) fn handed_over(&self) -> Option<Bytes> {
        let bits = self.slowest()? * AHEAD.seconds();
        Some(Bytes::new((bits / 8.0) as u64).max(LEAST_MESSAGE))
    }
}

impl SpeedPlan {
    /// The closed form's time of a connection and its first answer on the network of the file, if
    /// that is longer than both ends wait: then nothing comes through, however long a phase is.
    pub fn too_slow(&self) -> Option<(Span, Span)> {
        let drawing = self.frame().network.drawing().filter(|drawing| !drawing.bare)?;
        let needed = PathFormulas::of(self, &drawing)?.connect_seconds()?;
        let needed = Span::from_nanoseconds((needed * 1e9) as u64);
        (needed > CONNECT_LIMIT).then_some((needed, CONNECT_LIMIT))
    }

    /// How long a block takes: streams fill the queues, are measured, and their queues drain; and on
    /// the network of a file each phase begins with a connection.
    pub fn takes(&self) -> Span {
        let drawing = self.frame().network.drawing();
        let way = drawing.as_ref().and_then(|drawing| PathFormulas::of(self, drawing));
        let begin =
            way.and_then(|way| way.connect_seconds()).map_or(Span::ZERO, Span::from_seconds_f64);
        let phase = |phase: &Phase| match phase {
            Phase::Idle => self.idle,
            Phase::Connects => self.time,
            _ => self.lead() * 2 + self.time,
        };
        self.phases.iter().map(|one| begin + phase(one)).sum()
    }

    /// What a stream hands to its socket ahead of TCP, on the network of the file.
    pub(super) fn handed_over(&self) -> Option<Bytes> {
        let drawing = self.frame().network.drawing().filter(|drawing| !drawing.bare)?;
        PathFormulas::of(self, &drawing)?.handed_over()
    }

    /// The send buffer of a stream, where the kernel's own would hold more than the network of the
    /// file carries in a phase: all of it has to arrive before the phase is over.
    pub(super) fn window(&self) -> Option<Bytes> {
        let in_a_phase = self.carried_in_a_phase().filter(|bytes| *bytes < KERNELS_BUFFER)?;
        Some(in_a_phase.max(LEAST_WINDOW))
    }

    /// Payload that crosses the network of the file in the slower direction, in the time of a phase.
    fn carried_in_a_phase(&self) -> Option<Bytes> {
        let drawing = self.frame().network.drawing().filter(|drawing| !drawing.bare)?;
        let bits_per_second = PathFormulas::of(self, &drawing)?.slowest()?;
        Some(Bytes::new((bits_per_second / 8.0 * self.time.seconds()) as u64))
    }
}
