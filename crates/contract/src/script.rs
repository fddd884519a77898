//! The activities of a cell on hosts by name, with the listening and the connecting ends and the peers'
//! impairments.

use std::net::{IpAddr, SocketAddr};

use crate::activity::{
    Activity, FileClient, FileServer, FilesPlace, FilesStation, FilesTask, Order, PipeMeeting,
    Rendezvous, TcpReceive, TcpSend, UdpReceive, UdpSend,
};
use crate::network::{HostName, Impairments};

/// One cell's activities, listeners before the steps that connect to them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// The impairments of incoming packets during the cell.
    pub impairments: Impairments,
    /// The activities of the cell, each with its host.
    pub steps: Vec<Step>,
}

impl Script {
    /// Whether broadcasts are sent, some of which may be on their way when the cell is over.
    pub fn sends_broadcasts(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.order.activity, Activity::Broadcast(_)))
    }

    /// The script without steps on these hosts and those that meet them, and the places of the steps that are left.
    pub fn without(&self, hosts: &[HostName]) -> (Self, Vec<usize>) {
        let is_on =
            |index: usize| self.steps.get(index).is_some_and(|step| hosts.contains(&step.host));
        let meets = |index: usize| {
            let callers = (0..self.steps.len()).filter(|one| self.steps[*one].peer == Some(index));
            self.steps[index].peer.into_iter().chain(callers).any(is_on)
        };
        let left: Vec<usize> =
            (0..self.steps.len()).filter(|index| !is_on(*index) && !meets(*index)).collect();
        let place = |peer: usize| left.iter().position(|index| *index == peer);
        let step = |index: &usize| {
            let step = self.steps[*index].clone();
            Step { peer: step.peer.and_then(place), ..step }
        };
        let steps = left.iter().map(step).collect();
        (Self { impairments: self.impairments.clone(), steps }, left)
    }

    /// The number of other steps that must be ready before this step: the step that it connects to,
    /// the peer of that step, and so on; 0 for a step that connects to no other.
    pub fn wave(&self, index: usize) -> usize {
        let peer = |index: &usize| self.steps.get(*index)?.peer;
        // Bounded, so that steps that call each other in a circle end, too.
        std::iter::successors(Some(index), peer).take(self.steps.len()).count() - 1
    }
}

/// One activity and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The host on which the activity runs.
    pub host: HostName,
    /// Its role in the cell.
    pub role: Role,
    /// The index of the step to which it connects; steps without one listen or have no peer.
    pub peer: Option<usize>,
    /// The activity; its address is filled in when the peer has reported its own.
    pub order: Order,
}

/// The role of an activity in its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Part of the network activity.
    Network,
    /// The role of the host activity.
    Host,
    /// Serves another activity; gets a `stop` when the others have finished.
    Support,
}

impl Activity {
    /// Every kind, in the order of the variants.
    pub const KINDS: [&'static str; 28] = [
        "null",
        "tcp-send",
        "tcp-receive",
        "request",
        "respond",
        "udp-send",
        "udp-receive",
        "cpu",
        "disk",
        "ftp-serve",
        "ftp-fetch",
        "files-serve",
        "files-task",
        "files-station",
        "pipe",
        "hint",
        "draw",
        "draw-inside",
        "draw-over-ssh",
        "draw-over-x11",
        "draw-by-x11perf",
        "relay",
        "broadcast",
        "file-send",
        "file-receive",
        "file-fetch",
        "file-offer",
        "file-copy",
    ];

    /// The activity's kind, as it is stored.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::TcpSend(_) => "tcp-send",
            Self::TcpReceive(_) => "tcp-receive",
            Self::Request(_) => "request",
            Self::Respond(_) => "respond",
            Self::UdpSend(_) => "udp-send",
            Self::UdpReceive(_) => "udp-receive",
            Self::Cpu(_) => "cpu",
            Self::Disk(_) => "disk",
            Self::FtpServe(_) => "ftp-serve",
            Self::FtpFetch(_) => "ftp-fetch",
            Self::FilesServe(_) => "files-serve",
            Self::FilesTask(_) => "files-task",
            Self::FilesStation(_) => "files-station",
            Self::Pipe(_) => "pipe",
            Self::Hint(_) => "hint",
            Self::Draw(_) => "draw",
            Self::DrawInside(_) => "draw-inside",
            Self::DrawOverSsh(_) => "draw-over-ssh",
            Self::DrawOverX11(_) => "draw-over-x11",
            Self::DrawByX11perf(_) => "draw-by-x11perf",
            Self::Relay(_) => "relay",
            Self::Broadcast(_) => "broadcast",
            Self::FileSend(_) => "file-send",
            Self::FileReceive(_) => "file-receive",
            Self::FileFetch(_) => "file-fetch",
            Self::FileOffer(_) => "file-offer",
            Self::FileCopy(_) => "file-copy",
        }
    }

    /// Gives a listening activity its address; others ignore it.
    pub fn listen_on(&mut self, address: IpAddr) {
        match self {
            Self::TcpSend(TcpSend { meeting, .. })
            | Self::TcpReceive(TcpReceive { meeting, .. })
            | Self::UdpSend(UdpSend { meeting, .. })
            | Self::UdpReceive(UdpReceive { meeting, .. }) => {
                *meeting = Rendezvous::Listen(address);
            }
            Self::Respond(respond) => respond.on = address,
            Self::FtpServe(serve) => serve.address = address,
            Self::FilesServe(serve) => serve.address = address,
            Self::FileReceive(FileServer { on, .. }) | Self::FileOffer(FileServer { on, .. }) => {
                *on = address;
            }
            Self::Relay(relay) => relay.on = address,
            Self::Broadcast(broadcast) => broadcast.on = address,
            Self::Pipe(pipe) => pipe.meeting = PipeMeeting::Network(Rendezvous::Listen(address)),
            Self::Hint(hint) => hint.meeting = PipeMeeting::Network(Rendezvous::Listen(address)),
            Self::Draw(draw)
            | Self::DrawOverSsh(draw)
            | Self::DrawOverX11(draw)
            | Self::DrawByX11perf(draw) => match draw.meeting {
                PipeMeeting::Network(_) => {
                    draw.meeting = PipeMeeting::Network(Rendezvous::Listen(address));
                }
                // On one machine, at a path.
                PipeMeeting::ListenAt(_) | PipeMeeting::ConnectAt(_) => {}
            },
            Self::Null
            | Self::DrawInside(_)
            | Self::Request(_)
            | Self::Cpu(_)
            | Self::Disk(_)
            | Self::FtpFetch(_)
            | Self::FileSend(_)
            | Self::FileFetch(_)
            | Self::FileCopy(_)
            | Self::FilesTask(_)
            | Self::FilesStation(_) => {}
        }
    }

    /// Gives a connecting activity its peer; others ignore it.
    pub fn connect_to(&mut self, peer: SocketAddr) {
        match self {
            Self::TcpSend(TcpSend { meeting, .. })
            | Self::TcpReceive(TcpReceive { meeting, .. })
            | Self::UdpSend(UdpSend { meeting, .. })
            | Self::UdpReceive(UdpReceive { meeting, .. }) => *meeting = Rendezvous::Connect(peer),
            Self::Request(request) => request.to = peer,
            Self::FtpFetch(fetch) => fetch.server = peer,
            Self::FileSend(FileClient { to, .. }) | Self::FileFetch(FileClient { to, .. }) => {
                *to = peer;
            }
            Self::FilesTask(FilesTask { place: FilesPlace::Server(server), .. })
            | Self::FilesStation(FilesStation { place: FilesPlace::Server(server), .. }) => {
                *server = peer;
            }
            Self::Pipe(pipe) => pipe.meeting = PipeMeeting::Network(Rendezvous::Connect(peer)),
            Self::Hint(hint) => hint.meeting = PipeMeeting::Network(Rendezvous::Connect(peer)),
            Self::Draw(draw)
            | Self::DrawOverSsh(draw)
            | Self::DrawOverX11(draw)
            | Self::DrawByX11perf(draw) => {
                draw.meeting = PipeMeeting::Network(Rendezvous::Connect(peer));
            }
            Self::Relay(relay) => relay.to = peer,
            Self::Null
            | Self::DrawInside(_)
            | Self::Broadcast(_)
            | Self::Respond(_)
            | Self::Cpu(_)
            | Self::Disk(_)
            | Self::FtpServe(_)
            | Self::FileReceive(_)
            | Self::FileOffer(_)
            | Self::FileCopy(_)
            | Self::FilesServe(_)
            | Self::FilesTask(_)
            | Self::FilesStation(_) => {}
        }
    }
}
