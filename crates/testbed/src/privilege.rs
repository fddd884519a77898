//! The capabilities of this process (capabilities(7)): their origin, and how the process gives them
//! up.
//!
//! Capabilities belong to threads. So all functions here must run before a process has a second
//! thread.

mod sys;

use std::io;

use nix::sys::prctl::{set_dumpable, set_no_new_privs};
use nix::unistd::{getresgid, getresuid};
use serde::{Deserialize, Serialize};

use sys::Sets;

/// A set of capabilities: a bit for each number of `linux/capability.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities(u64);

impl Capabilities {
    /// The empty set of capabilities.
    pub const NONE: Self = Self(0);
    /// Writing and reading other users' files: the superuser's scratch directory may be the home of
    /// another user.
    pub const FILES: Self = Self(1 << 1 | 1 << 2 | 1 << 3);
    /// `CAP_SETPCAP`: limiting the capabilities of programs that are started later.
    const SETPCAP: Self = Self(1 << 8);
    /// `CAP_NET_BIND_SERVICE`: listening at ports below 1024.
    pub const LOW_PORTS: Self = Self(1 << 10);
    /// `CAP_NET_ADMIN`: changing interfaces, and polling a socket longer than the system's own
    /// value.
    pub const NET_ADMIN: Self = Self(1 << 12);
    /// `CAP_NET_RAW`: packet sockets.
    pub(crate) const NET_RAW: Self = Self(1 << 13);
    /// `CAP_IPC_LOCK`: keeping more memory in place than the limit for locked memory.
    pub const IPC_LOCK: Self = Self(1 << 14);
    /// `CAP_SYS_PTRACE`: copying from one process's memory into another's.
    pub const SYS_PTRACE: Self = Self(1 << 19);

    /// `CAP_SYS_ADMIN`: making namespaces, among much else.
    pub const SYS_ADMIN: Self = Self(1 << 21);

    /// `CAP_SYS_NICE`: asking the kernel for a share of a processor, among other ways to precedence
    /// over other processes.
    pub const SYS_NICE: Self = Self(1 << 23);

    /// `CAP_SETFCAP`: mapping the superuser into a child user namespace (`user_namespaces(7)`,
    /// since Linux 5.12), as the system's sshd needs when a copy starts it.
    pub const SETFCAP: Self = Self(1 << 31);

    /// Those of these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The capabilities of this set and of `others` together.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether all of `others` are among these.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The capabilities that the calling thread may use now.
    ///
    /// # Errors
    /// A sandbox forbids the query.
    pub fn effective() -> io::Result<Self> {
        Sets::here().map(|sets| Self(sets.effective))
    }
}

/// The rights that a program's file gives to the user who starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gift {
    /// The file gives no rights.
    Nothing,
    /// The file gives capabilities (setcap(8)).
    Capabilities,
    /// Another user or group (set-user-ID, set-group-ID).
    Identity,
}

/// The rights that this process got from its program's file. Call it when the process begins.
///
/// It does not use `AT_SECURE` (getauxval(3)): the kernel also sets that if a security module
/// changes the process's label, or if the file's capabilities were withheld, and then the process
/// has no rights beyond its user.
///
/// # Errors
/// The kernel does not report it, or a sandbox forbids the query.
pub fn gift_of_the_file() -> io::Result<Gift> {
    let (user, group) = (getresuid()?, getresgid()?);
    if user.real != user.effective || group.real != group.effective {
        return Ok(Gift::Identity);
    }
    // The superuser (perhaps of a user namespace only) has all capabilities by itself. Processes of
    // other users have them from the process that started them (ambient ones, which a file with
    // capabilities takes away) or from the file.
    let sets = Sets::here()?;
    let is_given = !user.effective.is_root() && sets.permitted & !sys::ambient(sets.permitted) != 0;
    Ok(if is_given { Gift::Capabilities } else { Gift::Nothing })
}

/// Gives up all capabilities but these, for good; programs that it starts later get none from this
/// process, unless it is the superuser's.
///
/// # Errors
/// A sandbox forbids it.
pub fn give_up_all_but(kept: Capabilities) -> io::Result<()> {
    keep(kept, Capabilities::NONE)
}

/// Gives up all capabilities but these, for good, and for all programs that are started later: the
/// superuser's, too, if this process has the right to it (`CAP_SETPCAP`). It continues to pass on
/// those of these capabilities that it inherited.
///
/// # Errors
/// A sandbox forbids it.
pub fn confine_to(kept: Capabilities) -> io::Result<()> {
    // The kernel starts no program with file capabilities out of bounds (capabilities(7), "Safety
    // checking for capability-dumb binaries"), and this program starts itself.
    if Capabilities::effective()?.has(Capabilities::SETPCAP)
        && !sys::has_file_capabilities(c"/proc/self/exe")
    {
        sys::bound(kept.0)?;
    }
    keep(kept, kept)
}

fn keep(kept: Capabilities, handed_on: Capabilities) -> io::Result<()> {
    let sets = Sets::here()?;
    let inheritable = sets.inheritable & handed_on.0;
    if sets.permitted & !kept.0 == 0 && sets.inheritable == inheritable {
        return Ok(());
    }
    // What is not inheritable is not ambient either.
    Sets { effective: sets.effective & kept.0, permitted: sets.permitted & kept.0, inheritable }
        .set()?;
    // The kernel gives the files in /proc of a process with capabilities of its program's file to
    // root. A process with only its user's rights must write some of them to make a user namespace.
    Ok(set_dumpable(true)?)
}

/// From now on no program's file gives rights to this process or its children.
///
/// # Errors
/// None is known (`PR_SET_NO_NEW_PRIVS`(2const)).
pub fn take_no_gifts() -> io::Result<()> {
    Ok(set_no_new_privs()?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_is_given_up_is_gone_and_what_is_kept_stays() {
        // Capabilities belong to a thread: those of this thread do not affect others.
        let before = Capabilities::effective().unwrap();
        let kept = Capabilities::FILES.and(Capabilities::IPC_LOCK);
        let after = thread::spawn(move || {
            give_up_all_but(kept).unwrap();
            let after = Capabilities::effective().unwrap();
            give_up_all_but(Capabilities::NONE).unwrap();
            (after, Capabilities::effective().unwrap())
        });
        let (after, last) = after.join().unwrap();
        assert_eq!((after, last), (Capabilities(before.0 & kept.0), Capabilities::NONE));
        assert!(!after.has(Capabilities::NET_ADMIN) && kept.has(Capabilities::FILES));
        assert_eq!(Capabilities::effective().unwrap(), before);
    }

    /// The superuser's children, which would get all capabilities again, have no more either.
    #[test]
    fn who_is_confined_starts_no_program_with_more() {
        let kept = Capabilities::FILES;
        let bounds = thread::spawn(move || {
            confine_to(kept).unwrap();
            let output = std::process::Command::new("grep")
                .args(["^Cap", "/proc/self/status"])
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        });
        let status = bounds.join().unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        assert!(
            kept.has(Capabilities(of("CapEff:"))) && kept.has(Capabilities(of("CapPrm:"))),
            "{status}"
        );
        let may_bound = Capabilities::effective().unwrap().has(Capabilities::SETPCAP);
        assert!(!may_bound || kept.has(Capabilities(of("CapBnd:"))), "{status}");
    }

    #[test]
    fn this_test_has_nothing_from_its_file() {
        assert_eq!(gift_of_the_file().unwrap(), Gift::Nothing);
    }
}
