//! Requests to the kernel: devices, queueing disciplines, the filter that redirects.
//!
//! Source: `linux/rtnetlink.h` (`struct ifinfomsg`, `struct tcmsg`), `linux/if_link.h`,
//! `linux/pkt_cls.h`, `linux/tc_act/tc_mirred.h`.

use std::io;

use super::attributes::{Attributes, u32_at};
use super::error::{KernelFeature, NetemError};
use super::qdisc::Qdisc;
use super::talk::{
    CREATE, DEL_LINK, DEL_QDISC, EXCLUSIVE, GET_QDISC, NEW_FILTER, NEW_LINK, NEW_QDISC, REPLACE,
    Talk,
};
use super::tree::Tree;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;

/// The kernel's `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// `TC_H_INGRESS`, and the handle that goes with it.
const INGRESS: u32 = 0xffff_fff1;
const INGRESS_HANDLE: u32 = 0xffff_0000;

const IFB: KernelFeature =
    KernelFeature { name: "intermediate functional block device", module: "ifb" };
const INGRESS_QDISC: KernelFeature =
    KernelFeature { name: "ingress queueing discipline", module: "sch_ingress" };
/// The kernel returns one code for both, unless it gives its reason as text.
const REDIRECT: KernelFeature = KernelFeature {
    name: "classifier matchall with action mirred",
    module: "cls_matchall act_mirred",
};

/// Makes a `struct ifinfomsg`.
fn link_message(index: u32, flags: u32) -> Attributes {
    const UP: u32 = 1;
    Attributes::after(
        &[[0; 4], index.to_ne_bytes(), flags.to_ne_bytes(), (flags & UP).to_ne_bytes()].concat(),
    )
}

/// Makes a `struct tcmsg`.
fn traffic_message(index: u32, handle: u32, parent: u32, info: u32) -> Attributes {
    Attributes::after(&[0, index, handle, parent, info].map(u32::to_ne_bytes).concat())
}

/// Makes an IFB device; an error `EEXIST` when the name is taken.
pub(super) fn add_ifb(talk: &mut Talk, name: &str) -> io::Result<()> {
    const NAME: u16 = 3;
    const INFO: u16 = 18;
    const INFO_KIND: u16 = 1;
    let info = Attributes::new().with_text(INFO_KIND, "ifb");
    let body = link_message(0, 0).with_text(NAME, name).with_nested(INFO, &info);
    talk.tell(NEW_LINK, CREATE | EXCLUSIVE, body.bytes())
}

pub(super) fn ifb_error(name: &str, source: io::Error) -> NetemError {
    NetemError::with(IFB, format!("make the device {name}"), source)
}

/// Sets an interface up, without any IPv6 address: with one, the kernel itself would send packets
/// through the queue.
pub(super) fn up(talk: &mut Talk, index: u32) -> io::Result<()> {
    const FAMILIES: u16 = 26;
    const INET6: u16 = 10;
    const ADDRESS_MODE: u16 = 8;
    const NO_ADDRESS: u8 = 1;
    let inet6 = Attributes::new().with(ADDRESS_MODE, &[NO_ADDRESS]);
    let families = Attributes::new().with_nested(INET6, &inet6);
    // A kernel without IPv6 refuses, but sends none anyway.
    let _ = talk.tell(NEW_LINK, 0, link_message(index, 0).with_nested(FAMILIES, &families).bytes());
    talk.tell(NEW_LINK, 0, link_message(index, 1).bytes())
}

pub(super) fn delete_link(talk: &mut Talk, index: u32) -> io::Result<()> {
    talk.tell(DEL_LINK, 0, link_message(index, 0).bytes())
}

/// Puts a chain of disciplines on a device, or changes the options of one with equal shape and
/// handles. Handles are `base` and the numbers after it.
pub(super) fn put(talk: &mut Talk, device: u32, base: u16, tree: &Tree) -> Result<(), NetemError> {
    let mut parent = ROOT;
    for (place, (_, qdisc)) in (0u16..).zip(&tree.chain) {
        let handle = handle(base, place);
        let sizes = tree.sizes.as_ref().filter(|_| place == 0);
        put_one(talk, device, handle, parent, qdisc, sizes).map_err(|error| {
            NetemError::with(
                qdisc.part(),
                format!("add queueing discipline {}", qdisc.kind()),
                error,
            )
        })?;
        // The first and only class.
        parent = handle + 1;
    }
    Ok(())
}

/// The handle of a chain's discipline at a place.
pub(super) fn handle(base: u16, place: u16) -> u32 {
    u32::from(base + place) << 16
}

fn put_one(
    talk: &mut Talk,
    device: u32,
    handle: u32,
    parent: u32,
    qdisc: &Qdisc,
    sizes: Option<&Attributes>,
) -> io::Result<()> {
    let mut body = traffic_message(device, handle, parent, 0)
        .with_text(TCA_KIND, qdisc.kind())
        .with(TCA_OPTIONS, qdisc.options().bytes());
    if let Some(sizes) = sizes {
        body = body.with_nested(TCA_STAB, sizes);
    }
    talk.tell(NEW_QDISC, CREATE | REPLACE, body.bytes())
}

/// Adds the ingress discipline of an interface, where incoming packets can be redirected; an error
/// `EEXIST` when it is already in use.
pub(super) fn add_ingress(talk: &mut Talk, interface: u32) -> io::Result<()> {
    let body =
        traffic_message(interface, INGRESS_HANDLE, INGRESS, 0).with_text(TCA_KIND, "ingress");
    talk.tell(NEW_QDISC, CREATE | EXCLUSIVE, body.bytes())
}

pub(super) fn ingress_error(interface: &str, source: io::Error) -> NetemError {
    NetemError::with(INGRESS_QDISC, format!("look at what comes in at {interface}"), source)
}

pub(super) fn delete_ingress(talk: &mut Talk, interface: u32) -> io::Result<()> {
    talk.tell(DEL_QDISC, 0, traffic_message(interface, INGRESS_HANDLE, INGRESS, 0).bytes())
}

/// Redirects all incoming packets of an interface through a device.
pub(super) fn redirect(talk: &mut Talk, interface: u32, device: u32) -> Result<(), NetemError> {
    let operation = "redirect what comes in";
    let told = talk.tell(NEW_FILTER, CREATE | EXCLUSIVE, redirection(interface, device).bytes());
    told.map_err(|error| NetemError::with(REDIRECT, operation, error))
}

fn redirection(interface: u32, device: u32) -> Attributes {
    const MATCHALL_ACTIONS: u16 = 2;
    const ACTION_KIND: u16 = 1;
    const ACTION_OPTIONS: u16 = 2;
    const MIRRED_PARMS: u16 = 2;
    const STOLEN: u32 = 4;
    const REDIRECT_TO_EGRESS: u32 = 1;
    const FIRST_PRIORITY: u32 = 1 << 16;
    const EVERY_PROTOCOL: u16 = 3;
    // struct tc_mirred: index, capab, action, refcnt, bindcnt, eaction, ifindex.
    let parms = [0, 0, STOLEN, 0, 0, REDIRECT_TO_EGRESS, device].map(u32::to_ne_bytes).concat();
    let mirred = Attributes::new().with(MIRRED_PARMS, &parms);
    let action =
        Attributes::new().with_text(ACTION_KIND, "mirred").with_nested(ACTION_OPTIONS, &mirred);
    let actions = Attributes::new().with_nested(1, &action);
    let options = Attributes::new().with_nested(MATCHALL_ACTIONS, &actions);
    let info = FIRST_PRIORITY | u32::from(EVERY_PROTOCOL.to_be());
    traffic_message(interface, 0, INGRESS_HANDLE, info)
        .with_text(TCA_KIND, "matchall")
        .with_nested(TCA_OPTIONS, &options)
}

/// A discipline as the kernel lists it: its handle and its attributes.
pub(super) struct Listed {
    pub(super) handle: u32,
    pub(super) attributes: Vec<u8>,
}

/// The disciplines of an interface.
pub(super) fn disciplines(talk: &mut Talk, interface: u32) -> io::Result<Vec<Listed>> {
    const MESSAGE: usize = 20;
    let answers = talk.list(GET_QDISC, traffic_message(interface, 0, 0, 0).bytes())?;
    let ours = answers.iter().filter(|body| u32_at(body, 4) == Some(interface));
    Ok(ours
        .filter_map(|body| {
            Some(Listed { handle: u32_at(body, 8)?, attributes: body.get(MESSAGE..)?.to_vec() })
        })
        .collect())
}

/// Whether a listed discipline is the one of [`add_ingress`].
pub(super) fn is_ingress(listed: &Listed) -> bool {
    listed.handle == INGRESS_HANDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redirection_looks_as_the_kernels_headers_say() {
        let hex = btu_units::hexadecimal(redirection(2, 3).bytes());
        let expected = [
            // struct tcmsg: family, index, handle, parent ffff:, priority 1 and protocol ETH_P_ALL
            "0000000002000000000000000000ffff00030100",
            // TCA_KIND
            "0d0001006d61746368616c6c00000000",
            // TCA_OPTIONS > TCA_MATCHALL_ACT > 1 > TCA_ACT_KIND
            "3c000200380002003400010",
            "00b0001006d697272656400",
            "00",
            // TCA_ACT_OPTIONS > TCA_MIRRED_PARMS
            "2400020020000200",
            // struct tc_mirred
            "00000000000000000400000000000000000000000100000003000000",
        ];
        if cfg!(target_endian = "little") {
            assert_eq!(hex, expected.concat());
        }
    }

    #[test]
    fn handles_count_up_in_the_upper_half() {
        assert_eq!([0, 1].map(|place| handle(0x10, place)), [0x0010_0000, 0x0011_0000]);
    }
}
