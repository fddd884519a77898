//! Carriers on a cable of any length: each station's deference is computed from every signal that
//! passes it.
//!
//! If a signal takes longer than a fragment of a collision lasts, a station can receive silence
//! between two fragments of one collision, and stations behind it see other ends. So signals are
//! not combined here: IEEE 802.3-2018, 4.2.8, process `Deference`, is followed for the station that
//! asks, through the intervals in which it hears a carrier or sends itself. Each question costs as
//! much as there are signals on the cable.

use btu_units::{Span, Time};

use super::cable::{Cable, Over, Prospect, Sense, Spot, end_of_jam};
use super::timing::Timing;

/// The type that the module describes.
#[derive(Debug)]
pub(super) struct LongCable {
    timing: Timing,
    propagation: Span,
    /// All transmissions with tails or gaps that have not passed every station, in the order of
    /// their starts.
    signals: Vec<Signal>,
    /// How many of them are still being sent.
    sending: usize,
    /// Reused to avoid allocation.
    heard: Vec<Heard>,
}

#[derive(Debug)]
struct Signal {
    spot: Spot,
    start: Time,
    end: Time,
    struck: Option<Time>,
    sending: bool,
}

/// A signal as one station hears it.
#[derive(Debug, Clone, Copy)]
struct Heard {
    from: Time,
    until: Time,
    own: bool,
    sending: bool,
}

impl LongCable {
    pub(super) fn new(propagation: Span, timing: Timing) -> Self {
        Self { timing, propagation, signals: Vec::new(), sending: 0, heard: Vec::new() }
    }

    /// The signals that pass the station, in the order of arrival.
    fn listen(&mut self, spot: Spot) {
        self.heard.clear();
        self.heard.extend(self.signals.iter().map(|signal| {
            let way = signal.spot.to(spot.place);
            let own = signal.spot.tap == spot.tap;
            Heard {
                from: signal.start + way,
                until: signal.end + way,
                own,
                sending: signal.sending,
            }
        }));
        self.heard.sort_unstable_by_key(|heard| (heard.from, heard.until));
    }

    /// Ends the transmission early if another's signal arrives before it is over.
    fn strike(signal: &mut Signal, struck: Time, timing: &Timing) {
        if signal.sending
            && struck < signal.end
            && signal.struck.is_none_or(|before| struck < before)
        {
            signal.struck = Some(struck);
            signal.end = end_of_jam(signal.start, struck, timing.preamble, timing.jam);
        }
    }

    /// Removes the signals that no station receives any more and that cannot belong to a carrier
    /// that a station receives.
    fn forget(&mut self, now: Time) {
        let lasting = self.propagation + self.timing.gap + self.timing.slot;
        self.signals.retain(|signal| signal.sending || signal.end + lasting >= now);
    }
}

/// One pass through the process `Deference`.
struct Deferring {
    /// When the carrier is gone for which the station defers.
    silent: Time,
    /// Whether the station sent meanwhile: then it does not listen in the gap.
    sent: bool,
    /// Whether some of it has no end yet.
    open: bool,
}

impl Deferring {
    /// Begins with `first` and takes signals from `rest` for as long as they belong to it.
    fn through(
        first: Heard,
        rest: &mut std::iter::Peekable<impl Iterator<Item = Heard>>,
        listens: Span,
    ) -> Self {
        let mut this = Self { silent: first.until, sent: first.own, open: first.sending };
        while let Some(next) = rest.next_if(|next| {
            let listens = if this.sent { Span::ZERO } else { listens };
            next.from <= this.silent || next.from < this.silent + listens
        }) {
            this.silent = this.silent.max(next.until);
            this.sent |= next.own;
            this.open |= next.sending;
        }
        this
    }
}

impl Cable for LongCable {
    fn sense(&mut self, spot: Spot, at: Time) -> Sense {
        self.listen(spot);
        let Timing { gap, gap_that_listens, .. } = self.timing;
        let mut free = Time::ZERO;
        let mut heard = self.heard.iter().copied().peekable();
        while let Some(first) = heard.next() {
            // Over before the station listened again, or not heard before it asks.
            if first.until <= free {
                continue;
            }
            if first.from.max(free) >= at {
                return Sense::Clear;
            }
            let deferring = Deferring::through(first, &mut heard, gap_that_listens);
            free = deferring.silent + gap;
            if at < free {
                return if deferring.open { Sense::Busy } else { Sense::Until(free) };
            }
        }
        Sense::Clear
    }

    fn transmit(&mut self, spot: Spot, at: Time, carrier: Span) {
        self.forget(at);
        let timing = self.timing;
        let mut newest = Signal { spot, start: at, end: at + carrier, struck: None, sending: true };
        for signal in &mut self.signals {
            let way = signal.spot.to(spot.place);
            Self::strike(signal, at + way, &timing);
            if signal.spot.tap != spot.tap && at < signal.end + way {
                Self::strike(&mut newest, at.max(signal.start + way), &timing);
            }
        }
        self.signals.push(newest);
        self.sending += 1;
    }

    fn prospect(&self) -> Option<Prospect> {
        if self.sending == 0 {
            return None;
        }
        let sending = || self.signals.iter().filter(|signal| signal.sending);
        let end = sending().map(|signal| signal.end).min()?;
        let undisturbed = sending().any(|signal| signal.struck.is_none());
        let (only, heard) = match self.signals.as_slice() {
            [signal] => (Some(signal.spot.tap), signal.start + self.propagation),
            // Somewhere it may be silent.
            _ => (None, end),
        };
        Some(Prospect { end, undisturbed, only, heard })
    }

    fn end(&mut self, over: &mut Vec<Over>) {
        let Some(Prospect { end, .. }) = self.prospect() else { return };
        for signal in self.signals.iter_mut().filter(|signal| signal.sending && signal.end == end) {
            signal.sending = false;
            over.push(Over {
                tap: signal.spot.tap,
                start: signal.start,
                end,
                collided: signal.struck.is_some(),
            });
        }
        self.sending -= over.len();
        over.sort_unstable_by_key(|over| over.tap);
    }
}
