//! Checks whether the emulator or the machine distorted the measurement of the sizes.

use btu_stats::median;
use btu_units::Bytes;

use super::warning::PipeCause;
use btu_contract::pipe::Point;
use btu_contract::record::{ClockSteps, Shares, WireAccount};

/// With fewer frames, the latest per cent is a single frame, which is not typical.
const FRAMES_FOR_P99: u64 = 1000;

/// A frame that leaves the emulator later than this share of a trial makes the trial longer by as
/// much.
const LATE_SHARE: f64 = 0.10;

/// The emulator lost frames on its own account.
pub(super) fn lost(points: &[Point]) -> Option<PipeCause> {
    let lost = || points.iter().map(Point::lost_by_emulator).filter(|frames| *frames > 0);
    let frames = lost().sum();
    (frames > 0).then(|| PipeCause::EmulatorLost { frames, sizes: lost().count() })
}

/// Frames left the emulator so late that times of a size are not the network's.
pub(super) fn late(points: &[Point]) -> Option<PipeCause> {
    let late: Vec<(f64, Bytes, u64)> = points.iter().filter_map(lateness).collect();
    let &(share, worst_bytes, max_ns) = late.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(PipeCause::EmulatorLate { sizes: late.len(), worst_bytes, max_ns, share })
}

/// The latest frame as a share of a typical trial, with its size and its lateness in ns; `None` if
/// it is harmless.
fn lateness(point: &Point) -> Option<(f64, Bytes, u64)> {
    let network: &WireAccount = point.conditions.as_ref()?.network.as_deref()?;
    let trials: Vec<f64> = point.trials.iter().map(|trial| trial.elapsed.seconds()).collect();
    let trial = median(&trials).filter(|seconds| *seconds > 0.0)?;
    let (p99_ns, max_ns) = (network.lateness.quantile(0.99)?, network.lateness.max()?);
    let share = max_ns as f64 * 1e-9 / trial;
    let is_always_late = network.lateness.count() >= FRAMES_FOR_P99
        && p99_ns > WireAccount::harmless_lateness(network.round_trip).nanoseconds();
    (is_always_late || share > LATE_SHARE).then_some((share, point.size, max_ns))
}

/// The hypervisor took processor time for others.
pub(super) fn steal(points: &[Point]) -> Option<PipeCause> {
    let machines = points.iter().filter_map(|point| Some(&point.conditions.as_ref()?.machine));
    let share = Shares::of(machines)?.steal;
    (share > Shares::MOST_STEAL).then_some(PipeCause::Steal { share })
}

/// The machine slept while sizes were measured, which do not count.
pub(super) fn slept(points: &[Point]) -> Option<PipeCause> {
    let slept = || points.iter().filter_map(Point::slept);
    let longest_ns = slept().max()?.nanoseconds();
    Some(PipeCause::Slept { sizes: slept().count(), longest_ns })
}

/// The wall clock was stepped while sizes were measured that count.
pub(super) fn stepped(points: &[Point]) -> Option<PipeCause> {
    let awake = points.iter().filter(|point| point.is_undisturbed());
    let steps =
        ClockSteps::of(awake.filter_map(|point| Some(&point.conditions.as_ref()?.machine)))?;
    Some(PipeCause::ClockStepped { sizes: steps.cells as usize, worst_ns: steps.worst_ns })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, points};
    use super::super::{PipePlan, judge};
    use super::*;
    use btu_contract::pipe::{Conditions, Pattern};
    use btu_contract::record::MachineCpu;

    fn measured(change: impl Fn(usize, &mut Conditions)) -> (PipePlan, Vec<Point>) {
        let plan = plan("1,1024,65536", Pattern::PingPong);
        let mut points = points(&plan, |bytes| 1e-3 + bytes * 1e-6);
        for (index, point) in points.iter_mut().enumerate() {
            let mut network = WireAccount::default();
            (0..1000).for_each(|_| network.lateness.record(20_000));
            let machine =
                MachineCpu { user_ns: 500_000_000, idle_ns: 500_000_000, ..MachineCpu::default() };
            let network = Some(Box::new(network));
            let mut conditions = Conditions { network, ..Conditions::of(machine) };
            change(index, &mut conditions);
            point.conditions = Some(conditions);
        }
        (plan, points)
    }

    fn causes(change: impl Fn(usize, &mut Conditions)) -> (Vec<PipeCause>, usize) {
        let (plan, points) = measured(change);
        let verdict = judge(&plan, &points);
        (verdict.warnings.into_iter().map(|warning| warning.cause).collect(), verdict.sizes.len())
    }

    #[test]
    fn a_network_as_it_should_be_gives_no_warning() {
        assert_eq!(causes(|_, _| {}), (Vec::new(), 3));
    }

    /// Trials last a second: 250 ms are a quarter of one.
    #[test]
    fn an_emulator_that_stood_still_is_told() {
        let stood_still = |index: usize, conditions: &mut Conditions| {
            if index == 1 {
                conditions.network.as_mut().unwrap().lateness.record(250_000_000);
            }
        };
        let (causes, sizes) = causes(stood_still);
        let [PipeCause::EmulatorLate { sizes: 1, worst_bytes, share, .. }] = &causes[..] else {
            panic!("{causes:?}")
        };
        assert_eq!((*worst_bytes, sizes), (Bytes::new(1024), 3));
        assert!((share / 0.25 - 1.0).abs() < 0.02, "{share}");
    }

    #[test]
    fn an_emulator_that_is_always_late_is_told() {
        let late = |_, conditions: &mut Conditions| {
            let network = conditions.network.as_mut().unwrap();
            (0..20).for_each(|_| network.lateness.record(200_000));
        };
        assert!(matches!(causes(late).0[..], [PipeCause::EmulatorLate { sizes: 3, .. }]));
    }

    #[test]
    fn a_size_with_a_frame_that_the_emulator_lost_does_not_count() {
        let lossy = |index: usize, conditions: &mut Conditions| {
            conditions.network.as_mut().unwrap().port_drops = if index == 2 { 3 } else { 0 };
        };
        assert_eq!(causes(lossy), (vec![PipeCause::EmulatorLost { frames: 3, sizes: 1 }], 2));
        let (_, points) = measured(lossy);
        let valid: Vec<bool> = points.iter().map(Point::is_valid).collect();
        assert_eq!(valid, [true, true, false]);
    }

    #[test]
    fn time_that_went_to_other_machines_is_told() {
        let (found, _) = causes(|_, conditions| conditions.machine.steal_ns = 20_000_000);
        let [PipeCause::Steal { share }] = found[..] else { panic!("{found:?}") };
        assert!((share - 20.0 / 1020.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_size_during_which_the_machine_slept_does_not_count() {
        let slept = |index: usize, conditions: &mut Conditions| {
            conditions.machine.slept_ns = if index == 0 { 3_000_000_000 } else { 0 };
        };
        assert_eq!(
            causes(slept),
            (vec![PipeCause::Slept { sizes: 1, longest_ns: 3_000_000_000 }], 2)
        );
        let (_, points) = measured(slept);
        let valid: Vec<bool> = points.iter().map(Point::is_valid).collect();
        assert_eq!(valid, [false, true, true]);
    }

    #[test]
    fn a_wall_clock_that_was_stepped_is_told_and_the_size_counts() {
        let stepped = |index: usize, conditions: &mut Conditions| {
            conditions.machine.stepped_ns = if index == 2 { 60_000_000_000 } else { 0 };
        };
        assert_eq!(
            causes(stepped),
            (vec![PipeCause::ClockStepped { sizes: 1, worst_ns: 60_000_000_000 }], 3)
        );
    }
}
