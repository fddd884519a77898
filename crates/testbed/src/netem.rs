//! The impairments of one direction of a line in the kernel: netem on an IFB device.
//!
//! [`apply`] redirects incoming packets of an interface through a separate device (`btu-ifb` and
//! the interface's number), after which they continue as if they had just come in. Nothing runs in
//! user space, so it also works for real hosts; no `tc` is needed. An impairment that the kernel
//! cannot do as the network file means it is an error; `docs/netem.md` lists the small deviations
//! for each part of [`Direction`].
//!
//! The rules are in the kernel and remain after a process is killed: [`clear`] removes them.

mod accounts;
mod attributes;
mod delays;
mod error;
mod kernel;
mod line;
mod probe;
mod qdisc;
mod red;
mod sizes;
mod talk;
mod tree;

use std::io;

use btu_network::Direction;
use btu_units::shell_word;
use nix::net::if_::if_nametoindex;

pub use accounts::ImpairmentAccounts;
pub use error::NetemError;
pub use probe::{Support, probe};

use crate::offload::ReceiveOffload;
use kernel::{
    add_ifb, add_ingress, delete_ingress, delete_link, disciplines, ifb_error, ingress_error,
    is_ingress,
};
use talk::{Talk, error_number};
use tree::Tree;

/// Handles of the first chain; a chain of another shape gets the other number, and so on
/// alternately.
const HANDLES: [u16; 2] = [0x10, 0x20];

/// Impairs all incoming packets of `interface`, in the network namespace of the calling thread,
/// until the guard is dropped. Needs `CAP_NET_ADMIN` over that namespace.
///
/// Merging of received packets (GRO) is switched off meanwhile, so that a frame is a frame. `seed`
/// makes the random numbers repeatable on kernels that can be seeded ([`Support::seeded`]).
///
/// # Errors
/// There is no such interface, its incoming packets are redirected already, the kernel lacks a part
/// or cannot do the impairment, or the caller has no right to it. Nothing is left behind then.
pub fn apply(interface: &str, direction: &Direction, seed: u64) -> Result<Guard, NetemError> {
    let tree = Tree::of(direction, seed)?;
    let index = index_of(interface)?;
    let mut talk = Talk::here().map_err(|error| NetemError::of("open a netlink socket", error))?;
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
        base: HANDLES[0],
        tree,
        seed,
        _receive_offload: receive_offload,
    };
    guard.raise()?;
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
    let mut talk = Talk::here().map_err(|error| NetemError::of("open a netlink socket", error))?;
    let removed = remove(&mut talk, index, device, true);
    removed.map_err(|error| NetemError::of(format!("remove the device {name}"), error))?;
    Ok(true)
}

/// An impaired interface; dropping it removes the impairment, with its frames in flight.
#[derive(Debug)]
pub struct Guard {
    talk: Talk,
    interface: String,
    index: u32,
    device: u32,
    redirects: bool,
    base: u16,
    tree: Tree,
    seed: u64,
    _receive_offload: ReceiveOffload,
}

impl Guard {
    /// The interface that is impaired.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Changes the impairment from now on. Frames in flight keep their times if the new direction
    /// needs the existing chain of queueing disciplines; rate, delay, loss and damage always do.
    /// For another kind of queue, duplicates, or reordering with ordered jitter the chain is
    /// replaced, and frames in flight are dropped.
    ///
    /// # Errors
    /// The kernel lacks a part, or cannot do the impairment; the former one stays in effect.
    pub fn change(&mut self, direction: &Direction) -> Result<(), NetemError> {
        let tree = Tree::of(direction, self.seed)?;
        let base = if self.tree.has_shape_of(&tree) {
            self.base
        } else {
            HANDLES[usize::from(self.base == HANDLES[0])]
        };
        kernel::put(&mut self.talk, self.device, base, &tree)?;
        (self.base, self.tree) = (base, tree);
        Ok(())
    }

    /// The accounts of the frames; after a change to another chain, since then.
    ///
    /// # Errors
    /// The kernel does not answer, for example because another process removed the device.
    pub fn accounts(&mut self) -> Result<ImpairmentAccounts, NetemError> {
        let of = |talk: &mut Talk, index| {
            disciplines(talk, index)
                .map_err(|error| NetemError::of("read the kernel's counters", error))
        };
        let interface = of(&mut self.talk, self.index)?;
        let device = of(&mut self.talk, self.device)?;
        Ok(ImpairmentAccounts::read(&interface, &device, self.base, &self.tree))
    }

    fn raise(&mut self) -> Result<(), NetemError> {
        kernel::up(&mut self.talk, self.device).map_err(|error| {
            NetemError::of(format!("set the device {} up", device_name(self.index)), error)
        })?;
        kernel::put(&mut self.talk, self.device, self.base, &self.tree)?;
        match add_ingress(&mut self.talk, self.index) {
            Err(error) if error_number(&error) == Some(libc::EEXIST) => {
                let what = "another ingress or clsact queueing discipline".to_owned();
                let remedy = format!("tc qdisc del dev {} ingress", shell_word(&self.interface));
                return Err(NetemError::Taken { interface: self.interface.clone(), what, remedy });
            }
            other => other.map_err(|error| ingress_error(&self.interface, error))?,
        }
        self.redirects = true;
        kernel::redirect(&mut self.talk, self.index, self.device)
    }

    /// The attributes of the chain's disciplines, as the kernel has them.
    fn options(&mut self) -> io::Result<Vec<Vec<u8>>> {
        const TCA_OPTIONS: u16 = 2;
        let listed = disciplines(&mut self.talk, self.device)?;
        let options =
            listed.iter().filter_map(|listed| attributes::find(&listed.attributes, TCA_OPTIONS));
        Ok(options.map(<[u8]>::to_vec).collect())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A device that is gone already, with its namespace or because a user removed it, need not
        // be removed.
        let _ = remove(&mut self.talk, self.index, self.device, self.redirects);
    }
}

fn remove(talk: &mut Talk, interface: u32, device: u32, redirects: bool) -> io::Result<()> {
    if redirects && disciplines(talk, interface)?.iter().any(is_ingress) {
        delete_ingress(talk, interface)?;
    }
    delete_link(talk, device)
}

fn add_device(talk: &mut Talk, interface: &str, index: u32) -> Result<u32, NetemError> {
    let name = device_name(index);
    match add_ifb(talk, &name) {
        Err(error) if error_number(&error) == Some(libc::EEXIST) => {
            let remedy =
                format!("ip link del {name}; tc qdisc del dev {} ingress", shell_word(interface));
            return Err(NetemError::Taken {
                interface: interface.to_owned(),
                what: format!("the device {name}"),
                remedy,
            });
        }
        other => other.map_err(|error| ifb_error(&name, error))?,
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
