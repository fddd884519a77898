//! Advice when a system refuses namespaces: checks each known restriction and names it.

use std::fs;
use std::io;

use super::error::{Cause, TestbedError};

/// A setting under /proc/sys that refuses namespaces when it has this value, and the fix.
type Lock = (&'static str, &'static str, &'static str);

const LOCKS: [Lock; 6] = [
    // Debian's and Arch's kernels.
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "run as root, or allow it: sysctl kernel.unprivileged_userns_clone=1",
    ),
    // Ubuntu 23.10 and later.
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "run as root, or allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "run as root, or allow them: sysctl user.max_user_namespaces=1000",
    ),
    ("user/max_net_namespaces", "0", "allow them: sysctl user.max_net_namespaces=1000"),
    ("user/max_pid_namespaces", "0", "allow them: sysctl user.max_pid_namespaces=1000"),
    ("user/max_mnt_namespaces", "0", "allow them: sysctl user.max_mnt_namespaces=1000"),
];

/// The error for a refused namespace, with the remedy this system needs.
pub(super) fn refusal(operation: &str, error: &io::Error) -> TestbedError {
    let remedy = LOCKS.iter().find(|(setting, value, _)| is_set(setting, value));
    let remedy = remedy.map_or_else(|| by_number(error), |(.., remedy)| remedy);
    TestbedError::new(Cause::Namespaces, operation, error, remedy)
}

fn is_set(setting: &str, value: &str) -> bool {
    fs::read_to_string(format!("/proc/sys/{setting}")).is_ok_and(|found| found.trim() == value)
}

fn by_number(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::EROFS) => {
            "run as root; in a container start it with --privileged, or allow user namespaces in its seccomp profile"
        }
        Some(libc::ENOSPC | libc::EUSERS) => {
            "raise the limits user.max_*_namespaces, or end what uses so many of them"
        }
        Some(libc::EINVAL | libc::ENOSYS) => {
            "use a kernel with user, network, mount and process namespaces"
        }
        Some(libc::EAGAIN | libc::ENOMEM) => "free some memory, or raise the limit of processes",
        _ => "run as root",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_the_kernel_gives_has_its_remedy() {
        let remedy = |number| by_number(&io::Error::from_raw_os_error(number));
        assert!(remedy(libc::EPERM).contains("--privileged"));
        assert!(remedy(libc::EROFS).contains("--privileged"));
        assert!(remedy(libc::ENOSPC).contains("user.max_"));
        assert!(remedy(libc::EINVAL).contains("kernel"));
    }

    #[test]
    fn the_refusal_names_operation_and_answer() {
        let error = refusal("make a user namespace", &io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(error.cause, Cause::Namespaces);
        assert!(
            error.to_string().contains("make a user namespace: Operation not permitted"),
            "{error}"
        );
    }
}
