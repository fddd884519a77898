//! Everything that the kernel's netem and the disciplines next to it can do for a [`Direction`]:
//! what the medium's elements are compared with. btu itself uses delay and loss alone.
//!
//! [`apply`] makes the device and the redirection; here its netem is replaced by a chain of
//! disciplines.
//!
//! | a direction has | the kernel does | difference |
//! |---|---|---|
//! | rate | netem's rate, which computes each frame's time in nanoseconds | the rate is rounded to whole octets per second, and each frame's time is cut to whole nanoseconds (0.1 % at 1 Gb/s) |
//! | framing | a size table with an entry for each length of frame | none up to 16 KiB |
//! | queue in frames | netem's limit, without the frame in transmission | none without jitter and reordering; with them, none for full frames |
//! | queue in octets | token bucket and bfifo | octets count with the framing of full frames; after a pause a frame leaves up to one full frame's time early |
//! | `CoDel`, `FQ-CoDel`, RED | the kernel's, behind a token bucket | as above; `CoDel`'s limit is in full frames; RED's weight is a power of 1/2; frames are not marked |
//! | delay | netem's | none; the gap after a frame is subtracted, because the frame has arrived when the gap begins |
//! | jitter | tables made for these shapes, 16,384 equally likely values | Pareto's deviation is 2 % low: no table holds its tail |
//! | jitter that keeps the order | netem with an unlimited rate | none |
//! | loss, Gilbert-Elliott | netem's, same letters | before a token bucket, lost frames take no time on the line |
//! | corrupt | netem's: one bit, anywhere in the frame | none |
//! | duplicate | netem's, before a token bucket | each copy takes its own time on the line, has its own jitter, and is lost independently |
//! | reorder | a share of frames held back for as long as `depth` + 1/2 full frames take | `depth` frames overtake on a busy line of full frames; more if frames are short, none if none arrive |
//!
//! It has no MTU, no rate that follows a trace, and no correlated jitter: netem correlates 32-bit
//! numbers and then takes them modulo the table's size, which destroys the correlation.

mod accounts;
mod delays;
mod line;
mod qdisc;
mod red;
mod sizes;
mod tree;

use btu_network::Direction;
use btu_testbed::netem::{Guard, apply};
use btu_testbed::netlink::{Attributes, Connection, Protocol, find, flags, u32_at};
use btu_units::{Probability, Span};
use nix::net::if_::if_nametoindex;

use crate::Scenario;
pub(crate) use accounts::ImpairmentAccounts;
use qdisc::Qdisc;
use tree::Tree;

/// What of the driver needs no kernel.
pub(crate) fn scenarios() -> impl Iterator<Item = &'static Scenario> {
    tree::SCENARIOS.iter().chain(sizes::SCENARIOS).chain(delays::SCENARIOS).chain(red::SCENARIOS)
}

/// An interface whose incoming frames pass a chain of disciplines.
pub(crate) struct Impaired {
    // Dropped last it removes the device with its disciplines.
    _guard: Guard,
    talk: Connection,
    interface: u32,
    device: u32,
    tree: Tree,
}

impl Impaired {
    pub(crate) fn new(interface: &str, direction: &Direction, seed: u64) -> Self {
        let tree = Tree::of(direction, seed);
        let guard = apply(interface, Span::ZERO, Probability::NEVER, seed).unwrap();
        let device = device_of(interface);
        let mut talk = Connection::here(Protocol::Route).unwrap();
        put(&mut talk, device, &tree);
        Self { _guard: guard, talk, interface: if_nametoindex(interface).unwrap(), device, tree }
    }

    /// The accounts of the frames since it was made.
    pub(crate) fn accounts(&mut self) -> ImpairmentAccounts {
        let interface = disciplines(&mut self.talk, self.interface);
        let device = disciplines(&mut self.talk, self.device);
        ImpairmentAccounts::read(&interface, &device, &self.tree)
    }
}

/// Whether the impairment of an interface has its seed: the kernel shows what it uses (Linux 6.6
/// on).
pub(crate) fn is_seeded(interface: &str) -> bool {
    const TCA_OPTIONS: u16 = 2;
    const QOPT: usize = 24;
    const PRNG_SEED: u16 = 14;
    let mut talk = Connection::here(Protocol::Route).unwrap();
    disciplines(&mut talk, device_of(interface)).iter().any(|listed| {
        let options = find(&listed.attributes, TCA_OPTIONS).and_then(|options| options.get(QOPT..));
        options.is_some_and(|list| find(list, PRNG_SEED).is_some())
    })
}

fn device_of(interface: &str) -> u32 {
    let index = if_nametoindex(interface).unwrap();
    if_nametoindex(format!("btu-ifb{index}").as_str()).unwrap()
}

/// Puts a chain of disciplines on a device in the place of its netem.
fn put(talk: &mut Connection, device: u32, tree: &Tree) {
    const ROOT: u32 = 0xffff_ffff;
    let mut parent = ROOT;
    for (place, (_, qdisc)) in (0u16..).zip(&tree.chain) {
        let handle = handle(place);
        let sizes = tree.sizes.as_ref().filter(|_| place == 0);
        put_one(talk, [device, handle, parent], qdisc, sizes);
        // The first and only class.
        parent = handle + 1;
    }
}

fn put_one(talk: &mut Connection, place: [u32; 3], qdisc: &Qdisc, sizes: Option<&Attributes>) {
    const NEW_QDISC: u16 = 36;
    const TCA_KIND: u16 = 1;
    const TCA_OPTIONS: u16 = 2;
    const TCA_STAB: u16 = 8;
    let mut body = traffic_message(place)
        .with_text(TCA_KIND, qdisc.kind())
        .with(TCA_OPTIONS, qdisc.options().bytes());
    if let Some(sizes) = sizes {
        body = body.with_nested(TCA_STAB, sizes);
    }
    let told = talk.tell(NEW_QDISC, flags::CREATE | flags::REPLACE, body.bytes());
    told.unwrap_or_else(|error| panic!("add queueing discipline {}: {error}", qdisc.kind()));
}

/// The handle of a chain's discipline at a place; another one than that of btu's netem.
fn handle(place: u16) -> u32 {
    u32::from(0x20 + place) << 16
}

/// A discipline as the kernel lists it: its handle and its attributes.
struct Listed {
    handle: u32,
    attributes: Vec<u8>,
}

/// The disciplines of an interface.
fn disciplines(talk: &mut Connection, interface: u32) -> Vec<Listed> {
    const GET_QDISC: u16 = 38;
    const MESSAGE: usize = 20;
    let answers = talk.list(GET_QDISC, traffic_message([interface, 0, 0]).bytes()).unwrap();
    let own = answers.iter().filter(|body| u32_at(body, 4) == Some(interface));
    own.filter_map(|body| {
        Some(Listed { handle: u32_at(body, 8)?, attributes: body.get(MESSAGE..)?.to_vec() })
    })
    .collect()
}

/// Makes a `struct tcmsg`: interface, handle, parent.
fn traffic_message([index, handle, parent]: [u32; 3]) -> Attributes {
    Attributes::after(&[0, index, handle, parent, 0].map(u32::to_ne_bytes).concat())
}
