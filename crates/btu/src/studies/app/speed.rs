//! What `btu app` asks of the machine for slower processors, and what it leaves to the user.

use std::path::Path;

use btu_contract::app::{Carrier, Slowing, Speed, Speeds};
use btu_contract::experiment::Scripts;
use btu_studies::app::{AppCell, AppPlan};

use super::arguments::{App, SlowBy};
use super::{is_elsewhere, usage};
use crate::cli::or_usual;
use crate::exit::Refusal;

/// Every speed of the one end with every speed of the other; empty if none is named.
pub(super) fn speeds(app: &App) -> Vec<Speeds> {
    if app.application_speed.is_empty() && app.display_speed.is_empty() {
        return Vec::new();
    }
    let displays = or_usual(&app.display_speed, &[Speed::FULL]);
    let with =
        |application: Speed| displays.iter().map(move |&display| Speeds { application, display });
    or_usual(&app.application_speed, &[Speed::FULL]).into_iter().flat_map(with).collect()
}

/// The way that was asked for, if btu goes it and this machine can.
pub(super) fn slowing(app: &App) -> Result<Slowing, Refusal> {
    match app.slow_by {
        SlowBy::Here(Slowing::Dilation) => Ok(Slowing::Dilation),
        SlowBy::Here(Slowing::Quota) => check_quota(app).map(|()| Slowing::Quota),
        SlowBy::Frequency => Err(Refusal::Machine(frequency(Path::new("/sys")))),
        SlowBy::ControlGroup => Err(Refusal::Machine(control_group(Path::new("/sys")))),
    }
}

/// Why the frequency of processors is not set: a machine can lack it, and where it does not, the
/// setting is every program's, the emulator's too, and would stay if btu was killed.
fn frequency(sys: &Path) -> String {
    let why = if sys.join("devices/system/cpu/cpufreq/policy0").exists() {
        "btu does not set the frequency of processors, which all programs of a machine share and which would stay if btu \
         was killed (cpupower frequency-set sets it before a run)"
    } else {
        "this machine cannot set the frequency of its processors (no /sys/devices/system/cpu/cpufreq/policy0)"
    };
    format!("--slow-by cpufreq: {why}; use --slow-by quota (as root) or --slow-by dilation")
}

/// Why no control group is made: a machine can lack the controller, and where it does not,
/// `--slow-by quota` stops the end in the same way, and leaves nothing behind.
fn control_group(sys: &Path) -> String {
    let controllers = std::fs::read_to_string(sys.join("fs/cgroup/cgroup.controllers"));
    let has_cpu = controllers.is_ok_and(|all| all.split_whitespace().any(|one| one == "cpu"));
    let why = if has_cpu {
        "btu makes no control groups; to limit a whole agent of --hosts, start it by systemd-run -p CPUQuota=50%"
    } else {
        "this machine has no control groups of version 2 with the controller cpu (/sys/fs/cgroup/cgroup.controllers)"
    };
    format!(
        "--slow-by cpu.max: {why}; use --slow-by quota (as root), by which the kernel stops the end's thread in the same \
         way, or --slow-by dilation"
    )
}

/// Whether this machine can do what `--slow-by quota` asks for.
fn check_quota(app: &App) -> Result<(), Refusal> {
    if is_elsewhere(app) {
        let problem = "--slow-by quota is for networks that btu starts here: agents of real hosts give no process \
                       precedence over others";
        return Err(usage(problem.to_owned()));
    }
    btu_traffic::keeps_to_quota(Speed::HALF).map_err(|error| {
        Refusal::Machine(format!(
            "--slow-by quota: this kernel keeps no thread of this user to a share of a processor (SCHED_DEADLINE: {error}); \
             run it as root, with every processor allowed (taskset), or use --slow-by dilation"
        ))
    })
}

/// The kernel gives a share to a thread, and `in-process` has one for both ends.
pub(super) fn one_in_a_thread(plan: &AppPlan) -> Result<(), Refusal> {
    let differs = |cell: &AppCell| {
        cell.carrier == Carrier::InProcess && cell.speeds.application != cell.speeds.display
    };
    if plan.slowing == Slowing::Quota && plan.cells().iter().any(differs) {
        return Err(usage(
            "--slow-by quota: with --transport in-process both ends are one thread, which has one speed; name other \
             transports, or use --slow-by dilation"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is refused names the option, the reason, and what to use instead, in one line.
    #[test]
    fn ways_that_are_left_to_the_user_say_why_and_what_instead() {
        let sys = tempfile::tempdir().expect("a directory");
        let both = || [frequency(sys.path()), control_group(sys.path())];
        let [frequency_missing, group_missing] = both();
        assert!(frequency_missing.contains("this machine cannot"), "{frequency_missing}");
        assert!(group_missing.contains("this machine has no"), "{group_missing}");

        let policy = sys.path().join("devices/system/cpu/cpufreq/policy0");
        let group = sys.path().join("fs/cgroup");
        for directory in [&policy, &group] {
            std::fs::create_dir_all(directory).expect("a directory");
        }
        std::fs::write(group.join("cgroup.controllers"), "cpuset io memory\n").expect("a file");
        assert_eq!(control_group(sys.path()), group_missing);
        std::fs::write(group.join("cgroup.controllers"), "cpuset cpu io\n").expect("a file");
        let [frequency_there, group_there] = both();
        assert!(frequency_there.contains("cpupower frequency-set"), "{frequency_there}");
        assert!(group_there.contains("CPUQuota"), "{group_there}");
        for said in [frequency_missing, group_missing, frequency_there, group_there] {
            assert!(said.starts_with("--slow-by c") && said.lines().count() == 1, "{said}");
            assert!(said.contains("--slow-by quota") && said.contains("--slow-by dilation"));
        }
    }
}
