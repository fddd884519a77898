//! Requests to the kernel: the device, netem, the filter that redirects.
//!
//! Source: `linux/rtnetlink.h` (`struct ifinfomsg`, `struct tcmsg`), `linux/if_link.h`,
//! `linux/pkt_sched.h`, `linux/pkt_cls.h`, `linux/tc_act/tc_mirred.h`.

use std::io;

use btu_units::{Probability, Span};

use super::error::{KernelFeature, NetemError};
use crate::netlink::flags::{CREATE, EXCLUSIVE, REPLACE};
use crate::netlink::{Attributes, Connection, link_message, link_settings, u32_at};

const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const NEW_QDISC: u16 = 36;
const DEL_QDISC: u16 = 37;
const GET_QDISC: u16 = 38;
const NEW_FILTER: u16 = 44;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;

/// The kernel's `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// The handle of the device's netem.
const NETEM_HANDLE: u32 = 0x10_0000;
/// The packets that netem holds at most: more than any delay here needs.
const NETEM_LIMIT: u32 = 1_000_000;
/// `TC_H_INGRESS`, and the handle that goes with it.
const INGRESS: u32 = 0xffff_fff1;
const INGRESS_HANDLE: u32 = 0xffff_0000;

const IFB: KernelFeature =
    KernelFeature { name: "intermediate functional block device", module: "ifb" };
const NETEM: KernelFeature = KernelFeature { name: "netem", module: "sch_netem" };
const INGRESS_QDISC: KernelFeature =
    KernelFeature { name: "ingress queueing discipline", module: "sch_ingress" };
/// The kernel returns one code for both, unless it gives its reason as text.
const REDIRECT: KernelFeature = KernelFeature {
    name: "classifier matchall with action mirred",
    module: "cls_matchall act_mirred",
};

/// Makes a `struct tcmsg`.
fn traffic_message(index: u32, handle: u32, parent: u32, info: u32) -> Attributes {
    Attributes::after(&[0, index, handle, parent, info].map(u32::to_ne_bytes).concat())
}

/// Makes an IFB device; an error `EEXIST` when the name is taken.
pub(super) fn add_ifb(talk: &mut Connection, name: &str) -> io::Result<()> {
    let body = link_settings(name, "ifb", None);
    talk.tell(NEW_LINK, CREATE | EXCLUSIVE, body.bytes())
}

pub(super) fn ifb_error(name: &str, source: io::Error) -> NetemError {
    NetemError::with(IFB, format!("make the device {name}"), source)
}

/// Sets an interface up, without any IPv6 address: with one, the kernel itself would send packets
/// through the queue.
pub(super) fn up(talk: &mut Connection, index: u32) -> io::Result<()> {
    const FAMILIES: u16 = 26;
    const INET6: u16 = 10;
    const ADDRESS_MODE: u16 = 8;
    const NO_ADDRESS: u8 = 1;
    let inet6 = Attributes::new().with(ADDRESS_MODE, &[NO_ADDRESS]);
    let families = Attributes::new().with_nested(INET6, &inet6);
    // A kernel without IPv6 refuses, but sends none anyway.
    let _ =
        talk.tell(NEW_LINK, 0, link_message(index, None).with_nested(FAMILIES, &families).bytes());
    talk.tell(NEW_LINK, 0, link_message(index, Some(true)).bytes())
}

pub(super) fn delete_link(talk: &mut Connection, index: u32) -> io::Result<()> {
    talk.tell(DEL_LINK, 0, link_message(index, None).bytes())
}

/// Puts netem on a device, or changes the numbers of the one that is there.
pub(super) fn impair(
    talk: &mut Connection,
    device: u32,
    delay: Span,
    loss: Probability,
    seed: u64,
) -> Result<(), NetemError> {
    let body = traffic_message(device, NETEM_HANDLE, ROOT, 0)
        .with_text(TCA_KIND, "netem")
        .with(TCA_OPTIONS, netem(delay, loss, seed).bytes());
    let told = talk.tell(NEW_QDISC, CREATE | REPLACE, body.bytes());
    told.map_err(|error| NetemError::with(NETEM, "add queueing discipline netem", error))
}

/// netem's options. Options that are not sent keep their old value when a discipline is changed, so
/// every option is always sent.
fn netem(delay: Span, loss: Probability, seed: u64) -> Attributes {
    const LATENCY64: u16 = 10;
    const PRNG_SEED: u16 = 14;
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; the latency comes below,
    // in nanoseconds. Kernels before 6.6 ignore the seed.
    let head = [0, NETEM_LIMIT, odds(loss), 0, 0, 0].map(u32::to_ne_bytes).concat();
    Attributes::after(&head)
        .with(LATENCY64, &delay.nanoseconds().to_ne_bytes())
        .with(PRNG_SEED, &seed.to_ne_bytes())
}

/// A share as netem compares it: the event happens when a number of 32 random bits is not above it,
/// and never when it is 0. So it is one less than the share of 2^32, and at least 1 if the share is
/// not 0.
fn odds(share: Probability) -> u32 {
    let scaled = share.share() * 2f64.powi(32);
    if scaled == 0.0 { 0 } else { (scaled.round() - 1.0).max(1.0) as u32 }
}

/// Adds the ingress discipline of an interface, where incoming packets can be redirected; an error
/// `EEXIST` when it is already in use.
pub(super) fn add_ingress(talk: &mut Connection, interface: u32) -> io::Result<()> {
    let body =
        traffic_message(interface, INGRESS_HANDLE, INGRESS, 0).with_text(TCA_KIND, "ingress");
    talk.tell(NEW_QDISC, CREATE | EXCLUSIVE, body.bytes())
}

pub(super) fn ingress_error(interface: &str, source: io::Error) -> NetemError {
    NetemError::with(INGRESS_QDISC, format!("look at what comes in at {interface}"), source)
}

pub(super) fn delete_ingress(talk: &mut Connection, interface: u32) -> io::Result<()> {
    talk.tell(DEL_QDISC, 0, traffic_message(interface, INGRESS_HANDLE, INGRESS, 0).bytes())
}

/// Redirects all incoming packets of an interface through a device.
pub(super) fn redirect(
    talk: &mut Connection,
    interface: u32,
    device: u32,
) -> Result<(), NetemError> {
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

/// Whether an interface has the discipline of [`add_ingress`].
pub(super) fn has_ingress(talk: &mut Connection, interface: u32) -> io::Result<bool> {
    // struct tcmsg: family, index, handle, parent, info.
    let listed = talk.list(GET_QDISC, traffic_message(interface, 0, 0, 0).bytes())?;
    let is_it = |body: &Vec<u8>| {
        (u32_at(body, 4), u32_at(body, 8)) == (Some(interface), Some(INGRESS_HANDLE))
    };
    Ok(listed.iter().any(is_it))
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
    fn netem_looks_as_the_kernels_header_says() {
        let half = Probability::new(0.5).unwrap();
        let hex = btu_units::hexadecimal(netem(Span::from_milliseconds(1), half, 7).bytes());
        let expected = [
            // latency, limit, loss, gap, duplicate, jitter
            "0000000040420f00ffffff7f000000000000000000000000",
            // TCA_NETEM_LATENCY64
            "0c000a0040420f0000000000",
            // TCA_NETEM_PRNG_SEED
            "0c000e000700000000000000",
        ];
        if cfg!(target_endian = "little") {
            assert_eq!(hex, expected.concat());
        }
    }

    #[test]
    fn shares_are_those_of_32_random_bits() {
        assert_eq!(
            [0.0, 1e-12, 0.25, 1.0].map(|share| odds(Probability::new(share).unwrap())),
            [0, 1, (1 << 30) - 1, u32::MAX]
        );
    }
}
