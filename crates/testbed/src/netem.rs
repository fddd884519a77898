//! Delay and loss in the kernel: netem on an IFB device.
//!
//! [`apply`] redirects incoming packets of an interface through a separate device (`btu-ifb` and
//! the interface's number), after which they continue as if they had just come in. Nothing runs in
//! user space, so it also works for real hosts; no `tc` is needed.
//!
//! The rules are in the kernel and remain after a process is killed: [`clear`] removes them.

mod error;
mod kernel;

use std::io;
use std::thread;

use btu_units::{Probability, Span, shell_word};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};

pub use error::NetemError;

use crate::netlink::{Connection, Protocol, error_number};
use crate::offload::ReceiveOffload;

/// Delays all incoming packets of `interface`, and loses a share of them, in the network namespace
/// of the calling thread, until the guard is dropped. Needs `CAP_NET_ADMIN` over that namespace.
///
/// Merging of received packets (GRO) is switched off meanwhile, so that a frame is a frame. `seed`
/// makes the losses repeatable on kernels that can be seeded (Linux 6.6 on).
///
/// # Errors
/// There is no such interface, its incoming packets are redirected already, the kernel lacks a
/// part, or the caller has no right to it. Nothing is left behind then.
pub fn apply(
    interface: &str,
    delay: Span,
    loss: Probability,
    seed: u64,
) -> Result<Guard, NetemError> {
    let index = index_of(interface)?;
    let mut talk = Connection::here(Protocol::Route)
        .map_err(|error| NetemError::of("open a netlink socket", error))?;
    let receive_offload = ReceiveOffload::switch_off(interface)
        .map_err(|error| NetemError::of("switch gro off", error))?;
    let device = add_device(&mut talk, interface, index)?;
    // From here on the guard undoes the changes.
    let mut guard = Guard {
        talk,
        interface: interface.to_owned(),
        index,
        device,
        redirects: false,
        seed,
        _receive_offload: receive_offload,
    };
    guard.raise(delay, loss)?;
    Ok(guard)
}

/// Removes the rules that a killed process has left of [`apply`] at `interface`; returns whether
/// there were any.
///
/// # Errors
/// There is no such interface, or the caller has no right to it.
pub fn clear(interface: &str) -> Result<bool, NetemError> {
    let index = index_of(interface)?;
    let name = device_name(index);
    let Ok(device) = if_nametoindex(name.as_str()) else {
        return Ok(false);
    };
    let mut talk = Connection::here(Protocol::Route)
        .map_err(|error| NetemError::of("open a netlink socket", error))?;
    let removed = remove(&mut talk, index, device, true);
    removed.map_err(|error| NetemError::of(format!("remove the device {name}"), error))?;
    Ok(true)
}

/// Tries the parts that [`apply`] needs, in a network namespace made for it; the kernel loads
/// modules by itself if it may.
///
/// # Errors
/// A part is missing: the error names its module. Or the caller may not make a network namespace.
pub fn probe() -> Result<(), NetemError> {
    let tried = thread::spawn(|| {
        let apart = unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        apart.map_err(|error| NetemError::of("make a network namespace to try netem in", error))?;
        apply("lo", Span::from_milliseconds(1), Probability::ALWAYS, 1).map(drop)
    });
    tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// An impaired interface; dropping it removes the impairment, with its frames in flight.
#[derive(Debug)]
pub struct Guard {
    talk: Connection,
    interface: String,
    index: u32,
    device: u32,
    redirects: bool,
    seed: u64,
    _receive_offload: ReceiveOffload,
}

impl Guard {
    /// The interface that is impaired.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Changes the impairment from now on. Frames in flight keep their times.
    ///
    /// # Errors
    /// The kernel refuses it; the former impairment stays in effect.
    pub fn change(&mut self, delay: Span, loss: Probability) -> Result<(), NetemError> {
        kernel::impair(&mut self.talk, self.device, delay, loss, self.seed)
    }

    fn raise(&mut self, delay: Span, loss: Probability) -> Result<(), NetemError> {
        kernel::up(&mut self.talk, self.device).map_err(|error| {
            NetemError::of(format!("set the device {} up", device_name(self.index)), error)
        })?;
        self.change(delay, loss)?;
        match kernel::add_ingress(&mut self.talk, self.index) {
            Err(error) if error_number(&error) == Some(libc::EEXIST) => {
                let what = "another ingress or clsact queueing discipline".to_owned();
                let remedy = format!("tc qdisc del dev {} ingress", shell_word(&self.interface));
                return Err(NetemError::Taken { interface: self.interface.clone(), what, remedy });
            }
            other => other.map_err(|error| kernel::ingress_error(&self.interface, error))?,
        }
        self.redirects = true;
        kernel::redirect(&mut self.talk, self.index, self.device)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A device that is gone already, with its namespace or because a user removed it, need not
        // be removed.
        let _ = remove(&mut self.talk, self.index, self.device, self.redirects);
    }
}

fn remove(talk: &mut Connection, interface: u32, device: u32, redirects: bool) -> io::Result<()> {
    if redirects && kernel::has_ingress(talk, interface)? {
        kernel::delete_ingress(talk, interface)?;
    }
    kernel::delete_link(talk, device)
}

fn add_device(talk: &mut Connection, interface: &str, index: u32) -> Result<u32, NetemError> {
    let name = device_name(index);
    match kernel::add_ifb(talk, &name) {
        Err(error) if error_number(&error) == Some(libc::EEXIST) => {
            let remedy =
                format!("ip link del {name}; tc qdisc del dev {} ingress", shell_word(interface));
            return Err(NetemError::Taken {
                interface: interface.to_owned(),
                what: format!("the device {name}"),
                remedy,
            });
        }
        other => other.map_err(|error| kernel::ifb_error(&name, error))?,
    }
    index_of(&name)
}

/// At most 15 characters: the kernel's numbers have up to 8 digits in practice, and a longer name
/// is refused.
fn device_name(interface: u32) -> String {
    format!("btu-ifb{interface}")
}

fn index_of(interface: &str) -> Result<u32, NetemError> {
    if_nametoindex(interface)
        .map_err(|error| NetemError::Interface { name: interface.to_owned(), source: error.into() })
}
