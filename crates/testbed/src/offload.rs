//! Switches a network interface's offloads, so that a frame on the wire is a frame (`SIOCETHTOOL`).
//!
//! With segmentation offload on, a "frame" between two namespaces may carry 64 kB and an emulated
//! line would delay, lose or reorder it as one; with checksum offload on, frames cross a packet
//! socket with their checksums unfinished. Source: linux/ethtool.h, the single-value commands
//! (`ETHTOOL_STSO` and its siblings).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// One switch: (usual name, command that sets, command that reads), from linux/ethtool.h.
type Switch = (&'static str, u32, u32);

const GRO: Switch = ("gro", 0x2c, 0x2b);

/// In the order of switching off: segmentation needs scatter-gather, which needs transmit
/// checksums.
const SWITCHES: [Switch; 6] = [
    ("tso", 0x1f, 0x1e),
    ("gso", 0x24, 0x23),
    GRO,
    ("sg", 0x19, 0x18),
    ("tx-csum", 0x17, 0x16),
    ("rx-csum", 0x15, 0x14),
];

/// Switches tso, gso, gro, sg, tx-csum and rx-csum of `interface` on or off, in the network
/// namespace of the calling thread. Needs `CAP_NET_ADMIN` over that namespace.
///
/// Switching off is checked afterwards; switching on is best effort, because not every driver has
/// every offload.
///
/// # Errors
/// The interface does not exist, the caller has no right to it, or an offload stays on; the message
/// names interface and offload.
pub fn set_offloads(interface: &str, on: bool) -> io::Result<()> {
    let device = Device::open(interface)?;
    if on {
        SWITCHES.iter().rev().try_for_each(|switch| device.try_switch_on(switch))
    } else {
        SWITCHES.iter().try_for_each(|switch| device.switch_off(switch))
    }
}

/// Merging of received packets (GRO) on an interface is off while this value exists, in the network
/// namespace of the thread that switched it off.
#[derive(Debug)]
pub(crate) struct ReceiveOffload {
    socket: OwnedFd,
    name: String,
    was_on: bool,
}

impl ReceiveOffload {
    /// Switches it off. An interface without the operation counts as one without GRO.
    pub(crate) fn switch_off(interface: &str) -> io::Result<Self> {
        let device = Device::open(interface)?;
        let was_on = device.call(GRO.2, 0).unwrap_or(0) != 0;
        if was_on {
            device.switch_off(&GRO)?;
        }
        Ok(Self { socket: device.socket, name: interface.to_owned(), was_on })
    }
}

impl Drop for ReceiveOffload {
    fn drop(&mut self) {
        if self.was_on
            && let Ok(socket) = self.socket.try_clone()
        {
            // The interface may be gone.
            let _ = Device { socket, name: &self.name }.try_switch_on(&GRO);
        }
    }
}

/// The kernel's `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// An interface and a socket for its requests.
struct Device<'a> {
    socket: OwnedFd,
    name: &'a str,
}

impl<'a> Device<'a> {
    #[allow(unsafe_code)]
    fn open(name: &'a str) -> io::Result<Self> {
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.bytes().any(|byte| byte == 0) {
            let why = format!("`{name}` cannot be an interface name: it must have 1 to 15 bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // SAFETY: a plain system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and has no other owner.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) }, name })
    }

    fn switch_off(&self, &(what, set, read): &Switch) -> io::Result<()> {
        let refused = self.call(set, 0).err();
        match self.call(read, 0) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.explain(
                what,
                "off",
                &refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()),
            )),
            Err(error) => Err(self.explain(what, "off", &refused.unwrap_or(error))),
        }
    }

    fn try_switch_on(&self, &(what, set, _): &Switch) -> io::Result<()> {
        match self.call(set, 1) {
            Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => {
                Err(self.explain(what, "on", &error))
            }
            _ => Ok(()),
        }
    }

    fn explain(&self, what: &str, state: &str, error: &io::Error) -> io::Error {
        let why = format!("switching {what} {state} on interface {}: {error}", self.name);
        io::Error::new(error.kind(), why)
    }

    /// One `SIOCETHTOOL` call; returns the value's data afterwards.
    #[allow(unsafe_code)]
    fn call(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = Value { command, data };
        // SAFETY: all-zero is a valid `ifreq`: integers, byte arrays and null pointers.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: `request` and the value it points to live across the call, which writes at most
        // one `Value`.
        let done = unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_interface_is_named_in_the_error() {
        let error = set_offloads("nowhere0", false).unwrap_err().to_string();
        assert!(error.contains("nowhere0") && error.contains("tso"), "{error}");
    }

    #[test]
    fn a_name_that_cannot_be_is_refused() {
        for name in ["", "a-name-that-is-too-long", "nul\0"] {
            assert_eq!(set_offloads(name, false).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
