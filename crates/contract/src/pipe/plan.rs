//! All settings of a signature's run.

use btu_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use super::{Kind, Pattern, Place, Processors, Sizes};
use crate::congestion::CongestionControl;
use crate::load::Load;

/// All settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipePlan {
    /// Version of the plan's meaning; a newer program that would measure differently has a higher
    /// one.
    pub version: u32,
    /// Seeds the payload, and the network's loss and jitter.
    pub seed: u64,
    /// The transport.
    pub kind: Kind,
    /// The pattern of messages: which end sends, and when.
    pub pattern: Pattern,
    /// Pairs of processes that do this together; their throughputs are added.
    pub pairs: u32,
    /// The message sizes, in the order in which they are measured.
    pub sizes: Sizes,
    /// The length and the number of repetitions.
    pub precision: Precision,
    /// The memory of the messages.
    pub buffers: Buffers,
    /// The options of the transport.
    pub socket: SocketOptions,
    /// The places of the two ends.
    pub place: Place,
    /// The load on the machine of the end that sends first.
    pub load: Load,
    /// The processors of the ends; absent if the scheduler decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<Processors>,
    /// Whether processors of this machine are kept from sleeping while the run lasts.
    #[serde(rename = "processors_kept_awake", default, skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// The congestion control of a raised network's stations; the host's own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
}

/// The length and the number of repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Trials of each size; every trial's time is kept.
    pub trials: u32,
    /// Passes over all sizes, each with processes and connections of its own: the trials of a size are
    /// divided among them.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub passes: u32,
    /// The target time of one trial (`NetPIPE`: 0.5 s in 1996, 0.25 s in version 5).
    #[serde(rename = "target_ns")]
    pub target: Span,
    /// Exchanges of a size before its trials, not counted.
    pub warm_up: u64,
    /// The least repetitions of a trial, for any time of a message.
    pub least_repetitions: u64,
    /// The most repetitions of a trial.
    pub most_repetitions: u64,
    /// Once a message takes this long one way, larger sizes are left out (1996 and version 3: 1 s,
    /// version 5: 10 s).
    #[serde(rename = "limit_ns")]
    pub limit: Span,
    /// The time for all sizes together; absent if every size is measured, whatever time it takes.
    #[serde(rename = "time_ns", default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Whether every exchange is timed, not only every trial: gives quantiles of single messages
    /// and costs two readings of the clock per exchange.
    pub each: bool,
}

/// The fewest trials whose extremes are an interval of the median at 95 %.
pub const TRIALS_FOR_INTERVAL: u32 = 6;

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_one(passes: &u32) -> bool {
    *passes == 1
}

impl Precision {
    /// Passes of a trial each. Trials that were disturbed are left out, and six must remain, so a long one
    /// becomes two short ones.
    #[must_use]
    pub fn in_passes(self) -> Self {
        let Self { trials, target, .. } = self;
        let is_long = trials > TRIALS_FOR_INTERVAL;
        let (trials, target) = if is_long {
            (2 * TRIALS_FOR_INTERVAL, Span::from_nanoseconds(target.nanoseconds() / 2))
        } else {
            (trials, target)
        };
        Self { trials, target, passes: trials, ..self }
    }

    /// What one pass does of it.
    #[must_use]
    pub fn of_pass(&self, pass: u32) -> Self {
        let passes = self.passes.max(1);
        let trials = self.trials / passes + u32::from(pass < self.trials % passes);
        Self { trials, passes: 1, ..self.clone() }
    }

    /// 124 sizes in about 45 s where messages are fast: seven trials of 50 ms each.
    pub const fn standard() -> Self {
        Self {
            trials: 7,
            passes: 1,
            target: Span::from_milliseconds(50),
            warm_up: 2,
            least_repetitions: 1,
            most_repetitions: 1_000_000,
            limit: Span::from_seconds(1),
            time: None,
            each: false,
        }
    }

    /// A first look, about 10 s where messages are fast: six trials of 12.5 ms each. Six is the
    /// fewest whose extremes are an interval of the median at 95 %. On a slow network trials are
    /// longer than that, and it ends at messages of half the standard's longest time, as six trials
    /// take twice as long as three.
    pub const fn quick() -> Self {
        Self {
            trials: 6,
            target: Span::from_microseconds(12_500),
            limit: Span::from_milliseconds(500),
            ..Self::standard()
        }
    }

    /// To publish: `NetPIPE` 5's seven trials of 0.25 s each.
    pub const fn full() -> Self {
        Self {
            target: Span::from_milliseconds(250),
            limit: Span::from_seconds(10),
            ..Self::standard()
        }
    }
}

/// The memory of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// Whether messages are in the processor's cache when they are sent.
    pub cache: Cache,
    /// The offset of a message from a page's start; 0 is aligned.
    #[serde(rename = "offset_bytes")]
    pub offset: Bytes,
    /// The part of every message that is checked.
    pub check: Check,
}

impl Buffers {
    /// One buffer used again and again, aligned to a page, ends checked.
    pub const PLAIN: Self = Self { cache: Cache::Warm, offset: Bytes::ZERO, check: Check::Ends };
}

/// Whether messages are in the processor's cache when they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cache", rename_all = "kebab-case")]
pub enum Cache {
    /// All messages of a size are in the same buffer.
    Warm,
    /// Each message lies behind the one before in a pool too large for any cache (`NetPIPE` 5: 200
    /// MB).
    Cold {
        /// Size of the pool.
        #[serde(rename = "pool_bytes")]
        pool: Bytes,
    },
}

/// The part of every message that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The first and the last byte, which carry the message's number: always, also while timing.
    Ends,
    /// Every byte; its cost is part of the time.
    Whole,
}

/// The options of the transport; absent means the system's own choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SocketOptions {
    /// TCP's `TCP_NODELAY`; absent means on, as `NetPIPE` has it.
    pub no_delay: Option<bool>,
    /// The size of the send buffer (`SO_SNDBUF`); absent means the system's own choice.
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<Bytes>,
    /// The size of the receive buffer (`SO_RCVBUF`); absent means the system's own choice.
    #[serde(rename = "receive_buffer_bytes")]
    pub receive_buffer: Option<Bytes>,
    /// Whether the kernel sends from the program's own memory (`MSG_ZEROCOPY`).
    pub zero_copy: bool,
    /// The time for which a receiver polls the driver before it sleeps (`SO_BUSY_POLL`).
    #[serde(rename = "busy_poll_ns")]
    pub busy_poll: Option<Span>,
    /// How system calls are made.
    pub engine: Engine,
}

/// How system calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// One blocking call for each piece.
    #[default]
    Blocking,
    /// Through a ring of requests and completions.
    IoUring,
}

impl PipePlan {
    /// The plan's version that this program writes: in the first one a warm ping-pong wrote from
    /// one buffer and read into another, which needs twice the cache.
    pub const VERSION: u32 = 2;

    /// One pair, ping-pong, warm and aligned, on an idle machine, at `NetPIPE`'s sizes up to 10 MB.
    pub fn new(seed: u64, kind: Kind, place: Place) -> Self {
        Self {
            version: Self::VERSION,
            seed,
            kind,
            pattern: Pattern::PingPong,
            pairs: 1,
            sizes: Sizes::default(),
            precision: Precision::standard(),
            buffers: Buffers::PLAIN,
            socket: SocketOptions::default(),
            place,
            load: Load::Idle,
            processors: None,
            kept_awake: false,
            congestion_control: None,
        }
    }

    /// The time of a signature with fast messages.
    pub(crate) fn expected(&self) -> Span {
        let Precision { trials, target, .. } = self.precision;
        target * u64::from(trials).saturating_mul(self.sizes.list().len() as u64)
    }

    /// Its time limit: twenty times that, and the largest few dozen messages at the slowest allowed
    /// rate.
    pub fn longest(&self) -> Span {
        let Precision { trials, limit, .. } = self.precision;
        let slow = limit * (u64::from(trials) * 40);
        [Span::from_seconds(300), self.expected() * 20, slow].into_iter().sum()
    }

    /// The time limit of a size: its trials a few times longer than planned, or each message as
    /// long as the limit.
    pub fn longest_size(&self) -> Span {
        let Precision { trials, warm_up, target, limit, .. } = self.precision;
        let trial = target * 4 + limit * 8;
        Span::from_seconds(60) + trial * (u64::from(trials) + warm_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::job::Job;
    use crate::network::Network;

    fn plan() -> PipePlan {
        PipePlan::new(7, Kind::Tcp, Place::Stations { network: Network::Veth })
    }

    fn held() -> PipePlan {
        PipePlan { processors: Some(Processors { near: 0, far: 1 }), ..plan() }
    }

    #[test]
    fn the_hash_names_what_is_measured_and_not_the_seed() {
        let hash = |plan: PipePlan| Job::One(Box::new(plan)).hash();
        assert_eq!(hash(plan()), hash(PipePlan { seed: 8, ..plan() }));
        assert_ne!(hash(plan()), hash(PipePlan { pattern: Pattern::Streaming, ..plan() }));
        assert_ne!(hash(plan()), hash(PipePlan { place: Place::Here, ..plan() }));
        let unaligned = Buffers { offset: Bytes::new(1), ..Buffers::PLAIN };
        assert_ne!(hash(plan()), hash(PipePlan { buffers: unaligned, ..plan() }));
        assert_ne!(hash(plan()), hash(held()));
    }

    /// Every precision gives intervals, without more time for the trials of a quick one.
    #[test]
    fn every_precision_has_an_interval_of_the_median() {
        for precision in [Precision::quick(), Precision::standard(), Precision::full()] {
            let times: Vec<f64> = (1..=precision.trials).map(f64::from).collect();
            let median = btu_stats::quantile(&times, 0.5, btu_stats::Level::P95);
            assert!(median.is_some_and(|median| median.interval.is_some()), "{precision:?}");
        }
        let Precision { trials, target, .. } = Precision::quick();
        assert_eq!(target * u64::from(trials), Span::from_milliseconds(75));
    }

    #[test]
    fn a_plan_survives_storage() {
        let cold =
            Buffers { cache: Cache::Cold { pool: Bytes::new(200_000_000) }, ..Buffers::PLAIN };
        for plan in [plan(), held(), PipePlan { buffers: cold, sizes: Sizes::RootTwo, ..plan() }] {
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<PipePlan>(&text).unwrap(), plan);
            // Plans from before this field existed keep their names.
            assert_eq!(text.contains("processors"), plan.processors.is_some());
        }
    }
}
