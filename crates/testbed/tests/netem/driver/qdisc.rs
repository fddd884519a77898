//! The queueing disciplines used here, in the kernel's own form.
//!
//! Source: `include/uapi/linux/pkt_sched.h`, and `net/sched/sch_netem.c`, `sch_tbf.c`,
//! `sch_fifo.c`, `sch_red.c`, `sch_codel.c`, `sch_fq_codel.c` for the meaning of the numbers.
//! Options that are not sent keep their old value when a discipline is changed, so every option is
//! always sent.

use btu_testbed::netlink::Attributes;
use btu_units::{Probability, Span};

use super::delays::DelayTable;
use super::red::Red;

/// A queueing discipline with its options.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Qdisc {
    Netem(Netem),
    Tbf(Tbf),
    /// First in, first out, with a limit in frames.
    Frames(u32),
    /// First in, first out, with a limit in octets.
    Octets(u32),
    Red(Red),
    Codel(Codel),
    FqCodel(FqCodel),
}

impl Qdisc {
    /// Its name in the kernel.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Netem(_) => "netem",
            Self::Tbf(_) => "tbf",
            Self::Frames(_) => "pfifo",
            Self::Octets(_) => "bfifo",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
        }
    }

    /// The content of `TCA_OPTIONS`.
    pub(super) fn options(&self) -> Attributes {
        match self {
            Self::Netem(netem) => netem.options(),
            Self::Tbf(tbf) => tbf.options(),
            // struct tc_fifo_qopt
            Self::Frames(limit) | Self::Octets(limit) => Attributes::after(&limit.to_ne_bytes()),
            Self::Red(red) => red.options(),
            Self::Codel(codel) => codel.options(),
            Self::FqCodel(fair) => fair.options(),
        }
    }
}

/// Losses as netem draws them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Losses {
    /// Each frame is lost independently.
    Random(Probability),
    /// Two states; the letters of `struct tc_netem_gemodel`.
    GilbertElliott { p: Probability, r: Probability, bad: Probability, good: Probability },
}

/// netem. It treats a frame in this order: duplicate, lose, corrupt, drop when full, delay,
/// transmit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Netem {
    /// Most frames held, those in flight included.
    pub(super) limit: u32,
    pub(super) delay: Span,
    /// Random delay on top.
    pub(super) table: Option<DelayTable>,
    pub(super) losses: Losses,
    pub(super) duplicate: Probability,
    pub(super) corrupt: Probability,
    /// Octets per second, 0 for no limit. With a rate frames keep their order.
    pub(super) octets_per_second: u64,
    /// Seed of its random numbers (Linux 6.6 on; older kernels ignore it).
    pub(super) seed: u64,
}

impl Netem {
    /// A rate that takes no time and keeps frames in order: 2^64 octets per second round to 0 ns
    /// for any frame.
    pub(super) const ORDERLY: u64 = u64::MAX;

    /// A netem without effect.
    pub(super) fn idle(limit: u32, seed: u64) -> Self {
        let never = Probability::NEVER;
        Self {
            limit,
            delay: Span::ZERO,
            table: None,
            losses: Losses::Random(never),
            duplicate: never,
            corrupt: never,
            octets_per_second: 0,
            seed,
        }
    }

    fn options(&self) -> Attributes {
        const DELAY_DIST: u16 = 2;
        const REORDER: u16 = 3;
        const CORRUPT: u16 = 4;
        const LOSS: u16 = 5;
        const RATE: u16 = 6;
        const RATE64: u16 = 8;
        const LATENCY64: u16 = 10;
        const JITTER64: u16 = 11;
        const PRNG_SEED: u16 = 14;
        let spread = self.table.as_ref().map_or(0, |table| i64::from(table.unit));
        let (loss, model) = self.loss();
        // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; times come below, in
        // nanoseconds.
        let head = [0, self.limit, loss, 0, odds(self.duplicate), 0].map(u32::to_ne_bytes).concat();
        // struct tc_netem_rate: rate, packet overhead, cell size, cell overhead; sizes come from
        // the size table.
        let rate = u32::try_from(self.octets_per_second).unwrap_or(u32::MAX);
        let mut list = Attributes::after(&head)
            .with(REORDER, &[0; 8])
            .with(CORRUPT, &[odds(self.corrupt), 0].map(u32::to_ne_bytes).concat())
            .with(RATE, &[rate, 0, 0, 0].map(u32::to_ne_bytes).concat())
            .with(LATENCY64, &self.delay.nanoseconds().to_ne_bytes())
            .with(JITTER64, &spread.to_ne_bytes())
            .with(PRNG_SEED, &self.seed.to_ne_bytes());
        if rate == u32::MAX {
            list = list.with(RATE64, &self.octets_per_second.to_ne_bytes());
        }
        if let Some(model) = model {
            list = list.with_nested(LOSS, &model);
        }
        match &self.table {
            Some(table) => list.with(DELAY_DIST, &table.bytes()),
            None => list,
        }
    }

    /// The share of independent losses, or else the model.
    fn loss(&self) -> (u32, Option<Attributes>) {
        const GILBERT_ELLIOTT: u16 = 2;
        match self.losses {
            Losses::Random(share) => (odds(share), None),
            Losses::GilbertElliott { p, r, bad, good } => {
                // struct tc_netem_gemodel: p, r, h, k1. The kernel loses a frame in the bad state
                // if the drawn number is above h.
                let model = [fraction(p), fraction(r), u32::MAX - fraction(bad), fraction(good)];
                (
                    0,
                    Some(
                        Attributes::new()
                            .with(GILBERT_ELLIOTT, &model.map(u32::to_ne_bytes).concat()),
                    ),
                )
            }
        }
    }
}

/// A share as netem compares it: the event happens when a number of 32 random bits is not above it,
/// and never when it is 0. So it is one less than the share of 2^32, and at least 1 if the share is
/// not 0.
fn odds(share: Probability) -> u32 {
    let scaled = share.share() * 2f64.powi(32);
    if scaled == 0.0 { 0 } else { (scaled.round() - 1.0).max(1.0) as u32 }
}

/// A share as the loss models compare it: the event happens when 32 random bits are below it.
fn fraction(share: Probability) -> u32 {
    (share.share() * 2f64.powi(32)).round() as u32
}

/// Token bucket filter: the transmitter before a queue with a discipline of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tbf {
    pub(super) octets_per_second: u64,
    /// The bucket: the longest frame it ever lets pass.
    pub(super) burst: u32,
}

impl Tbf {
    fn options(self) -> Attributes {
        const PARMS: u16 = 1;
        const RATE64: u16 = 4;
        const BURST: u16 = 6;
        const LINKLAYER_ETHERNET: u8 = 1;
        let rate = u32::try_from(self.octets_per_second).unwrap_or(u32::MAX);
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate.
        let spec = [&[0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0][..], &rate.to_ne_bytes()].concat();
        // struct tc_tbf_qopt: rate, peak rate, limit, buffer, mtu. The limit is the child's.
        let list = Attributes::after(&[])
            .with(PARMS, &[&spec[..], &[0; 12 + 12]].concat())
            .with_u32(BURST, self.burst);
        if rate == u32::MAX {
            list.with(RATE64, &self.octets_per_second.to_ne_bytes())
        } else {
            list
        }
    }
}

/// Controlled delay (RFC 8289), without marking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Codel {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// The largest number of frames that it holds.
    pub(super) limit: u32,
}

impl Codel {
    /// `TCA_CODEL_*` and `TCA_FQ_CODEL_*` begin alike: target and interval in microseconds, limit
    /// in frames.
    fn options(self) -> Attributes {
        let [target, interval] = [self.target, self.interval]
            .map(|time| u32::try_from(time.nanoseconds() / 1000).unwrap_or(u32::MAX));
        let (target, interval) = (target.max(1), interval.max(1));
        Attributes::new()
            .with_u32(1, target)
            .with_u32(2, self.limit)
            .with_u32(3, interval)
            .with_u32(4, 0)
    }
}

/// Flow queueing with controlled delay (RFC 8290), without marking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FqCodel {
    pub(super) codel: Codel,
    pub(super) queues: u32,
    pub(super) quantum: u32,
}

impl FqCodel {
    fn options(self) -> Attributes {
        // TCA_FQ_CODEL_FLOWS cannot be changed later; that is refused by the kernel.
        self.codel.options().with_u32(5, self.queues).with_u32(6, self.quantum)
    }
}
