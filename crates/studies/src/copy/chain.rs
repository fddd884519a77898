//! Where a copy's time goes: hardware, software, contention.
//!
//! The three factors multiply to the whole exactly, because each divides by what the one before it
//! reached: T / raw = (reach / raw) (quiet / reach) (T / quiet), with reach the longer of a local
//! copy and the line alone.

use serde::Serialize;

/// Times of one copy by one program, in seconds; all for the same size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chain {
    /// The file's bits at the network's rate, without any header: the paper's "raw Ethernet".
    pub raw: ChainFactor,
    /// Hardware: what disks and line allow together.
    pub hardware: ChainFactor,
    /// Software: what the program adds on a quiet network.
    pub software: ChainFactor,
    /// Contention: what other traffic adds.
    pub contention: ChainFactor,
    /// Time of a local copy over the raw time: the paper's own "hardware" (4 to 8 there).
    pub local_over_raw: f64,
}

/// One factor of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChainFactor {
    /// Time with it over that without it; 1 for the raw time itself.
    pub ratio: f64,
    /// Seconds up to and including it.
    pub seconds: f64,
    /// Seconds that it adds; negative where it makes the copy faster.
    pub added_seconds: f64,
    /// ln of the ratio over ln of the whole; the shares add up to 1. `None` where the whole is as
    /// fast as the raw time.
    pub share: Option<f64>,
}

impl Chain {
    /// The chain of a copy that took `contended` seconds under load and `quiet` without; a `local`
    /// copy of that file took `local` seconds; `raw` and `line` are those of [`crate::limits::PathLimits::seconds`].
    /// `None` unless all are positive and finite.
    pub fn of(raw: f64, line: f64, local: f64, quiet: f64, contended: f64) -> Option<Self> {
        let reach = local.max(line);
        if ![raw, line, local, quiet, contended]
            .iter()
            .all(|seconds| seconds.is_finite() && *seconds > 0.0)
        {
            return None;
        }
        let whole = (contended / raw).ln();
        let factor = |before: f64, seconds: f64| ChainFactor {
            ratio: seconds / before,
            seconds,
            added_seconds: seconds - before,
            share: (whole != 0.0).then(|| (seconds / before).ln() / whole),
        };
        Some(Self {
            raw: ChainFactor { added_seconds: raw, ..factor(raw, raw) },
            hardware: factor(raw, reach),
            software: factor(reach, quiet),
            contention: factor(quiet, contended),
            local_over_raw: local / raw,
        })
    }

    /// The whole: time under load over the raw time.
    pub fn ratio(&self) -> f64 {
        self.contention.seconds / self.raw.seconds
    }
}

/// The background's loss to the copy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Displacement {
    /// Share of time that the background took alone, before the copy.
    pub alone: f64,
    /// Share of time that it took during the copy.
    pub during: f64,
}

impl Displacement {
    /// The traffic that the copy displaced: on a shared cable the background gives way, on a
    /// full-duplex line it does not.
    pub fn displaced(&self) -> f64 {
        self.alone - self.during
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
    }

    /// The report's NFS: 80 s raw, a local copy of 640 s, 1500 s quiet, 5040 s at 98 %: 8, 2.34 and
    /// 3.36 make 63.
    #[test]
    fn the_report_s_slowest_copy() {
        let chain = Chain::of(80.0, 84.97, 640.0, 1500.0, 5040.0).unwrap();
        near(chain.hardware.ratio, 8.0, 1e-12);
        near(chain.local_over_raw, 8.0, 1e-12);
        near(chain.software.ratio, 2.344, 5e-4);
        near(chain.contention.ratio, 3.36, 1e-12);
        near(chain.ratio(), 63.0, 1e-12);
        near(chain.contention.added_seconds, 3540.0, 1e-9);
    }

    /// Disks that are faster than the line: the line is what hardware allows, and the program
    /// starts from there.
    #[test]
    fn a_fast_disk_leaves_the_line() {
        let chain = Chain::of(80.0, 85.0, 2.0, 86.0, 86.0).unwrap();
        near(chain.hardware.seconds, 85.0, 0.0);
        near(chain.local_over_raw, 0.025, 1e-12);
        near(chain.contention.ratio, 1.0, 0.0);
    }

    #[test]
    fn what_took_no_time_has_no_chain() {
        assert_eq!(Chain::of(80.0, 85.0, 0.0, 86.0, 86.0), None);
        assert_eq!(Chain::of(80.0, 85.0, 1.0, f64::NAN, 86.0), None);
    }

    #[test]
    fn what_the_background_lost() {
        near(Displacement { alone: 0.98, during: 0.91 }.displaced(), 0.07, 1e-12);
    }

    proptest! {
        #[test]
        fn the_chain_is_exact(
            raw in 0.01f64..1e4, over in 1.0f64..2.0, local in 0.01f64..1e4, quiet in 0.01f64..1e4, contended in 0.01f64..1e5,
        ) {
            let chain = Chain::of(raw, raw * over, local, quiet, contended).unwrap();
            let links = [chain.hardware, chain.software, chain.contention];
            let product: f64 = links.iter().map(|link| link.ratio).product();
            prop_assert!((product / chain.ratio() - 1.0).abs() < 1e-12);
            let seconds = raw + links.iter().map(|link| link.added_seconds).sum::<f64>();
            prop_assert!((seconds / contended - 1.0).abs() < 1e-9);
            if (contended / raw).ln().abs() > 1e-3 {
                let shares: f64 = links.iter().filter_map(|link| link.share).sum();
                prop_assert!((shares - 1.0).abs() < 1e-9);
            }
        }
    }
}
