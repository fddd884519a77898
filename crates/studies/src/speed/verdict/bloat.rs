//! The verdict in a word: do requests wait in queues while the network is full, and do they come back?

use btu_stats::Proportion;
use serde::Serialize;

use super::SpeedRow;
use crate::speed::Phase;

/// A wait from which calls suffer, in seconds. Audio is sent in packets of 20 ms by default (RFC
/// 3551, section 4.2): a receiver that has to make up for longer waits holds back more than one
/// packet. The queues that cure it keep their wait below: targets are 5 ms (`CoDel`, RFC 8289, section
/// 4.4; cake the same) and 15 ms (PIE, RFC 8033, section 5.1).
const CALLS_SUFFER: f64 = 0.020;

/// A share of lost packets from which calls suffer: the limit of conversational video (ITU-T G.1010,
/// table I.1).
const LOST: f64 = 0.01;

/// The longest hundredth of requests counts in the word where it waits so many times as long as half of
/// them: a median of nothing hides it.
const TAIL: f64 = 10.0;

/// Fewer answers have no median with a 95 % interval: that of five has one of 94 % at most.
const LEAST_ANSWERS: u64 = 6;

/// How long requests wait in queues while TCP fills the network, and how many are lost, in one word.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bloat {
    /// The word.
    pub word: BloatWord,
    /// The wait from which calls suffer, in seconds.
    pub bound_seconds: f64,
    /// The share of lost requests from which calls suffer.
    pub lost_bound: f64,
    /// The wait in each phase with TCP, in the plan's order.
    pub waits: Vec<Wait>,
    /// By how much the 99th percentile is longer than that of the idle network, in the phases in which
    /// this is certainly above the bound and ten times the wait of the median.
    pub tails: Vec<Wait>,
    /// The phases with TCP in which too few requests were answered for a wait.
    pub silent: Vec<Phase>,
    /// Whether a managed queue would be new: the network file has none on the way.
    #[serde(skip_serializing)]
    pub has_cure: bool,
    /// The requests that were lost, in each phase with requests alone or with TCP, as the rows have them.
    #[serde(skip_serializing)]
    pub losses: Vec<PhaseLoss>,
}

/// Lost requests of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseLoss {
    /// The phase.
    pub phase: Phase,
    /// Those without an answer, of all that were sent.
    pub lost: Proportion,
}

/// The word of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BloatWord {
    /// In every phase requests wait less than the bound, at most one in a hundred was lost, and one in a
    /// hundred does not wait much longer than the others.
    Fine,
    /// Neither fine, nor for certain worse: the uncertainty of a wait includes the bound, a hundredth of
    /// the requests waits longer, or more were lost than one in a hundred, though that may be chance.
    Borderline,
    /// In a phase more than one request in a hundred is lost, with 95 % certainty.
    Lossy,
    /// In a phase requests wait longer than the bound.
    Bloated,
    /// None of these, and in a phase too few requests were answered.
    Unknown,
    /// They do, but an end was kept from running meanwhile, so that they may wait there.
    BusyEnd,
}

/// How much longer requests take in a phase than on the idle network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wait {
    /// The phase.
    pub phase: Phase,
    /// The difference of the medians, in seconds; below zero where no request waits and busy
    /// processors are quicker.
    pub seconds: f64,
    /// Half the 95 % interval of the difference, in seconds.
    pub uncertainty_seconds: f64,
}

impl Wait {
    /// Whether it is above its uncertainty.
    pub fn is_seen(&self) -> bool {
        self.seconds > self.uncertainty_seconds
    }

    /// The ends of its 95 % interval.
    pub fn ends(&self) -> [f64; 2] {
        [self.seconds - self.uncertainty_seconds, self.seconds + self.uncertainty_seconds]
    }

    /// How much longer a number of the row is than that of the idle one; each with its uncertainty.
    fn between(phase: Phase, loaded: [f64; 2], idle: [f64; 2]) -> Self {
        let uncertainty_seconds = loaded[1].hypot(idle[1]);
        Self { phase, seconds: loaded[0] - idle[0], uncertainty_seconds }
    }
}

impl Bloat {
    /// The word for these waits and losses; `None` if there are no waits, and no phase without one.
    pub fn of(
        waits: Vec<Wait>,
        tails: Vec<Wait>,
        losses: Vec<PhaseLoss>,
        silent: Vec<Phase>,
    ) -> Option<Self> {
        if waits.is_empty() && silent.is_empty() {
            return None;
        }
        let longest = |end: usize| waits.iter().map(|wait| wait.ends()[end]).fold(0.0, f64::max);
        let [least, most] = [0, 1].map(longest);
        let is_lossy = losses.iter().any(|loss| loss.lost.interval.low > LOST);
        let may_be_lossy = losses.iter().any(|loss| loss.lost.share > LOST);
        let word = if least > CALLS_SUFFER {
            BloatWord::Bloated
        } else if is_lossy {
            BloatWord::Lossy
        } else if !silent.is_empty() {
            BloatWord::Unknown
        } else if most > CALLS_SUFFER || may_be_lossy || !tails.is_empty() {
            BloatWord::Borderline
        } else {
            BloatWord::Fine
        };
        let (bound_seconds, lost_bound) = (CALLS_SUFFER, LOST);
        Some(Self { word, bound_seconds, lost_bound, waits, tails, silent, has_cure: true, losses })
    }
}

/// The verdict over the phases with TCP; `None` if none of them, or not the idle network, was
/// measured.
pub(super) fn bloat(rows: &[SpeedRow]) -> Option<Bloat> {
    let is_of_tcp =
        |row: &&SpeedRow| matches!(row.cell.phase, Phase::Up | Phase::Down | Phase::Both);
    let is_answered =
        |row: &SpeedRow| row.round_trip.is_some_and(|trip| trip.count >= LEAST_ANSWERS);
    let idle = rows.iter().find(|row| row.cell.phase == Phase::Idle)?;
    if !is_answered(idle) {
        return None;
    }
    let wait = |row: &SpeedRow| {
        let uncertainty_seconds = row.queue_uncertainty_seconds.unwrap_or(0.0);
        Some(Wait { phase: row.cell.phase, seconds: row.queue_seconds?, uncertainty_seconds })
    };
    let p99 = |row: &SpeedRow| {
        let trip = row.round_trip?;
        Some([trip.p99_seconds?, trip.p99_uncertainty_seconds?])
    };
    let idle = p99(idle);
    let tail = |row: &SpeedRow| {
        let tail = Wait::between(row.cell.phase, p99(row)?, idle?);
        let is_long = tail.ends()[0] > CALLS_SUFFER && tail.seconds >= TAIL * row.queue_seconds?;
        is_long.then_some(tail)
    };
    let loss = |row: &SpeedRow| {
        let lost = row.round_trip?.lost;
        let is_one = row.cell.phase == Phase::Idle || is_of_tcp(&row);
        is_one.then_some(PhaseLoss { phase: row.cell.phase, lost })
    };
    let silent =
        rows.iter().filter(is_of_tcp).filter(|row| !row.flows.is_empty() && !is_answered(row));
    let mut bloat = Bloat::of(
        rows.iter().filter(is_of_tcp).filter(|row| is_answered(row)).filter_map(wait).collect(),
        rows.iter().filter(is_of_tcp).filter_map(tail).collect(),
        rows.iter().filter_map(loss).collect(),
        silent.map(|row| row.cell.phase).collect(),
    )?;
    let is_of_queue = |wait: &Wait| {
        let row = rows.iter().find(|row| row.cell.phase == wait.phase);
        let flows = row.into_iter().flat_map(|row| &row.flows);
        !flows.filter_map(|flow| flow.breakdown).any(|one| one.keeps_requests_waiting())
    };
    let is_long = |wait: &&Wait| wait.ends()[0] > CALLS_SUFFER;
    if bloat.word == BloatWord::Bloated && !bloat.waits.iter().filter(is_long).any(is_of_queue) {
        bloat.word = BloatWord::BusyEnd;
    }
    Some(bloat)
}
