//! The times at which a server's files were read or written, for copies to it or from it.

use std::sync::atomic::{AtomicU64, Ordering};

use btu_units::Time;

use crate::account::now;

/// Moments by this host's monotonic clock, in nanoseconds; 0 where nothing happened yet.
#[derive(Debug, Default)]
pub(super) struct Moments {
    admitted: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    durable: AtomicU64,
}

/// When a server let its first client in, when the first and the last READ or WRITE came, and when
/// last all was durable, if ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) admitted: Time,
    pub(crate) first: Time,
    pub(crate) last: Time,
    pub(crate) durable: Option<Time>,
}

impl Moments {
    /// Records that a client is admitted.
    pub(super) fn admit(&self) {
        mark_once(&self.admitted);
    }

    /// A READ or WRITE has come.
    pub(super) fn touch(&self) {
        mark_once(&self.first);
        mark(&self.last);
    }

    /// Records that the written data are durable.
    pub(super) fn make_durable(&self) {
        mark(&self.durable);
    }

    /// Records a READ or WRITE.
    pub(super) fn all(&self) -> Option<Moved> {
        let at = |moment: &AtomicU64| match moment.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(Time::from_nanoseconds(nanoseconds)),
        };
        let (admitted, first) = (at(&self.admitted)?, at(&self.first)?);
        Some(Moved { admitted, first, last: at(&self.last)?, durable: at(&self.durable) })
    }
}

fn mark(moment: &AtomicU64) {
    // A clock that cannot be read leaves the moment out, and the copy's account lacks it.
    if let Ok(now) = now() {
        moment.store(now.nanoseconds(), Ordering::Relaxed);
    }
}

fn mark_once(moment: &AtomicU64) {
    if moment.load(Ordering::Relaxed) == 0 {
        mark(moment);
    }
}
