//! Every element keeps accounts: no frame appears or vanishes without an entry.

btu_units::named! {
    /// Why a frame was dropped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Cause {
        /// The queue before a line was full (tail drop).
        QueueFull = "queue full",
        /// The element's random loss took it.
        Loss = "loss",
        /// More frames were under way than the element may hold: a limit on memory, not part of the
        /// model.
        StoreFull = "store full",
        /// There is no other port for it: its destination is where it came from.
        NoRoute = "no route",
        /// Active queue management dropped it before the queue was full (RED, `CoDel`).
        Early = "early drop",
        /// It collided in every attempt that a station on a shared Ethernet makes.
        Collisions = "collisions",
        /// It is longer than the line takes.
        TooLong = "too long",
        /// A bit of it was inverted in flight, and its receiver found that its check sequence does not
        /// match.
        Damaged = "damaged",
    }
}

/// An element's accounts in frames: received + duplicated = delivered + dropped + held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Frames that came in, and those that were inside when the accounts were reset.
    pub received: u64,
    /// Copies of frames that the element made.
    pub duplicated: u64,
    /// Frames that left the element.
    pub delivered: u64,
    /// Frames inside now, counted where they are stored.
    pub held: u64,
    dropped: [u64; Cause::ALL.len()],
}

impl Account {
    /// Accounts opened with `held` frames inside.
    pub(crate) fn opened_with(held: u64) -> Self {
        Self { received: held, held, ..Self::default() }
    }

    /// These accounts with `held` frames inside.
    #[must_use]
    pub fn holding(self, held: u64) -> Self {
        Self { held, ..self }
    }

    /// Counts one frame dropped for `cause`.
    pub(crate) fn drop_one(&mut self, cause: Cause) {
        self.dropped[cause as usize] += 1;
    }

    /// Frames dropped for `cause`.
    pub fn dropped_for(&self, cause: Cause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Frames dropped for any cause.
    pub fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// The causes that took frames, with how many.
    pub fn drops(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.into_iter().zip(self.dropped).filter(|&(_, frames)| frames > 0)
    }

    /// Whether every frame is accounted for.
    pub(crate) fn is_balanced(&self) -> bool {
        self.received + self.duplicated == self.delivered + self.dropped() + self.held
    }

    /// The accounts of two elements in series, `self` before `next`, seen from outside.
    #[must_use]
    pub(crate) fn followed_by(mut self, next: &Self) -> Self {
        // All that `self` delivered went to `next`; what `next` received beyond it was inside when
        // the accounts were reset.
        self.received = self.received + next.received - self.delivered;
        self.duplicated += next.duplicated;
        self.delivered = next.delivered;
        self.held += next.held;
        for (mine, theirs) in self.dropped.iter_mut().zip(next.dropped) {
            *mine += theirs;
        }
        self
    }

    /// The accounts of two elements side by side, together.
    #[must_use]
    pub(crate) fn combined_with(mut self, other: Self) -> Self {
        self.received += other.received;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.held += other.held;
        for (mine, theirs) in self.dropped.iter_mut().zip(other.dropped) {
            *mine += theirs;
        }
        self
    }
}
