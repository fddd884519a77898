//! What the closed forms say of a run before it begins: whether anything can come through in time.

use btu_units::{Bytes, Span};

use super::plan::{MESSAGE, SpeedPlan};
use super::verdict::Way;
use crate::experiment::Experiment;

/// The time that both ends give a new connection and its first answer.
const CONNECT_LIMIT: Span = Span::from_seconds(10);

/// The least bytes of a call of a stream: a full segment.
const LEAST_MESSAGE: Bytes = Bytes::new(1448);

/// What Linux lets a new connection buffer (`net.ipv4.tcp_wmem`, with what it adds for headers).
const KERNELS_BUFFER: Bytes = Bytes::new(64 << 10);

/// The least send buffer: some segments.
const LEAST_WINDOW: Bytes = Bytes::new(8 << 10);

impl SpeedPlan {
    /// The closed form's time of a connection and its first answer on the network of the file, if
    /// that is longer than both ends wait: then nothing comes through, however long a phase is.
    pub fn too_slow(&self) -> Option<(Span, Span)> {
        let drawing = self.frame().network.drawing().filter(|drawing| !drawing.bare)?;
        let needed = Way::of(self, &drawing)?.connect_seconds()?;
        let needed = Span::from_nanoseconds((needed * 1e9) as u64);
        (needed > CONNECT_LIMIT).then_some((needed, CONNECT_LIMIT))
    }

    /// Bytes of one call of a stream: at most what the network of the file carries in a phase, since
    /// a stream ends with a whole call.
    pub(super) fn message(&self) -> Bytes {
        let in_a_phase = self.carried_in_a_phase().unwrap_or(MESSAGE);
        in_a_phase.clamp(LEAST_MESSAGE, MESSAGE)
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
        let bits_per_second = Way::of(self, &drawing)?.slowest()?;
        Some(Bytes::new((bits_per_second / 8.0 * self.time.seconds()) as u64))
    }
}
