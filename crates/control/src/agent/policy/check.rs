//! Whether an order may be carried out. Every order meets this before a worker is made.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use btu_suite::activity::{Activity, Meeting, Order, PipeMeeting, Work};
use btu_units::{Bytes, Span};

use super::{Forbidden, Policy};

impl Policy {
    /// The order as this host carries it out. `local` says that this machine's own user gave it: then its paths are his
    /// own business. Anybody else's directory is replaced by the policy's, and `source` is the only file he may name.
    pub(in super::super) fn admit(
        &self,
        mut order: Order,
        local: bool,
        source: Option<&Path>,
    ) -> Result<Order, Forbidden> {
        let kind = order.activity.kind();
        if !self.activities.value.iter().any(|allowed| allowed == kind) {
            let allowed = self.activities.value.join(", ");
            let what = format!("activity {kind} is not one of {allowed}");
            return Err(self.forbids(what, "activities", &self.activities));
        }
        if order.deadline > self.duration.value {
            let what = format!("{kind} for up to {} is longer than {}", order.deadline, self.duration.value);
            return Err(self.forbids(what, "limits.duration", &self.duration));
        }
        self.check_rate(&order.activity)?;
        self.check_bytes(&order.activity)?;
        if let Some(peer) = peer(&order.activity) {
            self.check_peer(peer)?;
        }
        self.check_scratch(&order.activity)?;
        if !local {
            check_paths(&order.activity, source)?;
            self.place_files(&mut order.activity);
        }
        Ok(order)
    }

    fn check_rate(&self, activity: &Activity) -> Result<(), Forbidden> {
        let Some(most) = self.rate.value else { return Ok(()) };
        let what = match activity {
            Activity::UdpSend(send) if send.offered <= most => return Ok(()),
            Activity::UdpSend(send) => format!("udp-send of {} is faster than {most}", send.offered),
            // These send as fast as the network takes it, and answerers as often as they are asked.
            Activity::TcpSend(_)
            | Activity::Request(_)
            | Activity::Respond(_)
            | Activity::Pipe(_)
            | Activity::Hint(_)
            | Activity::FtpServe(_) => {
                format!("{} has no rate that could be held to {most}", activity.kind())
            }
            _ => return Ok(()),
        };
        Err(self.forbids(what, "limits.rate", &self.rate))
    }

    fn check_bytes(&self, activity: &Activity) -> Result<(), Forbidden> {
        let Some(most) = self.bytes.value else { return Ok(()) };
        match volume(activity) {
            Volume::Known(bytes) if bytes > most => {
                let what = format!("{} of {bytes} is more than {most}", activity.kind());
                Err(self.forbids(what, "limits.bytes", &self.bytes))
            }
            Volume::Unbounded => {
                let what = format!("{} has no volume that could be held to {most}", activity.kind());
                Err(self.forbids(what, "limits.bytes", &self.bytes))
            }
            _ => Ok(()),
        }
    }

    /// Whether an activity may connect to an address.
    fn check_peer(&self, peer: SocketAddr) -> Result<(), Forbidden> {
        let address = peer.ip();
        if !is_one_host(address) {
            return Err(self.forbids(format!("{peer} is not the address of one host"), "peers", &self.peers));
        }
        if self.peers.value.iter().any(|network| network.holds(address)) {
            return Ok(());
        }
        let networks: Vec<String> = self.peers.value.iter().map(ToString::to_string).collect();
        let what = format!("peer {address} is in none of {}", networks.join(", "));
        Err(self.forbids(what, "peers", &self.peers))
    }

    fn check_scratch(&self, activity: &Activity) -> Result<(), Forbidden> {
        let needed = match activity {
            // The file that is read and its copy.
            Activity::Disk(disk) => Bytes::new(disk.file.count().saturating_mul(2)),
            Activity::FtpFetch(_) => btu_load::FETCH_ROOM,
            _ => return Ok(()),
        };
        self.check_room(activity.kind(), needed)
    }

    /// Whether so much may be written.
    pub(in super::super) fn check_room(&self, kind: &str, needed: Bytes) -> Result<(), Forbidden> {
        let most = self.scratch_bytes.value;
        if needed <= most {
            return Ok(());
        }
        let what = format!("{kind} writes up to {needed} and the scratch directory may hold {most}");
        Err(self.forbids(what, "scratch.bytes", &self.scratch_bytes))
    }

    fn place_files(&self, activity: &mut Activity) {
        match activity {
            Activity::Disk(disk) => disk.directory.clone_from(&self.scratch_directory.value),
            Activity::FtpFetch(fetch) => fetch.directory.clone_from(&self.scratch_directory.value),
            _ => {}
        }
    }
}

fn check_paths(activity: &Activity, source: Option<&Path>) -> Result<(), Forbidden> {
    let what = match activity {
        Activity::Disk(disk) if disk.source.is_some() && disk.source.as_deref() != source => {
            "the disk activity's source is not the file that this agent made for the session"
        }
        Activity::FtpRelay(_) => "a relay leads out of this machine's own testbed, which the controller is not part of",
        activity if is_at_a_path(activity) => "a pipe at a path of this machine is not for a controller elsewhere",
        _ => return Ok(()),
    };
    Err(Forbidden { what: what.to_owned(), place: "a rule that no policy changes".to_owned() })
}

/// How much an activity moves at most.
enum Volume {
    Known(Bytes),
    /// Until its deadline.
    Unbounded,
    /// Nothing, or what its peer moves, which has a limit of its own.
    None,
}

fn volume(activity: &Activity) -> Volume {
    let of_work = |work: &Work| match work {
        Work::Bytes(bytes) => Volume::Known(*bytes),
        Work::For(_) => Volume::Unbounded,
    };
    match activity {
        Activity::TcpSend(send) => of_work(&send.work),
        Activity::Disk(disk) => of_work(&disk.work),
        Activity::FtpFetch(fetch) => of_work(&fetch.work),
        Activity::UdpSend(send) => Volume::Known(offered(send.offered.bits_per_second(), send.duration)),
        Activity::UdpReceive(receive) => {
            Volume::Known(Bytes::new(receive.expected_datagrams.saturating_mul(receive.message.count())))
        }
        Activity::Request(_)
        | Activity::Respond(_)
        | Activity::Pipe(_)
        | Activity::Hint(_)
        | Activity::FtpServe(_)
        | Activity::FtpRelay(_) => Volume::Unbounded,
        Activity::Null | Activity::Cpu(_) | Activity::TcpReceive(_) => Volume::None,
    }
}

/// What a paced stream sends; a product that does not fit is beyond any limit.
fn offered(bits_per_second: u64, duration: Span) -> Bytes {
    let bits = u128::from(bits_per_second) * u128::from(duration.nanoseconds()) / 1_000_000_000;
    Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
}

/// Whom an activity connects to.
fn peer(activity: &Activity) -> Option<SocketAddr> {
    match activity {
        Activity::TcpSend(part) => called(&part.meeting),
        Activity::TcpReceive(part) => called(&part.meeting),
        Activity::UdpSend(part) => called(&part.meeting),
        Activity::UdpReceive(part) => called(&part.meeting),
        Activity::Request(part) => Some(part.to),
        Activity::FtpFetch(part) => Some(part.server),
        Activity::Pipe(part) => met(&part.meeting),
        Activity::Hint(part) => met(&part.meeting),
        Activity::Null
        | Activity::Respond(_)
        | Activity::Cpu(_)
        | Activity::Disk(_)
        | Activity::FtpServe(_)
        | Activity::FtpRelay(_) => None,
    }
}

fn met(meeting: &PipeMeeting) -> Option<SocketAddr> {
    match meeting {
        PipeMeeting::Network(meeting) => called(meeting),
        PipeMeeting::ListenAt(_) | PipeMeeting::ConnectAt(_) => None,
    }
}

/// Whether two processes of one machine shall meet at a path.
fn is_at_a_path(activity: &Activity) -> bool {
    let meeting = match activity {
        Activity::Pipe(part) => &part.meeting,
        Activity::Hint(part) => &part.meeting,
        _ => return false,
    };
    !matches!(meeting, PipeMeeting::Network(_))
}

fn called(meeting: &Meeting) -> Option<SocketAddr> {
    match meeting {
        Meeting::Connect(peer) => Some(*peer),
        Meeting::Listen(_) => None,
    }
}

/// No multicast, no broadcast, not "any address".
fn is_one_host(address: IpAddr) -> bool {
    let broadcast = matches!(address.to_canonical(), IpAddr::V4(four) if four.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}
