//! Checks whether an order is allowed, by the needs of its activity. Every order is checked before
//! a worker is made.

use std::net::SocketAddr;
use std::path::Path;

use btu_contract::activity::Order;
use btu_contract::bounds::{BoundedOrder, Bounds};
use btu_contract::needs::{Files, Needs, Rate, VolumeLimit};
use btu_contract::peers::{Cidr, Peers, is_one_host, loopback};
use btu_contract::room::Room;
use btu_units::{BitRate, Bytes};

use super::super::budget::{Demand, WORDS};
use super::super::caller::{Caller, Who};
use super::{Forbidden, Policy, UNCHANGEABLE};

impl Policy {
    /// The order in its local form. The paths of this machine's own user are not checked. The
    /// directory of any other caller is replaced by the policy's, and `source` is the only file
    /// that may be named.
    pub(crate) fn admit(
        &self,
        mut order: Order,
        caller: &Caller,
        source: Option<&Path>,
    ) -> Result<BoundedOrder, Forbidden> {
        let kind = order.activity.kind();
        self.check_kind(kind)?;
        if order.deadline > self.duration.value {
            let what = format!(
                "{kind} for up to {} is longer than {}",
                order.deadline, self.duration.value
            );
            return Err(self.forbids(what, "limits.duration", &self.duration));
        }
        let (needs, peers) = (order.activity.needs(), self.peers(caller));
        self.check_rate(kind, &needs)?;
        self.check_volume(kind, &needs)?;
        if let Some(peer) = needs.peer {
            self.check_peer(peer, &peers)?;
        }
        if !caller.is_local() {
            self.check_program(kind, &needs)?;
            self.check_files(kind, &needs, (caller, source))?;
            if let Some(directory) = order.activity.scratch_directory() {
                directory.clone_from(&self.scratch_directory.value);
            }
        }
        let Room { memory, open_files } = order.activity.room();
        let bounds = Bounds {
            callers: Peers::within(peers),
            file: Some(self.scratch_bytes.value),
            memory: Some(memory),
            open_files: Some(open_files),
        };
        Ok(BoundedOrder { order, bounds })
    }

    /// Whether activities of this kind are allowed.
    pub(crate) fn check_kind(&self, kind: &str) -> Result<(), Forbidden> {
        if self.allows(kind) {
            return Ok(());
        }
        let what = format!("activity {kind} is not one of {}", self.activities.value.join(", "));
        Err(self.forbids(what, "activities", &self.activities))
    }

    /// The peers with which this caller's activities may exchange data. By default that is also the
    /// caller itself, where it comes from, and this machine's loopback network if the caller has
    /// that anyway.
    fn peers(&self, caller: &Caller) -> Vec<Cidr> {
        let mut peers = self.peers.value.clone();
        if self.peers.line.is_none() {
            peers.extend(caller.connection.map(|connection| Cidr::host(connection.remote)));
            if caller.has_loopback() {
                peers.extend(loopback());
            }
        }
        peers
    }

    fn check_rate(&self, kind: &str, needs: &Needs<'_>) -> Result<(), Forbidden> {
        match (needs.rate, self.rate.value) {
            (Rate::Unpaced, Some(most)) => {
                let what = format!("{kind} has no rate that could be held to {most}");
                Err(self.forbids(what, "limits.rate", &self.rate))
            }
            // The sum of paced rates is checked with the other current work.
            (Rate::Silent | Rate::Paced(_), _) | (Rate::Unpaced, None) => Ok(()),
        }
    }

    fn check_volume(&self, kind: &str, needs: &Needs<'_>) -> Result<(), Forbidden> {
        match (needs.volume, self.bytes.value) {
            (VolumeLimit::Unbounded, Some(most)) => {
                let what = format!("{kind} has no volume that could be held to {most}");
                Err(self.forbids(what, "limits.bytes", &self.bytes))
            }
            (VolumeLimit::Fixed(_) | VolumeLimit::PeersOwn, _) | (VolumeLimit::Unbounded, None) => {
                Ok(())
            }
        }
    }

    /// Whether an activity may connect to an address.
    fn check_peer(&self, peer: SocketAddr, peers: &[Cidr]) -> Result<(), Forbidden> {
        let address = peer.ip();
        if !is_one_host(address) {
            return Err(self.forbids(
                format!("{peer} is not the address of one host"),
                "peers",
                &self.peers,
            ));
        }
        if peers.iter().any(|network| network.holds(address)) {
            return Ok(());
        }
        let networks: Vec<String> = peers.iter().map(ToString::to_string).collect();
        let what = format!("peer {address} is in none of {}", networks.join(", "));
        Err(self.forbids(what, "peers", &self.peers))
    }

    /// Whether a session, and all sessions together, may have these sums. A session may have its
    /// share of what all may: one part of as many as there may be runs at once.
    pub(crate) fn check_sums(
        &self,
        kind: &str,
        session: Demand,
        all: Demand,
    ) -> Result<(), Forbidden> {
        let runs = self.runs_at_once.value as u128;
        for limit in self.limits() {
            let Some(most) = limit.most.map(u128::from) else { continue };
            let (own, all, share) =
                ((limit.part)(&session), (limit.part)(&all), most.div_ceil(runs));
            let (who, sum, most) = match (own > share, all > most) {
                (true, _) => ("its session", own, share),
                (false, true) => ("this host", all, most),
                (false, false) => continue,
            };
            let (verb, object) = limit.sum;
            let (sum, most) = ((limit.amount)(sum), (limit.amount)(most));
            let what = format!("{kind}: {who} would {verb} {sum} {object}, and {most} is the most");
            return Err(Forbidden { what, place: limit.place });
        }
        Ok(())
    }

    fn check_files(
        &self,
        kind: &str,
        needs: &Needs<'_>,
        (caller, source): (&Caller, Option<&Path>),
    ) -> Result<(), Forbidden> {
        let what = match needs.files {
            Files::None | Files::Scratch { source: None } => return Ok(()),
            Files::Scratch { source: wanted } if wanted == source => return Ok(()),
            Files::Scratch { source: Some(_) } => {
                "the disk activity's source is not the file that this agent made for the session"
            }
            Files::Share(directory) => return self.check_share(kind, directory, caller),
            Files::OfThisMachine(why) => why,
        };
        Err(Forbidden { what: what.to_owned(), place: UNCHANGEABLE.to_owned() })
    }

    /// Whether a directory is one of the shares that are named. If no file names the shares, the
    /// user who started this agent may use any directory: the agent is that user's own.
    fn check_share(&self, kind: &str, directory: &Path, caller: &Caller) -> Result<(), Forbidden> {
        let shares = &self.share_directories;
        let is_starters_own = shares.line.is_none() && caller.who == Who::Starter;
        if is_starters_own || shares.value.iter().any(|share| share == directory) {
            return Ok(());
        }
        let named: Vec<String> =
            shares.value.iter().map(|share| share.display().to_string()).collect();
        let named = if named.is_empty() {
            "none is named".to_owned()
        } else {
            format!("{} are named", named.join(", "))
        };
        let what = format!(
            "{kind} in {} is in no share of this host, of which {named}",
            directory.display()
        );
        Err(self.forbids(what, "share.directories", shares))
    }

    /// Whether the program of this host's system that copies is one that is named.
    fn check_program(&self, kind: &str, needs: &Needs<'_>) -> Result<(), Forbidden> {
        let Some(program) = needs.program else { return Ok(()) };
        let programs = &self.copy_programs;
        if programs.value.contains(&program) {
            return Ok(());
        }
        let named: Vec<String> = programs.value.iter().map(ToString::to_string).collect();
        let named = match named.as_slice() {
            [] => "none is named".to_owned(),
            [one] => format!("{one} is named"),
            _ => format!("{} are named", named.join(", ")),
        };
        let what =
            format!("{kind} by {program}, a program of this host's system, of which {named}");
        Err(self.forbids(what, "copy.programs", programs))
    }

    /// The limits of sums.
    fn limits(&self) -> [SumLimit; 7] {
        let number = |count: u128| count.to_string();
        let bytes = |value| Bytes::new(small(value)).to_string();
        let rate = |value| BitRate::from_bits_per_second(small(value)).to_string();
        let place = |name, line: Option<usize>| self.place(name, line);
        let limit = |place, most, part: fn(&Demand) -> u128, amount: fn(u128) -> String, sum| {
            SumLimit { place, most, part, amount, sum }
        };
        let (workers, open_files) = (Some(self.workers.value), Some(self.open_files.value));
        let (volume, offered) =
            (self.bytes.value.map(Bytes::count), self.rate.value.map(BitRate::bits_per_second));
        let (scratch, memory) =
            (Some(self.scratch_bytes.value.count()), Some(self.memory.value.count()));
        let places = [
            place("limits.workers", self.workers.line),
            place("limits.rate", self.rate.line),
            place("limits.bytes", self.bytes.line),
            place("scratch.bytes", self.scratch_bytes.line),
            place("limits.memory", self.memory.line),
            place("limits.open_files", self.open_files.line),
        ];
        let [of_workers, of_rate, of_bytes, of_scratch, of_memory, of_files] = places;
        let of_words = UNCHANGEABLE.to_owned();
        [
            limit(
                of_workers,
                workers,
                |demand| demand.workers,
                number,
                ("have", "workers at a time"),
            ),
            limit(of_rate, offered, |demand| demand.rate, rate, ("send", "in all")),
            limit(of_bytes, volume, |demand| demand.volume, bytes, ("have", "to move")),
            limit(
                of_scratch,
                scratch,
                |demand| demand.scratch,
                bytes,
                ("take", "of the scratch directory"),
            ),
            limit(of_memory, memory, |demand| demand.memory, bytes, ("take", "of memory")),
            limit(
                of_files,
                open_files,
                |demand| demand.open_files,
                number,
                ("have", "files and sockets open"),
            ),
            limit(
                of_words,
                Some(WORDS.count()),
                |demand| demand.words,
                bytes,
                ("have", "kept of what workers said"),
            ),
        ]
    }
}

/// The limit of a sum, and its text.
struct SumLimit {
    /// The name of the rule.
    place: String,
    /// The limit of all current work; `None` if there is no rule.
    most: Option<u64>,
    part: fn(&Demand) -> u128,
    /// An amount in its unit.
    amount: fn(u128) -> String,
    /// What would be: a verb, then the amount, then of what.
    sum: (&'static str, &'static str),
}

fn small(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
