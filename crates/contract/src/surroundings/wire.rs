//! The wire's result: its accounts, its lateness, its segments' busy times, and its capture.

use btu_stats::Histogram;
use btu_units::Span;
use serde::{Deserialize, Serialize};

/// The wire's result for a cell, with one account per element.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WireAccount {
    /// Per element: name, frames in and out.
    pub elements: Vec<ElementAccount>,
    /// Frames the kernel dropped before the wire could take them.
    pub port_drops: u64,
    /// The lateness of frames against their due times, in ns.
    #[serde(rename = "lateness_ns")]
    pub lateness: Histogram,
    /// The bound on lateness; zero where none was set.
    #[serde(rename = "late_after_ns", default, skip_serializing_if = "is_default")]
    pub late_after: Span,
    /// Frames that were released later than the bound.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late: u64,
    /// The time that a packet and its answer need at least between two stations, as it is drawn.
    #[serde(rename = "round_trip_ns", default, skip_serializing_if = "is_default")]
    pub round_trip: Span,
    /// The busy times of each segment of a drawn network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentUse>,
    /// The wire carried superframes: counts, times and drops are per superframe of up to 64 kB.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superframes: bool,
    /// For how long the emulator polled its ports without a frame, on a processor that nothing else
    /// wanted.
    #[serde(rename = "polled_ns", default, skip_serializing_if = "is_default")]
    pub polled: Span,
    /// The capture's account, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureAccount>,
}

impl WireAccount {
    /// With a larger lateness, an added delay of 1 ms is wrong by more than a tenth.
    pub const MOST_LATENESS: Span = Span::from_microseconds(100);

    /// Lateness up to one part in this number of a round trip does not matter.
    const OF_A_ROUND_TRIP: u64 = 100;

    /// The share of late frames beyond which a measurement over the wire is unreliable: with the
    /// bound at `d`, 99 of 100 frames left within `d` of their time in every run that is not
    /// marked.
    pub const MOST_LATE: f64 = 0.01;

    /// Elements with an account that does not balance, a sentence each; none where every frame is
    /// accounted for.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        self.elements.iter().filter_map(ElementAccount::fault)
    }

    /// The lateness that does not matter on a network with this round trip.
    pub fn harmless_lateness(round_trip: Span) -> Span {
        let share = round_trip.nanoseconds() / Self::OF_A_ROUND_TRIP;
        Self::MOST_LATENESS.max(Span::from_nanoseconds(share))
    }

    /// The lateness of all frames of these networks, if it matters: if one frame in a hundred was
    /// later than is harmless on each of them.
    pub fn harmful_lateness<'a>(accounts: impl Iterator<Item = &'a Self>) -> Option<Histogram> {
        let (mut lateness, mut harmless) = (Histogram::new(), Self::MOST_LATENESS);
        for account in accounts {
            lateness.merge(&account.lateness);
            harmless = harmless.max(Self::harmless_lateness(account.round_trip));
        }
        (lateness.quantile(0.99)? > harmless.nanoseconds()).then_some(lateness)
    }

    /// The frames that are inside its elements.
    pub fn held(&self) -> u64 {
        self.elements.iter().map(|element| element.held).sum()
    }

    /// The share of released frames that were late; 0 when there were none.
    pub fn late_share(&self) -> f64 {
        let released = self.lateness.count();
        if released == 0 { 0.0 } else { self.late as f64 / released as f64 }
    }

    /// Whether more frames than [`Self::MOST_LATE`] were late, so that the run is to be marked.
    pub fn is_too_late(&self) -> bool {
        self.late_share() > Self::MOST_LATE
    }
}

/// The busy times of a segment. All but the counts are times; a full-duplex star sums its lines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SegmentUse {
    /// The segment's name in the network file.
    pub name: String,
    /// How long the accounts have been open.
    #[serde(rename = "open_ns")]
    pub open: Span,
    /// Carrying octets of frames that arrived, from destination address to check sequence.
    #[serde(rename = "data_ns")]
    pub data: Span,
    /// The overhead of such frames.
    #[serde(rename = "overhead_ns")]
    pub overhead: Span,
    /// The time that was lost to collisions.
    #[serde(rename = "collisions_ns")]
    pub collisions: Span,
    /// The number of collisions.
    pub collision_count: u64,
    /// Frames carried to their end.
    pub frames: u64,
    /// How many lines the times are the sum of.
    pub lines: u32,
}

impl SegmentUse {
    /// The share of its time (of the mean line's, where there are several) that it carried frames'
    /// own octets.
    pub fn utilisation(&self) -> f64 {
        self.share(self.data)
    }

    /// The share of its time that was lost to collisions.
    pub fn collision_share(&self) -> f64 {
        self.share(self.collisions)
    }

    fn share(&self, part: Span) -> f64 {
        let whole = self.open.nanoseconds() as f64 * f64::from(self.lines.max(1));
        if whole > 0.0 { part.nanoseconds() as f64 / whole } else { 0.0 }
    }
}

/// The account of a capture since the wire was started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaptureAccount {
    /// Frames handed to the files.
    pub frames: u64,
    /// Frames that the writer could not write for lack of time or room: they are in the traffic and
    /// not in the files.
    pub missed: u64,
    /// The error that ended the writing early, if there was one.
    pub failure: Option<String>,
}

/// For fields that are not stored when they are empty.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One element's accounts: received + duplicated = delivered + dropped + held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementAccount {
    /// The element's name in the network.
    pub name: String,
    /// Frames that came in.
    pub received: u64,
    /// Copies of frames that the element made.
    pub duplicated: u64,
    /// Frames that left the element.
    pub delivered: u64,
    /// Frames dropped, by cause.
    pub dropped: Vec<(String, u64)>,
    /// Frames inside at the moment of reading.
    pub held: u64,
}

impl ElementAccount {
    /// Why the account does not balance, if so.
    pub fn fault(&self) -> Option<String> {
        // An archive may hold any numbers.
        let sum = |counts: &[u64]| counts.iter().copied().map(u128::from).sum::<u128>();
        let entered = sum(&[self.received, self.duplicated]);
        let dropped: u128 = self.dropped.iter().map(|(_, count)| u128::from(*count)).sum();
        let left = sum(&[self.delivered, self.held]) + dropped;
        (entered != left).then(|| {
            format!(
                "the accounts of the emulated {} do not balance: {entered} in, {left} out or held",
                self.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(released: u64, late: u64) -> WireAccount {
        let mut account = WireAccount { late, ..WireAccount::default() };
        (0..released).for_each(|_| account.lateness.record(1000));
        account
    }

    #[test]
    fn a_run_is_marked_when_more_than_one_frame_in_a_hundred_is_late() {
        assert!(!account(0, 0).is_too_late());
        assert!(!account(1000, 10).is_too_late());
        assert!(account(1000, 11).is_too_late());
    }

    #[test]
    fn lateness_matters_by_the_round_trip_of_the_network() {
        let late_by = |microseconds: u64, round_trip_ms: u64| {
            let round_trip = Span::from_milliseconds(round_trip_ms);
            let mut account = WireAccount { round_trip, ..WireAccount::default() };
            (0..100).for_each(|_| account.lateness.record(microseconds * 1000));
            account
        };
        let matters = |accounts: &[WireAccount]| {
            WireAccount::harmful_lateness(accounts.iter()).map(|lateness| lateness.count())
        };
        assert_eq!(matters(&[late_by(90, 0)]), None);
        assert_eq!(matters(&[late_by(150, 0)]), Some(100));
        assert_eq!(matters(&[late_by(150, 10)]), Some(100));
        assert_eq!(matters(&[late_by(150, 20)]), None);
        assert_eq!(matters(&[late_by(300, 20), late_by(300, 20)]), Some(200));
        assert_eq!(matters(&[]), None);
    }

    #[test]
    fn what_says_nothing_is_not_stored_and_read_as_nothing() {
        let text = serde_json::to_string(&WireAccount::default()).unwrap();
        assert_eq!(text, r#"{"elements":[],"port_drops":0,"lateness_ns":[]}"#);
        assert_eq!(serde_json::from_str::<WireAccount>(&text).unwrap(), WireAccount::default());
    }

    #[test]
    fn a_segments_shares_are_of_its_lines_time() {
        let open = Span::from_seconds(10);
        let (data, collisions) = (Span::from_seconds(5), Span::from_seconds(1));
        let segment = SegmentUse { open, data, collisions, lines: 1, ..SegmentUse::default() };
        let is = |share: f64, expected: f64| (share - expected).abs() < 1e-12;
        assert!(is(segment.utilisation(), 0.5) && is(segment.collision_share(), 0.1));
        assert!(is(SegmentUse { lines: 4, ..segment }.utilisation(), 0.125));
        assert!(is(SegmentUse::default().utilisation(), 0.0));
    }
}
