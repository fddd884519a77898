//! The errors of kernel netem, each with the next step for the user.

use std::io;

use crate::netlink::error_number;

/// Why an interface could not be impaired by the kernel.
#[derive(Debug, thiserror::Error)]
pub enum NetemError {
    /// The kernel lacks a part; it is a module that may not be installed or not loadable.
    #[error(
        "this kernel has no {part}: {source}; load its module (`modprobe {module}`) or install a kernel that has it \
         (Debian: linux-image-amd64 or linux-image-cloud-amd64), or let btu's own link emulator carry the frames"
    )]
    Missing {
        /// The usual name of the part.
        part: &'static str,
        /// The module that contains it.
        module: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// There is no such interface.
    #[error("interface {name}: {source}; `ip link` lists the interfaces of this network namespace")]
    Interface {
        /// The name in question.
        name: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The interface's incoming packets are redirected already, or an earlier run left its device
    /// behind.
    #[error(
        "interface {interface} is taken: {what} is there already; if nothing uses it any more, remove it with \
         `{remedy}`"
    )]
    Taken {
        /// The name of the interface.
        interface: String,
        /// The discipline that is there already.
        what: String,
        /// The command that removes it.
        remedy: String,
    },
    /// The kernel refused a request.
    #[error(
        "cannot {operation}: {source}; it takes CAP_NET_ADMIN over the network namespace (root has it)"
    )]
    Refused {
        /// The operation, and its object.
        operation: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The kernel refused for another reason.
    #[error("cannot {operation}: {source}")]
    Kernel {
        /// The operation, and its object.
        operation: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// A part of the kernel that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KernelFeature {
    pub(super) name: &'static str,
    pub(super) module: &'static str,
}

impl NetemError {
    /// An error of an operation that needs `part`.
    pub(super) fn with(
        part: KernelFeature,
        operation: impl Into<String>,
        source: io::Error,
    ) -> Self {
        match error_number(&source) {
            // "Unknown device type" is EOPNOTSUPP, an unknown discipline, classifier or action
            // ENOENT.
            Some(libc::ENOENT | libc::EOPNOTSUPP) => {
                Self::Missing { part: part.name, module: part.module, source }
            }
            _ => Self::of(operation, source),
        }
    }

    /// An error of an operation that every kernel supports.
    pub(super) fn of(operation: impl Into<String>, source: io::Error) -> Self {
        let operation = operation.into();
        match error_number(&source) {
            Some(libc::EPERM | libc::EACCES) => Self::Refused { operation, source },
            _ => Self::Kernel { operation, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETEM: KernelFeature = KernelFeature { name: "netem", module: "sch_netem" };

    #[test]
    fn a_missing_module_is_named() {
        let error =
            NetemError::with(NETEM, "add netem", io::Error::from_raw_os_error(libc::ENOENT));
        assert!(error.to_string().contains("modprobe sch_netem"), "{error}");
    }

    #[test]
    fn a_refusal_says_which_right_is_needed() {
        let error = NetemError::with(NETEM, "add netem", io::Error::from_raw_os_error(libc::EPERM));
        assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}");
    }
}
