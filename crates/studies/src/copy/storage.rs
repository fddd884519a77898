//! Program and storage, two levels of each: whether their costs multiply or overlap.

use serde::Serialize;

/// The four times in seconds: the bare connection and a program, in memory and on disk at both
/// ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoByTwo {
    /// The bare connection, memory to memory.
    pub bare_memory: f64,
    /// The bare connection, disk to disk.
    pub bare_disk: f64,
    /// The program, memory to memory.
    pub program_memory: f64,
    /// The program, disk to disk.
    pub program_disk: f64,
}

/// An interaction further from 1 than this, in ln, means that stages overlap or hinder each other.
const SIGNIFICANT: f64 = 0.1;

impl TwoByTwo {
    /// The cost of disks without a program: a ratio.
    pub fn disk_effect(&self) -> f64 {
        self.bare_disk / self.bare_memory
    }

    /// The cost of the program without disks: a ratio.
    pub fn program_effect(&self) -> f64 {
        self.program_memory / self.bare_memory
    }

    /// The error of the product of both effects for program and disk together: below 1, stages
    /// overlap; above, they hinder each other.
    pub fn interaction(&self) -> f64 {
        self.program_disk / self.bare_memory / (self.disk_effect() * self.program_effect())
    }

    /// Whether the interaction is more than a tenth in ln.
    pub fn stages_interact(&self) -> bool {
        self.interaction().ln().abs() > SIGNIFICANT
    }
}

/// The overlap of stages that take `stages` seconds each, alone, when all together take `whole`
/// seconds: 1 when they are fully pipelined (as long as the longest), 0 when one comes after the
/// other. Outside 0 to 1 they gain or lose otherwise. `None` where nothing can overlap, because at
/// most one stage takes any time.
pub fn overlap(stages: &[f64], whole: f64) -> Option<f64> {
    let (sum, longest) = (stages.iter().sum::<f64>(), stages.iter().copied().fold(0.0, f64::max));
    let possible =
        stages.iter().chain([&whole]).all(|seconds| seconds.is_finite() && *seconds >= 0.0);
    (possible && sum > longest).then(|| (sum - whole) / (sum - longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn effects_that_multiply_do_not_interact() {
        let times = TwoByTwo {
            bare_memory: 10.0,
            bare_disk: 40.0,
            program_memory: 20.0,
            program_disk: 80.0,
        };
        near(times.disk_effect(), 4.0);
        near(times.program_effect(), 2.0);
        near(times.interaction(), 1.0);
        assert!(!times.stages_interact());
    }

    /// Disk and program in turn, each waiting for the slower one: the product gives 80 s, the
    /// pipeline takes 40.
    #[test]
    fn a_pipeline_shows_as_interaction() {
        let times = TwoByTwo {
            bare_memory: 10.0,
            bare_disk: 40.0,
            program_memory: 20.0,
            program_disk: 40.0,
        };
        near(times.interaction(), 0.5);
        assert!(times.stages_interact());
    }

    #[test]
    fn overlap_of_stages() {
        let stages = [10.0, 20.0, 40.0];
        near(overlap(&stages, 40.0).unwrap(), 1.0);
        near(overlap(&stages, 70.0).unwrap(), 0.0);
        near(overlap(&stages, 55.0).unwrap(), 0.5);
        assert_eq!(overlap(&[5.0], 5.0), None);
        assert_eq!(overlap(&[5.0, 0.0], 5.0), None);
        assert_eq!(overlap(&[], 1.0), None);
        assert_eq!(overlap(&[5.0, 2.0], f64::NAN), None);
    }
}
