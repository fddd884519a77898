//! Finds out which agents run in this network namespace. The impairments of a running agent must
//! stay; those of a dead one look equal and must be removed.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::thread;
use std::time::Duration;

use btu_testbed::privilege::Capabilities;
use btu_units::hexadecimal;
use nix::errno::Errno;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, UnixCredentials, connect, getsockopt, socket,
};
use nix::unistd::geteuid;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::octets::random;

/// The prefix of agents' names.
pub(super) const AGENTS: &str = "btu-agent-";

/// How often a name that has no room for one more caller is called, and the time between two calls.
/// An agent takes its callers at once.
const CALLS: u32 = 100;
const CALL_EVERY: Duration = Duration::from_millis(10);

/// The pause before further callers are accepted if the system is short of open files.
const SHORTAGE: Duration = Duration::from_secs(1);

/// The presence of one process among its kind. Its name is that of an abstract Unix socket
/// (unix(7)): the kernel has such names for each network namespace, and removes them when the
/// process ends in any way. Any user can take such a name; so the code queries the owner, which the
/// kernel reports to callers of a listening socket.
pub(super) struct Presence {
    kind: String,
    name: String,
    callers: JoinHandle<()>,
}

impl Presence {
    /// Takes a name of this kind that no other process has. Call it in a runtime.
    pub(super) fn announce(kind: &str) -> io::Result<Self> {
        let name = format!("{kind}{}", hexadecimal(&random::<8>()?));
        let listener = StdListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        listener.set_nonblocking(true)?;
        let callers = tokio::spawn(dismiss(UnixListener::from_std(listener)?));
        Ok(Self { kind: kind.to_owned(), name, callers })
    }

    /// Whether no other process of this kind runs here. Of two that begin at one moment neither is
    /// alone.
    pub(super) fn is_alone(&self) -> io::Result<bool> {
        let sockets = fs::read_to_string("/proc/self/net/unix")?;
        // The last column is the name; `@` stands for the zero octet that abstract names begin
        // with.
        let names =
            sockets.lines().filter_map(|line| line.split_whitespace().last()?.strip_prefix('@'));
        let mut others = names.filter(|name| name.starts_with(&self.kind) && *name != self.name);
        Ok(!others.any(|name| holder(name).is_ok_and(|holder| may_impair(&holder))))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.callers.abort();
    }
}

/// Callers need only the connection itself.
async fn dismiss(listener: UnixListener) {
    loop {
        if listener.accept().await.is_err() {
            tokio::time::sleep(SHORTAGE).await;
        }
    }
}

/// The process that listens at an abstract name, if it accepts callers.
fn holder(name: &str) -> io::Result<UnixCredentials> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let caller = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    let address = UnixAddr::new_abstract(name.as_bytes())?;
    let mut calls = 1..CALLS;
    loop {
        match connect(caller.as_raw_fd(), &address) {
            Err(Errno::EAGAIN) if calls.next().is_some() => thread::sleep(CALL_EVERY),
            answer => break answer?,
        }
    }
    Ok(getsockopt(&caller, PeerCredentials)?)
}

/// Whether a process may have impaired an interface: the superuser's and this user's may, and one
/// that can be seen to have `CAP_NET_ADMIN` and to be the same user's as when it began to listen.
fn may_impair(holder: &UnixCredentials) -> bool {
    let trusted = [0, geteuid().as_raw()].contains(&holder.uid());
    trusted
        || fs::read_to_string(format!("/proc/{}/status", holder.pid()))
            .is_ok_and(|status| is_administrator(&status, holder.uid()))
}

/// The lines `Uid` and `CapEff` of `proc_pid_status`(5).
fn is_administrator(status: &str, user: u32) -> bool {
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let users =
        line("Uid:").map(|users| users.split_whitespace().all(|each| each.parse() == Ok(user)));
    let capabilities =
        line("CapEff:").and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    users == Some(true)
        && capabilities
            .is_some_and(|bits| Capabilities::from_bits(bits).has(Capabilities::NET_ADMIN))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    /// Agents may run on this machine during the test, but none of this kind.
    fn kind() -> String {
        format!("btu-test-{}-", hexadecimal(&random::<8>().unwrap()))
    }

    #[tokio::test]
    async fn the_first_is_alone_until_another_comes_and_the_last_when_the_others_are_gone() {
        let kind = kind();
        let first = Presence::announce(&kind).unwrap();
        assert!(first.is_alone().unwrap());
        let second = Presence::announce(&kind).unwrap();
        assert!(!first.is_alone().unwrap() && !second.is_alone().unwrap());
        drop(first);
        // Its task releases the name when it runs next.
        while !second.is_alone().unwrap() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_name_at_which_nobody_listens_is_nobodys() {
        let kind = kind();
        let first = Presence::announce(&kind).unwrap();
        let name = SocketAddr::from_abstract_name(format!("{kind}squatter")).unwrap();
        let _squatter = UnixDatagram::bind_addr(&name).unwrap();
        assert!(first.is_alone().unwrap());
    }

    #[test]
    fn a_stranger_counts_only_with_the_right_to_impair() {
        let status = |users: &str, capabilities: &str| {
            format!("Name:\tbtu\nUid:\t{users}\nCapEff:\t{capabilities}\n")
        };
        let (none, admin) = ("0000000000000000", "0000000000001000");
        assert!(is_administrator(&status("61234\t61234\t61234\t61234", admin), 61_234));
        assert!(!is_administrator(&status("61234\t61234\t61234\t61234", none), 61_234));
        // A process that listens first and then starts a program of root's is still not trusted.
        assert!(!is_administrator(&status("61234\t0\t0\t0", admin), 61_234));
        assert!(!is_administrator("", 0));
    }

    #[test]
    fn the_kernel_tells_a_stranger_from_this_user() {
        let holder = UnixCredentials::new();
        assert!(may_impair(&holder));
        if !geteuid().is_root() {
            eprintln!("only root can be two users: tested as root only");
            return;
        }
        let mut stranger = Command::new("sleep").arg("60").uid(65_534).spawn().unwrap();
        let credentials =
            nix::libc::ucred { pid: stranger.id().cast_signed(), uid: 65_534, gid: 65_534 };
        let counts = may_impair(&credentials.into());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
        assert!(!counts);
    }
}
